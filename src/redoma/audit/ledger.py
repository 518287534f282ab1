"""What limits and estimates count: runs that go on, what was spent, how long commands took.

A start and an end touch one row of `runs` each, because a command waits for them; from there what
a run used is added up later, a batch at a time. Every time is the ledger's own (see `clock`).

Whether one more run may start now; asked in the transaction that writes its start.

Two processes cannot both take the last place, because the second one asks after the first one's
start is written. A place comes back when the run ends, or when its process is found to be gone.
"""

from __future__ import annotations

import os
import time

from redoma.base.identity import boot_id, start_time
from redoma.model.errors import RateLimited
from redoma.model.message import Message
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from redoma.audit.chain import ChainHead, Draft
    from redoma.audit.database import Connection
    from redoma.model.policy import AdmissionLimits, Rates


_own: dict[int, str] = {}


def own() -> str:
    """This process: boot, process namespace, pid, and when it started in the kernel's count."""
    pid = os.getpid()
    if pid not in _own:
        _own.clear()
        _own[pid] = f"{boot()} {_namespace()} {pid} {start_time(pid)}"
    return _own[pid]


def gone(maker: str, age: int) -> bool:
    """Whether a run's maker has ended; `age` is the run's, in microseconds.

    A process of another namespace (a container that shares the state directory) cannot be seen
    from here: its runs are left alone for a day.
    """
    made_in, namespace, pid, started = [*maker.split(" "), "", "", "", ""][:4]
    if made_in != boot():
        return True
    if namespace != _namespace():
        return age > DAY
    return not pid.isdigit() or start_time(int(pid)) != started


def _namespace() -> str:
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return "-"


_MICRO = 1000
MINUTE = 60_000_000
DAY = 24 * 60 * MINUTE


def boot() -> str:
    """The name of this boot of the machine."""
    return boot_id() or "unknown"


class Now:
    """This moment: the boot, microseconds since it (sleep included), and since 1970."""

    __slots__ = ("boot", "uptime", "wall")

    def __init__(self) -> None:
        self.boot = boot()
        self.uptime = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // _MICRO
        self.wall = time.time_ns() // _MICRO


def passed(head: ChainHead, now: Now) -> int:
    """How much time has passed since the head was written; never less than none."""
    if not head.boot:
        return 0
    if head.boot == now.boot:
        return max(0, now.uptime - head.uptime)
    return max(now.uptime, now.wall - head.wall)


HOUR = 60 * MINUTE
KEPT_DURATIONS = 16
MOST_COMMANDS = 20_000
_BEGIN = "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, 1, 0, 0, NULL)"
_END = "UPDATE runs SET going = 0, cpu_seconds = ?, bytes = ?, took = ? WHERE run = ? AND going = 1"


class Going(Value):
    """A run that was started and whose end is not written."""

    run: str
    seq: int
    caller: str
    session: str


def begin(connection: Connection, start: Draft, seq: int, now: int) -> None:
    """A run has started."""
    connection.execute(
        _BEGIN, (start.run, seq, start.caller, start.session, start.digest, own(), now)
    )


def end(connection: Connection, run: str, details: Mapping[str, object]) -> None:
    """A run has ended; `details` say what it used."""
    size = int(number(details, "bytes_written") + number(details, "output_bytes"))
    took = number(details, "wall_seconds") if details.get("outcome") == "exited" else None
    connection.execute(_END, (number(details, "cpu_seconds"), size, took, run))


def interrupted(connection: Connection, now: int) -> list[Going]:
    """The runs whose process is gone; they do not go on from here."""
    found = []
    for run, seq, caller, session, maker, started in connection.execute(
        "SELECT run, seq, caller, session, maker, started FROM runs WHERE going = 1"
    ).fetchall():
        if gone(maker, now - started):
            connection.execute("UPDATE runs SET going = 0 WHERE run = ?", (run,))
            found.append(Going(run=run, seq=seq, caller=caller, session=session))
    return found


