"""Entries as they are shown: one line each, whatever they contain.

Attack: a command or a file name holds line ends, escape sequences or direction marks that would
draw an entry that is not there, or hide one that is. Everything invisible is shown as an escape.
"""

from __future__ import annotations

import json

from redoma.base.text import harmless
from redoma.cli.table import row
from redoma.i18n import phrased

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.pipeline.audit_reader import AuditEntry, Stats, Verification

CSV_COLUMNS = "seq at kind run session caller command digest details link".split()
CSV_HEAD = ",".join(CSV_COLUMNS)
_LINE = 160
_WHOLE = 20_000
# A sheet reads a cell that begins so as a formula; some also read the wide forms.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")


def line(entry: AuditEntry, width: int | None = None) -> str:
    """An entry on one line; on a screen of this width, below it what does not fit."""
    who = [
        f"{name}={_word(value)}"
        for name, value in (("caller", entry.caller), ("session", entry.session))
        if value
    ]
    at, kind = moment(entry.at), _word(entry.kind)
    # The command comes last: whatever it looks like, nothing of ours stands behind it.
    told = [part for part in (_said(entry), _cut(entry.command, _LINE)) if part]
    run = _word(entry.run) if entry.run else "-"
    if width is None:
        return "  ".join([f"{entry.seq:>6}  {at}  {kind:<18}", run, *who, *told])
    # To the second, and without who it was: redoma audit show has the rest.
    head = f"{entry.seq:>6}  {at[:10]} {at[11:19]}  {kind}"
    return "\n".join(row(head, "  ".join([run, *told]), width))


def whole(entry: AuditEntry) -> str:
    """An entry with all that it says, a line for each thing."""
    lines = [f"entry     {entry.seq}", f"at        {moment(entry.at)}"]
    for name in ("kind", "run", "session", "caller", "command", "digest"):
        value = getattr(entry, name)
        if value:
            lines.append(f"{name:<9} {_cut(value, _WHOLE)}")
    facts = entry.facts()
    for name, value in facts.items():
        shown = value if isinstance(value, str) else json.dumps(value)
        lines.append(f"  {_cut(name, 40)}: {_cut(shown, _WHOLE)}")
    if not facts and entry.details != "{}":
        lines.append(f"details   {_cut(entry.details, _WHOLE)}")
    lines.append(f"link      {harmless(entry.link)}")
    return "\n".join(lines) + "\n"


def as_json(entry: AuditEntry) -> dict[str, object]:
    """An entry for programs."""
    return {
        "seq": entry.seq,
        "at": moment(entry.at),
        "kind": entry.kind,
        "run": entry.run,
        "session": entry.session,
        "caller": entry.caller,
        "command": entry.command,
        "digest": entry.digest,
        "details": entry.facts(),
        "link": entry.link,
    }


def json_line(entry: AuditEntry) -> str:
    """An entry as one line of JSON, in ASCII."""
    return json.dumps(as_json(entry))


def csv_line(entry: AuditEntry) -> str:
    """An entry as a line of a table; nothing in it is a formula, and nothing ends the line."""
    return ",".join(
        cell(moment(entry.at) if name == "at" else str(getattr(entry, name)))
        for name in CSV_COLUMNS
    )


def cell(text: str) -> str:
    """One cell, quoted."""
    plain = harmless(text)
    if text.lstrip(" ").startswith(_FORMULA):
        plain = f"'{plain}"
    return '"' + plain.replace('"', '""') + '"'


def moment(at: int) -> str:
    """A time in ISO 8601, UTC, to the microsecond."""
    from datetime import UTC, datetime, timedelta

    try:
        when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)
    except OverflowError:  # nobody but a forger writes such a time
        return f"({at} µs)"
    return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def verification(found: Verification) -> str:
    """What was verified, for a person."""
    if not found.ok:
        said = [
            f"{phrased(fault.wrong.value)}: {harmless(phrased(fault.text))}"
            for fault in found.faults
        ]
        return "\n".join([phrased("the audit log was changed"), *said])
    if not found.last:
        return phrased("the audit log is empty")
    lines = [phrased("as it was written: {0} entries", found.rows)]
    if found.let_go:
        lines = [
            phrased(
                "as it was written: {0} entries, {1} let go by retention", found.rows, found.let_go
            )
        ]
    # The last line is also read by programs: what --expect takes.
    return "\n".join([*lines, f"head {found.last}:{found.head}"])


def verification_json(found: Verification) -> dict[str, object]:
    """What was verified, for programs."""
    return {
        "ok": found.ok,
        "entries": found.rows,
        "let_go": found.let_go,
        "head": f"{found.last}:{found.head}",
        "faults": [
            {"wrong": fault.wrong.value, "entry": fault.entry, "text": fault.text}
            for fault in found.faults
        ],
    }


def stats(found: Stats) -> str:
    """The counts, for a person."""
    lines = [phrased("denied by the user  {0}", found.denied_by_the_user)]
    for title, counts in (
        ("judged", found.verdicts),
        ("blocked by rule", found.blocked),
        ("refused", found.refused),
        ("runs", found.outcomes),
        ("exit codes", found.exit_codes),
        ("entries", found.entries),
    ):
        lines += ["", phrased(title)]
        lines += [f"  {_cut(name, 60):<24} {number}" for name, number in counts.items()] or ["  -"]
    lines += ["", phrased("seconds that runs took"), phrased("  runs {0}", len(found.durations))]
    for name, part in (("half within", 0.5), ("95 % within", 0.95), ("all within", 1.0)):
        lines.append(f"  {phrased(name)} {found.quantile(part):.3f}")
    return "\n".join(lines)


def stats_json(found: Stats) -> dict[str, object]:
    """The counts, for programs."""
    return {
        "entries": found.entries,
        "verdicts": found.verdicts,
        "blocked": found.blocked,
        "denied_by_the_user": found.denied_by_the_user,
        "answers": found.answers,
        "refused": found.refused,
        "outcomes": found.outcomes,
        "exit_codes": found.exit_codes,
        "run_seconds": {
            "count": len(found.durations),
            "sum": sum(found.durations),
            "p50": found.quantile(0.5),
            "p95": found.quantile(0.95),
            "max": found.quantile(1.0),
        },
    }


def _said(entry: AuditEntry) -> str:
    """The most telling of the details, in a word or two."""
    facts = entry.facts()
    words = []
    for name in ("verdict", "risk", "choice", "outcome", "code", "rows"):
        value = facts.get(name)
        if isinstance(value, int if name == "code" else (str, int)) and not isinstance(value, bool):
            words.append(f"code {value}" if name == "code" else _word(str(value)))
    if entry.kind == "network":
        words += [_word(str(facts[name])) for name in ("method", "target") if facts.get(name)]
    return " ".join(words)


def _word(text: str) -> str:
    """A name in one word, so that it cannot look like the columns behind it."""
    return _cut(text, 40).replace(" ", "\\x20")


def _cut(text: str, limit: int) -> str:
    """At most `limit` characters on one line; how many there are where that is more."""
    if len(text) <= limit:
        return harmless(text)
    return harmless(text[:limit]) + phrased("... ({0} characters)", len(text))
