"""Lets old rows go: the newest of each session stay, and the chain can still be verified.

Attack: 1 500 cheap connections, and the refusal before them is old. So rows that a command can make
at will (connections that passed, those that did not, what was held back) are counted apart: each
kind has a quota of its own, and none takes the place of a judgement, a question, an answer, a
run, a change or a refusal. Within such a quota a run takes no room from another: each run's first
row stays before any run's second.

What goes leaves a gap under the key: which rows, and the links at both ends. So rows that anybody
else deletes are missing, and rows that retention deleted are not.
"""

from __future__ import annotations

from redoma.audit.chain import GENESIS, Gap, fits, gap_mac
from redoma.audit.database import COLUMNS
from redoma.model.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.audit.database import Connection


# JSON escapes the quotes in a value, so no value can look like this key.
_RETAINED = "AND kind = 'retained'"
_JUDGED_AND_DONE = "AND kind NOT IN ('network', 'violation', 'retained')"
_AT_WILL = (
    "AND kind = 'network' AND instr(details, '\"allowed\":true') > 0",
    "AND kind = 'network' AND instr(details, '\"allowed\":true') = 0",
    "AND kind = 'violation'",
)
_ROOMS = (_JUDGED_AND_DONE, *_AT_WILL, _RETAINED)
"""Each row belongs to exactly one."""
_BY_AGE = "SELECT seq FROM audit_log WHERE session = ? {0} ORDER BY seq DESC LIMIT -1 OFFSET ?"
_BY_TURNS = (
    "SELECT seq FROM (SELECT seq, row_number() OVER (PARTITION BY run ORDER BY seq) AS turn "
    "FROM audit_log WHERE session = ? {0}) ORDER BY turn, seq DESC LIMIT -1 OFFSET ?"
)
MOST_RETAINED = 8


class LetGo(Value):
    """Rows of one session that went."""

    session: str
    rows: int
    up_to: int


def let_go(connection: Connection, key: bytes, record: str, keep: int, since: int) -> list[LetGo]:
    """Deletes what each session with rows after `since` has beyond its `keep` of a room."""
    gone = []
    sessions = connection.execute(
        "SELECT DISTINCT session FROM audit_log WHERE seq > ?", (since,)
    ).fetchall()
    for (session,) in sessions:
        rows: list[tuple[int, bytes, bytes]] = []
        for room in _ROOMS:
            order = _BY_TURNS if room in _AT_WILL else _BY_AGE
            most = min(keep, MOST_RETAINED) if room is _RETAINED else keep
            to_go = [seq for (seq,) in connection.execute(order.format(room), (session, most))]
            rows += _whole_rows(connection, sorted(to_go))
        rows.sort()
        for stretch in _stretches(rows):
            _make_gap(connection, key, record, stretch)
        connection.executemany("DELETE FROM audit_log WHERE seq = ?", [(seq,) for seq, *_ in rows])
        if rows:
            gone.append(LetGo(session=session, rows=len(rows), up_to=rows[-1][0]))
    return gone


def _whole_rows(connection: Connection, to_go: list[int]) -> list[tuple[int, bytes, bytes]]:
    """Rows that may go: number, the link before and their own.

    Attack: a row is changed, or the one before it deleted, and then made old by writing many new
    ones, so that retention clears the traces away. A row that does not fit the chain stays.
    """
    found: list[tuple[int, bytes, bytes]] = []
    for seq in to_go:
        row = connection.execute(
            # A run that goes on keeps its rows: its start must be there when its end comes.
            f"SELECT {COLUMNS}, link FROM audit_log WHERE seq = ? "  # noqa: S608
            "AND run NOT IN (SELECT run FROM runs WHERE going = 1)",
            (seq,),
        ).fetchone()
        if row is None:
            continue
        if found and found[-1][0] == seq - 1:
            before: bytes | None = found[-1][2]
        else:
            before = _link_at(connection, seq - 1)
        if before is not None and fits(before, tuple(row[:-1]), row[-1]):
            found.append((seq, before, row[-1]))
    return found


def _stretches(rows: list[tuple[int, bytes, bytes]]) -> list[Gap]:
    """Rows that stand side by side, as the gaps that they will leave."""
    found: list[Gap] = []
    for seq, before, own in rows:
        if found and found[-1].last == seq - 1:
            found[-1] = replace(found[-1], last=seq, after=own)
        else:
            found.append(Gap(first=seq, last=seq, before=before, after=own))
    return found


def _make_gap(connection: Connection, key: bytes, record: str, gap: Gap) -> None:
    """Writes a gap, made one with the gaps that it touches."""
    earlier = connection.execute(
        "SELECT first, before FROM gaps WHERE last = ?", (gap.first - 1,)
    ).fetchone()
    if earlier is not None:
        connection.execute("DELETE FROM gaps WHERE last = ?", (gap.first - 1,))
        gap = replace(gap, first=earlier[0], before=earlier[1])
    later = connection.execute(
        "SELECT last, after FROM gaps WHERE first = ?", (gap.last + 1,)
    ).fetchone()
    if later is not None:
        connection.execute("DELETE FROM gaps WHERE first = ?", (gap.last + 1,))
        gap = replace(gap, last=later[0], after=later[1])
    connection.execute(
        "INSERT INTO gaps VALUES (?, ?, ?, ?, ?)",
        (gap.first, gap.last, gap.before, gap.after, gap_mac(key, record, gap)),
    )


def _link_at(connection: Connection, seq: int) -> bytes | None:
    """The link up to which the chain reaches at a row; None where that row is missing."""
    if seq == 0:
        return GENESIS
    for statement in (
        "SELECT link FROM audit_log WHERE seq = ?",
        "SELECT after FROM gaps WHERE last = ?",
    ):
        found = connection.execute(statement, (seq,)).fetchone()
        if found is not None:
            link: bytes = found[0]
            return link
    return None