def add_up(connection: Connection, now: int) -> None:
    """Moves runs that are over from `runs` to the sums, and lets go of what nothing counts."""
    over = connection.execute(
        "SELECT caller, session, digest, started, cpu_seconds, bytes, took FROM runs "
        "WHERE going = 0 AND started <= ? ORDER BY seq",
        (now - MINUTE,),
    ).fetchall()
    for caller, session, digest, started, cpu, size, took in over:
        for scope in (caller_scope(caller), session_scope(session)):
            connection.execute(
                "INSERT INTO spent VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                "cpu_seconds = cpu_seconds + excluded.cpu_seconds, bytes = bytes + excluded.bytes",
                (scope, started // HOUR, cpu, size),
            )
        if digest:
            known = _kept_durations(connection, digest)
            kept = (*known, took)[-KEPT_DURATIONS:] if took is not None else known
            connection.execute(
                "INSERT OR REPLACE INTO commands VALUES (?, ?, ?)",
                (digest, started, " ".join(f"{each:.6f}" for each in kept)),
            )
    connection.execute("DELETE FROM runs WHERE going = 0 AND started <= ?", (now - MINUTE,))
    connection.execute("DELETE FROM spent WHERE hour < ?", ((now - DAY) // HOUR - 1,))
    connection.execute(
        "DELETE FROM commands WHERE digest IN "
        "(SELECT digest FROM commands ORDER BY last DESC LIMIT -1 OFFSET ?)",
        (MOST_COMMANDS,),
    )


def has_run(connection: Connection, digest: str) -> bool:
    """Whether a command has ever been started."""
    return any(
        connection.execute(f"SELECT 1 FROM {table} WHERE digest = ?", (digest,)).fetchone()  # noqa: S608
        for table in ("commands", "runs")
    )


def durations(connection: Connection, digest: str) -> tuple[float, ...]:
    """How many seconds its last runs took, oldest first."""
    newer = connection.execute(
        "SELECT took FROM runs WHERE digest = ? AND took IS NOT NULL ORDER BY seq", (digest,)
    )
    known = (*_kept_durations(connection, digest), *(took for (took,) in newer))
    return known[-KEPT_DURATIONS:]


def spent_by_hour(
    connection: Connection, column: str, who: str, amount: str, now: int
) -> list[tuple[int, float]]:
    """What a caller or a session spent in the last day: (hour, amount), oldest first."""
    first = (now - DAY) // HOUR - 1
    found: dict[int, float] = dict(
        connection.execute(
            f"SELECT hour, {amount} FROM spent WHERE scope = ? AND hour > ?",  # noqa: S608
            (f"{column} {who}", first),
        )
    )
    for started, size in connection.execute(
        f"SELECT started, {amount} FROM runs WHERE {column} = ?",  # noqa: S608
        (who,),
    ):
        hour = max(started // HOUR, first + 1)
        found[hour] = found.get(hour, 0) + size
    return sorted(found.items())


def caller_scope(caller: str) -> str:
    """The name under which a caller's spending is kept."""
    return f"caller {caller}"


def session_scope(session: str) -> str:
    """The name under which a session's spending is kept."""
    return Message("session {session}", session=session)


def number(details: Mapping[str, object], name: str) -> float:
    """A number of an event's details that can be counted; zero where there is none."""
    value = details.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0.0
    return float(value) if 0 <= value < 1e18 else 0.0


def _kept_durations(connection: Connection, digest: str) -> tuple[float, ...]:
    found = connection.execute(
        "SELECT durations FROM commands WHERE digest = ?", (digest,)
    ).fetchone()
    return tuple(map(float, found[0].split())) if found else ()


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
    rows = spent_by_hour(connection, column, who, amount, now)
    total = sum(spent for _, spent in rows)
    if total < limit:
        return 0
    for hour, spent in rows:
        total -= spent
        if total < limit:
            return max(1, (hour + 1) * HOUR + DAY - now)
    return DAY
