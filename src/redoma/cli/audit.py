"""`redoma audit`: what happened, whether anybody changed it, and what it adds up to."""

from __future__ import annotations

import json
import sys

from redoma.base.text import harmless
from redoma.cli import audit_report as views
from redoma.cli.options import CommandTable, Heading, Option, Sample, nearest
from redoma.cli.table import columns_of
from redoma.i18n import phrased
from redoma.model.errors import UsageError
from redoma.model.event import Kind
from redoma.pipeline import audit_reader
from redoma.pipeline.audit_reader import EntryFilter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.cli.options import CommandLine

MOST_ROWS = 1_000_000
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def wanted_of(options: CommandLine) -> EntryFilter:
    """Which entries the command line asks for."""
    values = options.values
    return EntryFilter(
        session=values.get("--session"),
        caller=values.get("--caller"),
        run=values.get("--run"),
        kinds=_kinds(values.get("--kind", "")),
        since=_moment(values, "--since"),
        until=_moment(values, "--until"),
        text=values.get("--text", ""),
    )


def limit_of(options: CommandLine, usual: int) -> int:
    """How many entries at most."""
    said = options.values.get("--limit", str(usual))
    if not (said.isascii() and said.isdigit() and 0 < int(said[:12]) <= MOST_ROWS):
        raise UsageError(f"--limit takes a number from 1 to {MOST_ROWS}, not {said!r}")
    return int(said)


def _kinds(said: str) -> tuple[str, ...]:
    known = [kind.value for kind in Kind]
    wanted = tuple(each.strip() for each in said.split(",")) if said else ()
    for each in wanted:
        if each not in known:
            meant = nearest(each, known)
            raise UsageError(
                f"there is no kind {each!r}", hint=f"--kind {meant}" if meant else ", ".join(known)
            )
    return wanted


def _moment(values: dict[str, str], name: str) -> int | None:
    """Microseconds since 1970; a time without a zone is UTC, as all times here are."""
    said = values.get(name)
    if said is None:
        return None
    from datetime import UTC, datetime

    number, unit = said[:-1], said[-1:]
    if unit in _UNITS and number.isascii() and number.isdigit() and len(number) < 9:
        import time

        return int((time.time() - int(number) * _UNITS[unit]) * 1_000_000)
    try:
        moment = datetime.fromisoformat(said)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return int(moment.timestamp() * 1_000_000)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{name} takes a time, not {said!r}",
            hint=f"{name} 2026-11-16T05:30 (UTC), or {name} 2h for two hours ago",
        ) from None


_FILTERED = "list tail export stats"
AUDIT = CommandTable(
    "audit",
    "Shows what was judged, asked, run and changed, and verifies that nobody changed the audit"
    " log.",
    options=(
        Heading("filters"),
        Option("--session NAME", "of one session", of=_FILTERED),
        Option("--caller NAME", "of one caller, as an agent is called", of=_FILTERED),
        Option("--run ID", "of one run", of=_FILTERED),
        Option(
            "--kind KIND[,KIND]...",
            "one or more of: judged, asked, answered, refused, run-starting, run-ended,"
            " interrupted, previewed, discarded, apply-starting, applied, apply-failed,"
            " undo-starting, undone, undo-failed, violation, permission-changed, network, retained",
            of=_FILTERED,
        ),
        Option(
            "--since TIME",
            "not before: 2026-11-16, 2026-11-16T05:30 (UTC), or 90s, 30m, 2h, 7d ago",
            of=_FILTERED,
        ),
        Option("--until TIME", "not after, in the same forms", of=_FILTERED),
        Option("--text TEXT", "somewhere in the command or the details", of=_FILTERED),
        Heading("options"),
        Option("--limit N", "at most so many entries", of="list tail"),
        Option("-f, --follow", "goes on as entries are written", of="tail"),
        Option("--expect ENTRY:LINK", "what verify printed before", of="verify"),
        Option("--format FORM", "jsonl (default) or csv", choices="jsonl csv", of="export"),
        Option("--prometheus", "the counts as Prometheus reads them", of="stats"),
        Option("--json", "JSON instead of prose"),
    ),
    status="verify: 0 as it was written, 1 changed; show: 1 where there is no such entry",
    samples=(
        Sample("redoma audit list --since 2h", "what happened in the last two hours"),
        Sample("redoma audit verify", "whether anybody changed the audit log"),
    ),
)


