"""What a person is told when a command has ended: one quiet line, and what needs saying below it.

Nothing where nothing happened: what was enforced is said with `-v`, in `--json`, and by
`redoma explain last`.
"""

from __future__ import annotations

import os
import sys

from redoma.base.paths import is_below
from redoma.base.text import harmless
from redoma.cli.run_options import LIMITS
from redoma.i18n import phrased
from redoma.model.decision import Verdict
from redoma.model.grant import Guarantee
from redoma.model.result import Outcome

_SIGINT = 2
_SAID_ALREADY = (Outcome.TIMED_OUT, "wall_seconds")
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from redoma.model.network import Connection
    from redoma.model.result import Quarantined, Result


def _outermost(held_back: tuple[Quarantined, ...]) -> list[Quarantined]:
    """What was held back, without what lies in a directory that was, for the same reason."""
    shown: list[Quarantined] = []
    for held in sorted(held_back, key=lambda each: each.path.split("/")):
        above = shown[-1] if shown else None
        if above and is_below(held.path, above.path) and held.why == above.why:
            continue
        shown.append(held)
    return shown


def _held_back_lines(result: Result) -> list[str]:
    """What a person's tools would obey and was left out of an apply, or taken away after a run."""
    lines = []
    for held in _outermost(result.held_back):
        path, why = harmless(held.path), harmless(phrased(held.why))
        if result.changes is not None:
            lines.append(phrased("redoma: did not apply {0}: {1}\n", path, why))
            continue
        lines.append(phrased("redoma: took away {0}: {1}\n", path, why))
        if held.kept:
            lines.append(phrased("hint: it is kept as {0}\n", harmless(held.kept)))
    if lines and not result.notes:
        lines.append(
            phrased("hint: --allow-write PATH lets a command write what your tools obey\n")
        )
    return lines


def closing_line(result: Result, *, quiet: bool = False, guarantees: bool = False) -> str:
    """One line: how it ended if that needs saying, and what became of what it wrote.

    Below it what was taken away, what will not last, and what helps. `guarantees` says what was
    enforced as well.
    """
    if result.decision is not None and result.outcome in (Outcome.DENIED, Outcome.DECLINED):
        return refusal(result)
    lines = []
    if result.enforcement is not None and guarantees:
        lines.append(f"redoma: {phrased(result.enforcement.sentence())}\n")
    reached = result.exit.limits_reached if result.exit else ()
    said = [*_end(result, reached), *([] if quiet else _became(result))]
    if said:
        lines.append(f"redoma: {' · '.join(said)}\n")
    if reached:
        flags = [flag for flag, limit in LIMITS.items() if limit in reached]
        more = ", ".join(flag for flag in flags if flag != "--keep-free")
        if more:
            lines.append(phrased("hint: {0} with a larger value, or none, raises it\n", more))
        if "--keep-free" in flags:
            lines.append(
                phrased("hint: free some space; --keep-free with less, or none, uses it\n")
            )
    if result.held_back:
        lines += _held_back_lines(result)
    if not quiet:
        lines += _vanished(result)
    for path in result.files_accessed or ():
        lines.append(phrased("redoma: opened {0}\n", harmless(path)))
    if result.network_calls:
        lines += network_lines(result.network_calls)
    lines += [f"redoma: {phrased(note)}\n" for note in result.notes]
    if not result.ok:
        lines += _hints(result)
    return "".join(lines)


def _end(result: Result, reached: tuple[str, ...]) -> list[str]:
    """How it ended, where its status alone does not say it."""
    said = []
    if interrupted(result):
        said.append(phrased("interrupted"))
    elif result.outcome not in (Outcome.EXITED, Outcome.SIGNALLED):
        said.append(phrased(result.outcome.words))
    if reached:
        told = [name for name in reached if (result.outcome, name) != _SAID_ALREADY]
        names = ", ".join(phrased(name.replace("_", " ")) for name in told)
        said += [phrased("limits met: {0}", names)] if names else []
    return said


