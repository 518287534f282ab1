"""Filters of `redoma audit`, read strictly: a filter that is not understood is an error."""

from __future__ import annotations

from redoma.model.errors import UsageError
from redoma.model.event import Kind
from redoma.pipeline.audit import EntryFilter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.cli.options import Options

FILTERS = ("--session", "--caller", "--run", "--kind", "--since", "--until", "--text")
MOST_ROWS = 1_000_000
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def wanted_of(options: Options) -> EntryFilter:
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


def limit_of(options: Options, usual: int) -> int:
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
            from redoma.cli.options import nearest

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
