"""`redoma explain last`: what held in a run, what it was allowed, how it ended, what it changed."""

from __future__ import annotations

import sys

from redoma.base.text import harmless, shortened
from redoma.cli.options import Argument, CommandTable, Heading, Option, Sample
from redoma.cli.prose import screen
from redoma.cli.table import field
from redoma.i18n import phrased
from redoma.model.errors import UsageError
from redoma.model.event import Kind
from redoma.pipeline import audit_reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.cli.options import CommandLine
    from redoma.pipeline.audit_reader import AuditEntry

_COMMAND = 2000
_NOTHING_THERE = 1
EXPLAIN = CommandTable(
    "explain",
    "Explains a run: what was judged, what was enforced and by what, what it was allowed beyond the"
    " workspace, how it ended and what became of what it wrote.",
    usage=("[last | RUN] [--json]",),
    arguments=(
        Argument("last", "the last run of this user, which is meant where nothing is said"),
        Argument("RUN", "the name of a run, as redoma audit list has it"),
    ),
    options=(Heading("options"), Option("--json", "one JSON object")),
    status="0, or 1 where there is no such run",
    samples=(Sample("redoma explain last", "what held in the last run", status=1),),
)
_OF_A_START = ("engine", "level", "held", "network", "hosts", "writable", "readable", "hidden")
_TITLES = {
    "level": "level",
    "held": "enforced",
    "network": "network",
    "hosts": "hosts",
    "writable": "also writable",
    "readable": "also readable",
    "hidden": "hidden",
    "limits_reached": "limits met",
}


@EXPLAIN.main
def main(line: CommandLine) -> int:
    """Explains one run; 1 where the audit log has none of that name."""
    if len(line.words) > 1:
        raise UsageError("one run at a time", hint="redoma explain last")
    rows = _rows(line.words[0] if line.words else "last")
    if not rows:
        sys.stderr.write(phrased("redoma: there is no such run\nhint: redoma audit list\n"))
        return _NOTHING_THERE
    if line.json:
        import json

        from redoma.cli.audit_report import as_json

        sys.stdout.write(
            json.dumps({"run": rows[0].run, "events": [as_json(row) for row in rows]}) + "\n"
        )
        return 0
    width = screen(sys.stdout).width
    for title, said in _facts(rows):
        sys.stdout.write("".join(f"{part}\n" for part in field(phrased(title), said, width)))
    return 0


def _rows(which: str) -> list[AuditEntry]:
    if which == "last":
        started = audit_reader.newest(1, audit_reader.EntryFilter(kinds=(Kind.RUN_STARTING.value,)))
        if not started:
            return []
        which = started[0].run
    return list(audit_reader.entries(audit_reader.EntryFilter(run=which)))


def _facts(rows: list[AuditEntry]) -> list[tuple[str, str]]:
    """Each thing to say of a run, with its title, in the order in which it happened."""
    made = [("run", rows[0].run)]
    command = next((row.command for row in rows if row.command), "")
    if command:
        made.append(("command", harmless(shortened(command, _COMMAND))))
    for row in rows:
        facts = row.facts()
        if row.kind == Kind.JUDGED.value:
            made.append(("judged", _listed([facts.get("risk"), facts.get("verdict")])))
        elif row.kind == Kind.ANSWERED.value:
            made.append(("answered", _listed([facts.get("choice"), facts.get("approved_by")])))
        elif row.kind == Kind.RUN_STARTING.value:
            made += _started(facts)
        elif row.kind == Kind.RUN_ENDED.value:
            made += _ended(facts)
        elif row.kind in (Kind.APPLIED.value, Kind.PREVIEWED.value, Kind.DISCARDED.value):
            made.append((row.kind, f"{facts.get('count', 0)}: {_listed(facts.get('paths'))}"))
        elif row.kind in (Kind.VIOLATION.value, Kind.NETWORK.value, Kind.REFUSED.value):
            told = [
                facts.get(name) for name in ("path", "method", "target", "why") if name in facts
            ]
            made.append((row.kind, _listed(told)))
    return made


def _started(facts: dict[str, object]) -> list[tuple[str, str]]:
    """What was given and what was enforced; the engine stands with what it held."""
    made = []
    for name in _OF_A_START:
        value = facts.get(name)
        if name == "held" and isinstance(value, list):
            held = ", ".join(phrased(str(each).replace("-", " ")) for each in value)
            made.append((_TITLES[name], f"{facts.get('engine')}: {held}"))
        elif value and name in _TITLES:
            made.append((_TITLES[name], _listed(value)))
    return made


def _ended(facts: dict[str, object]) -> list[tuple[str, str]]:
    told = [str(facts.get("outcome", "")).replace("-", " ")]
    if "code" in facts:
        told.append(phrased("status {0}", facts["code"]))
    if isinstance(facts.get("wall_seconds"), int | float):
        told.append(phrased("{0} s", f"{facts['wall_seconds']:.1f}"))
    made = [("ended", ", ".join(told))]
    if facts.get("limits_reached"):
        made.append((_TITLES["limits_reached"], _listed(facts["limits_reached"])))
    return made


def _listed(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(harmless(str(each)) for each in value if each is not None)
    return harmless(str(value))