def interrupted(result: Result) -> bool:
    """Whether a person's Ctrl-C ended it."""
    ended = result.exit
    signalled = result.outcome is Outcome.SIGNALLED
    by_key = signalled and ended is not None and ended.signal == _SIGINT
    return by_key or result.outcome is Outcome.CANCELLED


def _became(result: Result) -> list[str]:
    """What became of what it wrote, and how to take it back."""
    if not result.applied or result.changes is None:
        asked = result.decision is not None and result.decision.verdict is Verdict.CONFIRM
        return [phrased("no file was changed")] if asked and _unchanged(result) else []
    back = {held.path for held in result.held_back}
    root = result.changes.workspace
    count = sum(f"{root}/{item.path}" not in back for item in result.changes.items)
    told = phrased("1 change applied") if count == 1 else phrased("{0} changes applied", count)
    if not result.undoable:
        return [told, phrased("for good: nothing was kept to undo")]
    from redoma.pipeline.stored_changes import typed_name

    return [told, phrased("undo with {0}", f"redoma undo {typed_name(result.changes.id)}")]


def _unchanged(result: Result) -> bool:
    return result.changes is not None and not result.changes.items


def _vanished(result: Result) -> list[str]:
    """What the command wrote by its text where nothing lasts, and the option that keeps it."""
    found, enforced = result.decision, result.enforcement
    if found is None or enforced is None or Guarantee.WRITES_CONFINED not in enforced.held:
        return []
    from redoma.pipeline.lost_paths import vanishing

    lines = []
    for path, place in vanishing(result):
        name = harmless(_short(path))
        told = phrased("redoma: {0} was written for this run only, and is gone\n", name)
        if place:
            option = f"--allow-write {_word(place)}"
            told = phrased(
                "redoma: {0} was written for this run only · {1} keeps it\n", name, option
            )
        lines.append(told)
    return lines


def _short(path: str) -> str:
    """A path with the home directory as a person writes it."""
    home = os.path.expanduser("~").rstrip("/")
    return f"~{path[len(home) :]}" if home and path.startswith(f"{home}/") else path


def _word(path: str) -> str:
    """The same as one word of a shell."""
    import shlex

    short, quoted = harmless(_short(path)), shlex.quote(harmless(path))
    return short if quoted == harmless(path) else quoted


def _hints(result: Result) -> list[str]:
    """What may help where a command failed."""
    from redoma.pipeline.lost_paths import hidden_paths

    lines = []
    for path, secret in hidden_paths(result):
        told = "redoma: {0} is hidden from the command\n"
        if not secret:
            told = "redoma: {0} is hidden from the command · --allow-read {1} shows it\n"
        lines.append(phrased(told, harmless(_short(path)), _word(path)))
    if _misses_the_network(result):
        lines.append(
            phrased("hint: the network is closed here; --allow-host HOST opens it to one host\n")
        )
    if _misses_the_disk(result):
        lines.append(
            phrased(
                "hint: an overlay cannot do this; --direct writes straight into the workspace\n"
            )
        )
    return lines


def shown(text: str) -> str:
    """The closing lines as this screen shows them: no wider than it, and dimmed."""
    from redoma.cli.prose import screen, wrap

    if not sys.stderr.isatty():
        return text
    on = screen(sys.stderr)
    lines = [part for line in text.splitlines() for part in wrap(line, on.width)]
    if on.colour:
        lines = [f"\x1b[2m{line}\x1b[22m" for line in lines]
    return "\n".join(lines) + "\n"


def refusal(result: Result) -> str:
    """Why nothing ran, and what can be done about it."""
    assert result.decision is not None
    if result.declined_by:
        # Whoever answered has just read why it was asked.
        by = harmless(result.declined_by)
        why = "".join(f": {harmless(phrased(note))}" for note in result.notes)
        return phrased("redoma: {0} said no, so nothing ran{1}\n", by, why)
    from redoma.cli.prose import report, screen

    result_text = report(result.decision, screen(sys.stderr))
    if result.outcome is Outcome.DECLINED:
        result_text += phrased("redoma: nobody approved this, so nothing ran\n")
    else:
        result_text += phrased("redoma: the policy refuses this, so nothing ran\n")
    for note in result.notes:
        result_text += phrased("hint: {0}\n", phrased(note))
    return result_text


