"""Walks the chain from its beginning, and says at each place what does not fit there."""

from __future__ import annotations

from bisect import bisect_right

from redoma.record.chain import GENESIS, fits, link
from redoma.record.database import DatabaseError
from redoma.record.encoding import row_bytes
from redoma.record.faults import Fault, Wrong
from redoma.record.schema import COLUMNS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.record.chain import Gap
    from redoma.record.database import Connection

MOST_FAULTS = 50


class Walk:
    """One walk; what it found stands in its fields."""

    def __init__(self, connection: Connection, gaps: dict[int, Gap]) -> None:
        self.faults: list[Fault] = []
        self.rows = 0
        self.let_go = 0
        self.last = 0
        self.link = GENESIS
        self._connection = connection
        self._gaps = gaps
        self._firsts = sorted(gaps)
        self._suspects: list[tuple[Any, ...]] = []
        # None where the row before is missing, so that this one cannot be checked.
        self._before: bytes | None = GENESIS

    def run(self) -> None:
        """Walks all the way."""
        try:
            for row in self._connection.execute(
                f"SELECT {COLUMNS}, link FROM audit_log ORDER BY seq"  # noqa: S608
            ):
                self._step(row)
            self._skip_to(None)
        except DatabaseError as error:
            self._fault(Wrong.DAMAGED, self.last + 1, f"the database cannot be read: {error}")
        self._name_suspects()

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
                "missing" if end == first else f"missing, with those up to {end}",
            )
            self.last, self._before = end, None

    def _name_suspects(self) -> None:
        """Says of each row that does not fit whether it was changed or moved."""
        suspects = self._suspects[:MOST_FAULTS]
        places = [row[0] for row in suspects]
        links = {row[-1] for row in suspects if isinstance(row[-1], bytes)}
        befores = {seq: self.link_at(seq - 1) for seq in places}
        blamed = 0  # the entry whose link alone was changed: the next one does not fit either
        for row in suspects:
            seq = row[0]
            if blamed == seq - 1 and blamed and self._fits_but_for_link(row, befores):
                continue
            blamed = 0
            home = next((at for at in places if self._stood_at(row, at, befores, links)), None)
            if home is not None:
                self._fault(Wrong.REORDERED, seq, f"what stands there is entry {home}")
            else:
                self._fault(Wrong.CHANGED, seq, "it does not say what it said")
                blamed = seq
        if len(self._suspects) > len(suspects):
            self._fault(
                Wrong.CHANGED,
                self._suspects[MOST_FAULTS][0],
                f"and {len(self._suspects) - MOST_FAULTS} more from there on",
            )

    def _fits_but_for_link(self, row: tuple[Any, ...], befores: dict[int, bytes | None]) -> bool:
        """Whether a row fits behind what the row before it should have as its link."""
        seq = row[0]
        previous = self._connection.execute(
            f"SELECT {COLUMNS} FROM audit_log WHERE seq = ?",  # noqa: S608
            (seq - 1,),
        ).fetchone()
        before = befores.get(seq - 1)
        if previous is None or before is None:
            return False
        try:
            return fits(link(before, row_bytes(previous)), row[:-1], row[-1])
        except (TypeError, ValueError):
            return False

    def _stood_at(
        self,
        row: tuple[Any, ...],
        at: int,
        befores: dict[int, bytes | None],
        links: set[bytes],
    ) -> bool:
        """Whether this row's content makes a link that is there, had it stood at `at`."""
        if at == row[0]:
            return False
        moved = (at, *row[1:-1])
        try:
            spelled = row_bytes(moved)
        except (TypeError, ValueError):
            return False
        candidates = {befores.get(at), *links} - {None}
        return any(link(before, spelled) in links for before in candidates if before is not None)

    def _fault(self, wrong: Wrong, entry: int, text: str) -> None:
        if len(self.faults) < 2 * MOST_FAULTS:
            self.faults.append(Fault(wrong=wrong, entry=entry, text=f"entry {entry}: {text}"))
