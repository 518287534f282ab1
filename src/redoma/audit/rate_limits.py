"""Whether one more run may start now; asked in the transaction that writes its start.

Two processes cannot both take the last place, because the second one asks after the first one's
start is written. A place comes back when the run ends, or when its process is found to be gone.
"""

from __future__ import annotations

from redoma.audit import ledger
from redoma.audit.ledger import DAY, MINUTE
from redoma.model.errors import RateLimited
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.audit.database import Connection
    from redoma.model.policy import AdmissionLimits, Rates

_SECOND = 1_000_000


def admit(
    connection: Connection, caller: str, session: str, limits: AdmissionLimits, now: int
) -> RateLimited | None:
    """None where a run may start; else the refusal, the one that lasts longest."""
    refusals = [
        *_refusals(connection, "caller", caller, limits.per_caller, now),
        *_refusals(connection, "session", session, limits.per_session, now),
    ]
    return max(refusals, key=lambda refusal: refusal.retry_after, default=None)


def crowded(connection: Connection, caller: str, session: str, limits: AdmissionLimits) -> bool:
    """Whether a limit on runs at once is reached, as far as the ledger knows."""
    return any(
        most is not None and len(_going(connection, column, who)) >= most
        for column, who, most in (
            ("caller", caller, limits.per_caller.concurrent_runs),
            ("session", session, limits.per_session.concurrent_runs),
        )
    )


def _refusals(
    connection: Connection, column: str, who: str, rates: Rates, now: int
) -> list[RateLimited]:
    shown = "this caller" if column == "caller" else "this session"
    if who:
        shown += f" ({who[:60]!r})"
    found = []
    if rates.executions_per_minute is not None:
        most = rates.executions_per_minute
        starts = _starts(connection, column, who, now)
        if len(starts) >= most:
            wait = starts[most - 1] + MINUTE - now if most else MINUTE
            found.append(
                _refusal(
                    Message(
                        "{shown} may start {most} runs a minute and has done so",
                        shown=Message(shown),
                        most=most,
                    ),
                    wait,
                )
            )
    if rates.concurrent_runs is not None:
        most = rates.concurrent_runs
        if len(_going(connection, column, who)) >= most:
            found.append(
                _refusal(
                    Message(
                        "{shown} may have {most} runs at once; there is room when one of them ends",
                        shown=Message(shown),
                        most=most,
                    ),
                    _SECOND,
                )
            )
    for limit, amount, words in (
        (rates.cpu_seconds_per_day, "cpu_seconds", "CPU seconds"),
        (rates.bytes_per_day, "bytes", "bytes"),
    ):
        if limit is not None:
            wait = _until_below(connection, column, who, amount, limit, now)
            if wait:
                found.append(
                    _refusal(
                        Message(
                            "{shown} may use {limit} {words} a day and has",
                            shown=Message(shown),
                            limit=f"{limit:g}",
                            words=Message(words),
                        ),
                        wait,
                    )
                )
    return found


def _refusal(message: str, wait: int) -> RateLimited:
    seconds = max(1, -(-wait // _SECOND))
    return RateLimited(
        Message("{why}; try again in {time}", why=Message(message), time=_words(seconds)),
        retry_after=float(seconds),
        hint="wait, or raise rate_limits in your sandbox.yaml",
    )


def _words(seconds: int) -> str:
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _starts(connection: Connection, column: str, who: str, now: int) -> list[int]:
    """When runs started in the last minute, newest first."""
    rows = connection.execute(
        f"SELECT started FROM runs WHERE {column} = ? AND started > ? ORDER BY started DESC",  # noqa: S608
        (who, now - MINUTE),
    )
    return [started for (started,) in rows]


def _going(connection: Connection, column: str, who: str) -> list[str]:
    rows = connection.execute(
        f"SELECT run FROM runs WHERE {column} = ? AND going = 1",  # noqa: S608
        (who,),
    )
    return [run for (run,) in rows]


def _until_below(
    connection: Connection, column: str, who: str, amount: str, limit: float, now: int
) -> int:
    """How long until the spending of the last day is below the limit; 0 where it is now.

    Spending is kept by the hour, and an hour counts until a day after its end: never too little.
    """
    rows = ledger.spent_by_hour(connection, column, who, amount, now)
    total = sum(spent for _, spent in rows)
    if total < limit:
        return 0
    for hour, spent in rows:
        total -= spent
        if total < limit:
            return max(1, (hour + 1) * ledger.HOUR + DAY - now)
    return DAY
