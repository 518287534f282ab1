"""Counts what the entries say: what was blocked and by which rule, who declined, how runs ended."""

from __future__ import annotations

from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from redoma.audit.entries import AuditEntry

# Upper bounds in seconds of the histogram of run times.
BUCKETS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)


class Stats(Value):
    """The counts; each mapping is sorted, the largest first."""

    entries: dict[str, int]
    verdicts: dict[str, int]
    # Denied by policy, by the rule that said so.
    blocked: dict[str, int]
    # Answers: approve, deny, dry_run, modify.
    answers: dict[str, int]
    refused: dict[str, int]
    outcomes: dict[str, int]
    exit_codes: dict[str, int]
    # Seconds that finished runs took, shortest first.
    durations: tuple[float, ...]

    @property
    def denied_by_the_user(self) -> int:
        """How often someone who was asked said no."""
        return self.answers.get("deny", 0)

    def quantile(self, part: float) -> float:
        """The duration below which this part of the runs stayed; 0 where none ran."""
        if not self.durations:
            return 0.0
        return self.durations[min(len(self.durations) - 1, int(part * len(self.durations)))]


class _Counts:
    def __init__(self) -> None:
        self.by: dict[str, dict[str, int]] = {}

    def add(self, what: str, name: object) -> None:
        counts = self.by.setdefault(what, {})
        counts[str(name)] = counts.get(str(name), 0) + 1

    def sorted(self, what: str) -> dict[str, int]:
        counts = self.by.get(what, {})
        return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def count(entries: Iterable[AuditEntry]) -> Stats:
    """Counts entries, each once."""
    counts = _Counts()
    durations: list[float] = []
    for entry in entries:
        counts.add("entries", entry.kind)
        if entry.kind == "judged":
            facts = entry.facts()
            counts.add("verdicts", facts.get("verdict", "unknown"))
            if facts.get("verdict") == "deny":
                for rule in _names(facts.get("rules")) or ["policy"]:
                    counts.add("blocked", rule)
        elif entry.kind == "answered":
            counts.add("answers", entry.facts().get("choice", "unknown"))
        elif entry.kind == "refused":
            counts.add("refused", entry.facts().get("code", "unknown"))
        elif entry.kind == "run-ended":
            facts = entry.facts()
            counts.add("outcomes", facts.get("outcome", "unknown"))
            if isinstance(facts.get("code"), int):
                counts.add("exit_codes", facts["code"])
            seconds = facts.get("wall_seconds")
            if isinstance(seconds, (int, float)) and not isinstance(seconds, bool):
                durations.append(float(seconds))
        elif entry.kind == "interrupted":
            counts.add("outcomes", "interrupted")
    return Stats(
        entries=counts.sorted("entries"),
        verdicts=counts.sorted("verdicts"),
        blocked=counts.sorted("blocked"),
        answers=counts.sorted("answers"),
        refused=counts.sorted("refused"),
        outcomes=counts.sorted("outcomes"),
        exit_codes=counts.sorted("exit_codes"),
        durations=tuple(sorted(durations)),
    )


def prometheus(stats: Stats) -> str:
    """The counts in Prometheus' text format, for a collector that reads files or a page."""
    lines: list[str] = []
    for metric, label, about, counts in (
        ("entries", "kind", "entries in the audit log", stats.entries),
        ("judged", "verdict", "commands judged", stats.verdicts),
        ("blocked", "rule", "commands denied by policy", stats.blocked),
        ("answers", "choice", "answers to questions", stats.answers),
        ("refused", "code", "runs refused", stats.refused),
        ("runs", "outcome", "runs that are over", stats.outcomes),
        ("exit_codes", "code", "exit codes of runs", stats.exit_codes),
    ):
        # Old entries are let go, so that a count can also go down.
        lines += [f"# HELP redoma_{metric} {about}", f"# TYPE redoma_{metric} gauge"]
        lines += [f'redoma_{metric}{{{label}="{_label(n)}"}} {c}' for n, c in counts.items()]
    name = "redoma_run_seconds"
    lines += [f"# HELP {name} seconds that runs took", f"# TYPE {name} histogram"]
    for bound in BUCKETS:
        within = sum(1 for seconds in stats.durations if seconds <= bound)
        lines.append(f'{name}_bucket{{le="{bound:g}"}} {within}')
    lines.append(f'{name}_bucket{{le="+Inf"}} {len(stats.durations)}')
    lines.append(f"{name}_sum {sum(stats.durations):.6f}")
    lines.append(f"{name}_count {len(stats.durations)}")
    return "\n".join(lines) + "\n"


def _label(text: str) -> str:
    """A label's value; attack: a rule's name that ends the line and begins a metric of its own."""
    plain = text.encode("ascii", "backslashreplace").decode()
    plain = "".join(char if " " <= char <= "~" else f"\\x{ord(char):02x}" for char in plain)
    return plain.replace("\\", "\\\\").replace('"', '\\"')[:200]


def _names(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []
