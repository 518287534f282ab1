"""Walks the chain from its beginning, and says at each place what does not fit there."""

from __future__ import annotations

from bisect import bisect_right
from enum import Enum

from redoma.audit.chain import GENESIS, fits, link, row_bytes
from redoma.audit.database import COLUMNS, DatabaseError, lenient
from redoma.model.message import Message
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.audit.chain import Gap
    from redoma.audit.database import Connection


class Wrong(Enum):
    """What was done."""

    CHANGED = "changed"  # a row does not say what it said
    DELETED = "deleted"  # rows in the middle are missing, and nobody with the key let them go
    REORDERED = "reordered"  # a row stands where another one stood
    ADDED = "added"  # a row that was never written by us
    TRUNCATED = "truncated"  # the newest rows are missing
    REWRITTEN = "rewritten"  # rows fit each other, and lead elsewhere than they did
    HEAD_REPLACED = "head-replaced"
    HEAD_FILE = "head-file-replaced"
    GAP_FORGED = "gap-forged"
    DAMAGED = "damaged"  # the database itself
    GONE = "gone"


class Fault(Value):
    """One thing that is wrong, and the entry where it is."""

    wrong: Wrong
    text: str
    entry: int = 0


class Verification(Value):
    """What was checked, and what was found."""

    rows: int = 0
    let_go: int = 0  # by retention
    last: int = 0
    head: str = ""  # the link of the last entry
    faults: tuple[Fault, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the audit log is as it was written."""
        return not self.faults


MOST_FAULTS = 50


class ChainWalk:
    """One walk; what it found stands in its fields."""

    def __init__(self, connection: Connection, gaps: dict[int, Gap]) -> None:
        self._connection = connection
        self._gaps = gaps
        self._firsts = sorted(gaps)
        self._to_the_beginning()

    def _to_the_beginning(self) -> None:
        self.faults: list[Fault] = []
        self.rows = 0
        self.let_go = 0
        self.last = 0
        self.link = GENESIS
        self._suspects: list[tuple[Any, ...]] = []
        # None where the row before is missing, so that this one cannot be checked.
        self._before: bytes | None = GENESIS

    def run(self) -> None:
        """Walks all the way; a second time, and slowly, where a text is no text."""
        try:
            self._walk()
        except DatabaseError:
            self._connection.text_factory = lenient
            self._to_the_beginning()
            try:
                self._walk()
            except DatabaseError as error:
                self._fault(
                    Wrong.DAMAGED,
                    self.last + 1,
                    Message("the database cannot be read: {error}", error=error),
                )
        self._name_suspects()

    def _walk(self) -> None:
        for row in self._connection.execute(
            f"SELECT {COLUMNS}, link FROM audit_log ORDER BY seq"  # noqa: S608
        ):
            self._step(row)
        self._skip_to(None)

    def link_at(self, seq: int) -> bytes | None:
        """The link of an entry, where it is there or stands at the end of a gap."""
        if seq == 0:
            return GENESIS
        for statement in (
            "SELECT link FROM audit_log WHERE seq = ?",
            "SELECT after FROM gaps WHERE last = ?",
        ):
            found = self._connection.execute(statement, (seq,)).fetchone()
            if found is not None and isinstance(found[0], bytes):
                there: bytes = found[0]
                return there
        return None

    def _step(self, row: tuple[Any, ...]) -> None:
        seq, own = row[0], row[-1]
        self.rows += 1
        if seq != self.last + 1:
            self._skip_to(seq)
            if seq <= self.last:
                self._fault(Wrong.ADDED, seq, "where entries were let go, or before the first one")
                return
        before = self._before
        if before is not None and not fits(before, row[:-1], own):
            self._suspects.append(row if len(self._suspects) <= MOST_FAULTS else row[:1])
        self.last = seq
        self._before = self.link = own if isinstance(own, bytes) else GENESIS

    def _skip_to(self, seq: int | None) -> None:
        """Takes gaps up to a row, or to the end; what is missing without one was deleted."""
        while seq is None or self.last + 1 < seq:
            first = self.last + 1
            gap = self._gaps.get(first)
            if gap is not None:
                if self._before is not None and gap.before != self._before:
                    self._fault(Wrong.CHANGED, first - 1, "it does not lead to the gap behind it")
                self.let_go += gap.last - gap.first + 1
                self.last, self.link, self._before = gap.last, gap.after, gap.after
                continue
            later = self._firsts[bisect_right(self._firsts, first) :][:1]
            ends = later if seq is None else [seq, *later]
            if not ends:
                return
            end = min(ends) - 1
            self._fault(
                Wrong.DELETED,
                first,
                "it is missing"
                if end == first
                else Message("it is missing, with those up to {end}", end=end),
            )
            self.last, self._before = end, None

    def _name_suspects(self) -> None:
        """Says of each row that does not fit whether it was changed or moved."""
        suspects = [_Suspect(row, self.link_at(row[0] - 1)) for row in self._suspects[:MOST_FAULTS]]
        links = {suspect.own for suspect in suspects}
        # Behind which a row would fit that was not touched itself: the row before it was.
        before = {link for suspect in suspects for link in (suspect.own, suspect.due) if link}
        for suspect in suspects:
            if any(suspect.would_link(suspect.seq, link) == suspect.own for link in before):
                continue
            home = next(
                (
                    other.seq
                    for other in suspects
                    if other is not suspect
                    and any(
                        suspect.would_link(other.seq, link) in links
                        for link in (*before, other.before)
                        if link is not None
                    )
                ),
                None,
            )
            if home is not None:
                self._fault(
                    Wrong.REORDERED,
                    suspect.seq,
                    Message("what stands there is entry {home}", home=home),
                )
            else:
                text = "it, or the link before it, is not as it was written"
                self._fault(Wrong.CHANGED, suspect.seq, text)
        if len(self._suspects) > len(suspects):
            self._fault(
                Wrong.CHANGED,
                self._suspects[MOST_FAULTS][0],
                Message(
                    "it does not fit, nor do {count} later ones",
                    count=len(self._suspects) - MOST_FAULTS - 1,
                ),
            )

    def _fault(self, wrong: Wrong, entry: int, text: str) -> None:
        if len(self.faults) < 2 * MOST_FAULTS:
            self.faults.append(
                Fault(
                    wrong=wrong,
                    entry=entry,
                    text=Message("entry {entry}: {text}", entry=entry, text=Message(text)),
                )
            )


class _Suspect:
    """A row that does not fit where it stands."""

    def __init__(self, row: tuple[Any, ...], before: bytes | None) -> None:
        self.seq: int = row[0]
        self.own: bytes = row[-1] if isinstance(row[-1], bytes) else b""
        self.before = before
        self._row = row[:-1]
        # The link that it should have, as it is.
        self.due = None if before is None else self.would_link(self.seq, before)

    def would_link(self, seq: int, before: bytes) -> bytes | None:
        """Its link, had it stood at `seq` behind `before`."""
        try:
            return link(before, row_bytes((seq, *self._row[1:])))
        except (TypeError, ValueError):  # a column of another type than it was written with
            return None