@AUDIT.subcommand("list", "[FILTER]... [--limit N] [--json]", "the newest entries, one a line")
def _list(options: CommandLine) -> int:
    entries = audit_reader.newest(limit_of(options, 50), wanted_of(options))
    if options.json:
        _print(json.dumps([views.as_json(entry) for entry in entries]))
    else:
        for entry in entries:
            _print(views.line(entry, columns_of(sys.stdout)))
    return 0


@AUDIT.subcommand(
    "show", "ENTRY|RUN [--json]", "an entry, or all of a run, with every detail", most=None
)
def _show(options: CommandLine) -> int:
    if len(options.words) != 1:
        raise UsageError("redoma audit show takes one entry or run", hint="redoma audit list")
    which = options.words[0]
    if which.isascii() and which.isdigit() and len(which) < 19:
        one = audit_reader.one(int(which))
        entries = [one] if one else []
    else:
        entries = list(audit_reader.entries(audit_reader.EntryFilter(run=which)))
    if not entries:
        sys.stderr.write(phrased("redoma: the audit log has no {0}\n", harmless(which)))
        return 1
    if options.json:
        _print(json.dumps([views.as_json(entry) for entry in entries]))
    else:
        _print("\n".join(views.whole(entry) for entry in entries).rstrip("\n"))
    return 0


@AUDIT.subcommand(
    "tail",
    "[-f] [FILTER]... [--limit N] [--json]",
    "the newest ten; -f goes on as they are written",
)
def _tail(options: CommandLine) -> int:
    width = columns_of(sys.stdout)

    def shown(entry: audit_reader.AuditEntry) -> str:
        return views.json_line(entry) if options.json else views.line(entry, width)

    wanted = wanted_of(options)
    after = 0
    for entry in audit_reader.newest(limit_of(options, 10), wanted):
        _print(shown(entry))
        after = entry.seq
    if "--follow" in options.flags:
        sys.stdout.flush()
        for entry in audit_reader.follow(audit_reader.behind(wanted, after)):
            _print(shown(entry))
            sys.stdout.flush()
    return 0


@AUDIT.subcommand(
    "verify", "[--expect ENTRY:LINK] [--json]", "whether anybody changed the audit log, and where"
)
def _verify(options: CommandLine) -> int:
    found = audit_reader.verified(_expected(options.values.get("--expect")))
    if options.json:
        _print(json.dumps(views.verification_json(found)))
    else:
        _print(views.verification(found))
    return 0 if found.ok else 1


@AUDIT.subcommand("export", "--format jsonl|csv [FILTER]...", "every entry")
def _export(options: CommandLine) -> int:
    form = options.values.get("--format", "jsonl")
    if form not in ("jsonl", "csv"):
        raise UsageError(f"there is no format {form!r}", hint="--format jsonl or --format csv")
    shown = views.json_line if form == "jsonl" else views.csv_line
    if form == "csv":
        _print(views.CSV_HEAD)
    for entry in audit_reader.entries(wanted_of(options)):
        _print(shown(entry))
    return 0


@AUDIT.subcommand(
    "stats",
    "[FILTER]... [--json | --prometheus]",
    "what was blocked, denied and run; how it ended and how long it took",
)
def _stats(options: CommandLine) -> int:
    wanted = wanted_of(options)
    if "--prometheus" in options.flags:
        if options.json:
            raise UsageError("--json and --prometheus do not go together")
        sys.stdout.write(audit_reader.prometheus(wanted))
    elif options.json:
        _print(json.dumps(views.stats_json(audit_reader.stats(wanted))))
    else:
        _print(views.stats(audit_reader.stats(wanted)))
    return 0


def _expected(said: str | None) -> tuple[int, str] | None:
    if said is None:
        return None
    number, colon, link = said.partition(":")
    if not (colon and number.isascii() and number.isdigit() and len(link) == 64):
        raise UsageError(
            "--expect takes ENTRY:LINK, as redoma audit verify prints it",
            hint="redoma audit verify --expect 12:0123…",
        )
    return int(number), link.lower()


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