_NO_NETWORK = (
    b"name resolution",
    b"could not resolve",
    b"network is unreachable",
    b"eai_again",
    b"enotfound",
    b"no such host",
    b"(from versions: none)",
)


def _misses_the_network(result: Result) -> bool:
    """Whether a failed command complained of what a closed network looks like; only for a hint."""
    held = result.enforcement.held if result.enforcement is not None else frozenset()
    said = (result.stdout[-4096:] + result.stderr[-4096:]).lower()
    closed = Guarantee.NETWORK_CLOSED in held
    return closed and any(words in said for words in _NO_NETWORK)


def _misses_the_disk(result: Result) -> bool:
    """Whether a failed command complained of what an overlay does not do as a disk does."""
    said = (result.stdout[-4096:] + result.stderr[-4096:]).lower()
    words = (b"cross-device link", b"exdev", b"hardlink different from source")
    return result.changes is not None and any(each in said for each in words)


_MOST_CALLS = 10


def network_lines(calls: tuple[Connection, ...]) -> list[str]:
    """One line for what was reached, and one for each thing that was refused."""
    reached = _targets(call for call in calls if call.allowed and call.by != "mock")
    mocked = _targets(call for call in calls if call.allowed and call.by == "mock")
    made = []
    if mocked:
        made.append(phrased("redoma: answered by a mock: {0}\n", _few(mocked)))
    if reached:
        made.append(phrased("redoma: reached {0}\n", _few(reached)))
    refused = [call for call in calls if not call.allowed]
    made += [_refused(call) for call in refused[:_MOST_CALLS]]
    if len(refused) > _MOST_CALLS:
        more = len(refused) - _MOST_CALLS
        made.append(phrased("redoma: refused: {0} more (--json lists them)\n", more))
    return made


def _few(hosts: list[str]) -> str:
    """The first of them, and how many more there are."""
    shown = ", ".join(hosts[:_MOST_CALLS])
    more = len(hosts) - _MOST_CALLS
    return phrased("{0} and {1} more", shown, more) if more > 0 else shown


def _targets(calls: Iterable[Connection]) -> list[str]:
    return list(dict.fromkeys(harmless(_told(call)) for call in calls))


def live(call: Connection) -> bytes:
    """Words a connection as it happens, in one line."""
    text = _refused(call).rstrip("\n") if not call.allowed else _begun(call)
    return f"{text}\n".encode()


def _begun(call: Connection) -> str:
    target = harmless(call.target)
    if call.kind == "published":
        return phrased("redoma: visited on {0}", target)
    program = harmless(call.program)
    if call.method:
        asked = harmless(f"{call.method} {call.kind}://{call.target}{call.path}")
        by = phrased(" by a cache" if call.by == "cache" else " by a mock") if call.by else ""
        return f"redoma: {asked}: {call.status}{by}"
    if program:
        return phrased("redoma: {0} reaches {1}", program, target)
    return phrased("redoma: reaches {0}", target)


def _refused(call: Connection) -> str:
    from redoma.cli.remedies import granting

    target, grant = harmless(_told(call)), harmless(granting(call))
    why = harmless(phrased(call.why))
    if call.kind == "udp":
        return phrased("redoma: refused: {0} by UDP: {1}\n", target, why)
    if grant and call.listed:
        told = "redoma: refused: {0} — the policy has to list it, as in {1}\n"
        return phrased(told, target, grant)
    if grant:
        return phrased("redoma: refused: {0} — grant it with {1}\n", target, grant)
    return phrased("redoma: refused: {0}: {1}\n", target, why)


def _told(call: Connection) -> str:
    """A host, or a request to it."""
    return f"{call.method} {call.target}{call.path}" if call.method else call.target
