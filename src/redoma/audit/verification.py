"""Says whether the audit log is as it was written, and if not, what was done to it and where."""

from __future__ import annotations

import os

from redoma.audit import database, ledger
from redoma.audit.chain import ChainHead, Gap, gap_mac, head_mac
from redoma.audit.chain_walk import ChainWalk, Fault, Verification, Wrong
from redoma.audit.database import TABLES, Error, open_to_read
from redoma.audit.head_lock import Anchor, HeadLock, parsed
from redoma.base.private_file import KeyPlace
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.audit.database import Connection

_HEAD = "SELECT record, seq, link, ledger, boot, uptime, wall, mac FROM head"


def verify(
    directory: str,
    *,
    keyed_by: KeyPlace = KeyPlace.FILE,
    expected: tuple[int, str] | None = None,
) -> Verification:
    """Reads every row against the chain, the head and the head file.

    `expected` is a head that was noted before, as (number, link): the audit log must still lead
    through it. That shows even an audit log that was put back as a whole, with its key.
    """
    if not database.inspect(directory):
        if os.path.lexists(os.path.join(directory, database.HEAD)):
            return Verification(
                faults=(Fault(wrong=Wrong.GONE, text="the database is gone; its head file is not"),)
            )
        missing = expected is not None and expected[0] > 0
        text = Message(
            "entry {expected} was expected, and there is no record",
            expected=expected[0] if expected else 0,
        )
        return Verification(faults=(Fault(wrong=Wrong.GONE, text=text),) if missing else ())
    key = database.KEY.existing(keyed_by, directory)
    try:
        return _Verification(directory, key).run(expected)
    except Error as error:  # what SQLite cannot read at all
        return Verification(
            faults=(Fault(wrong=Wrong.DAMAGED, text=Message("the database: {error}", error=error)),)
        )


class _Verification:
    """One look at a record as it is at one moment."""

    def __init__(self, directory: str, key: bytes) -> None:
        self._key = key
        self._faults: list[Fault] = []
        self._connection, said = _snapshot(directory)
        self._head, self._record = self._read_head()
        self._anchor = parsed(key, said)

    def run(self, expected: tuple[int, str] | None) -> Verification:
        try:
            self._check_schema()
            walk = ChainWalk(self._connection, self._gaps())
            walk.run()
            self._faults += walk.faults
            self._check_head(walk)
            self._check_anchor(walk)
            if expected is not None:
                self._check_passes(walk, *expected, "the head that was noted")
            if not self._faults:
                self._check_pages()
        finally:
            self._connection.close()
        return Verification(
            rows=walk.rows,
            let_go=walk.let_go,
            last=walk.last,
            head=walk.link.hex(),
            faults=tuple(self._faults),
        )

    def _fault(self, wrong: Wrong, text: str, entry: int = 0) -> None:
        self._faults.append(Fault(wrong=wrong, entry=entry, text=text))

    def _read_head(self) -> tuple[ChainHead | None, str]:
        rows = self._connection.execute(_HEAD).fetchall()
        if len(rows) != 1:
            self._fault(Wrong.HEAD_REPLACED, "the head is missing")
            return None, ""
        record, seq, link, ledger, boot, uptime, wall, mac = rows[0]
        try:
            head = ChainHead(
                record=record,
                seq=seq,
                link=link,
                ledger=ledger,
                boot=boot,
                uptime=uptime,
                wall=wall,
            )
            if head_mac(self._key, head) == mac:
                return head, record
        except (TypeError, ValueError, AttributeError):
            pass  # a column of another type than it was written with
        self._fault(
            Wrong.HEAD_REPLACED,
            "the head was not written with this record's key: everything before it may be new",
        )
        return None, str(record)

    def _gaps(self) -> dict[int, Gap]:
        found = {}
        for first, last, before, after, mac in self._connection.execute(
            "SELECT first, last, before, after, mac FROM gaps"
        ):
            try:
                gap = Gap(first=first, last=last, before=before, after=after)
                authentic = gap_mac(self._key, self._record, gap) == mac and first <= last
            except (TypeError, ValueError, AttributeError):
                authentic = False
            if authentic:
                found[gap.first] = gap
            else:
                where = first if isinstance(first, int) else 0
                self._fault(
                    Wrong.GAP_FORGED,
                    Message(
                        "nobody with the key let entry {first} to {last} go", first=first, last=last
                    ),
                    where,
                )
        return found

    def _check_head(self, walk: ChainWalk) -> None:
        head = self._head
        if head is None:
            return
        if head.seq > walk.last:
            gone = _range(walk.last + 1, head.seq)
            self._fault(
                Wrong.TRUNCATED,
                Message("the newest entries are gone: {gone}", gone=gone),
                walk.last + 1,
            )
        elif head.seq < walk.last:
            more = _range(head.seq + 1, walk.last)
            self._fault(Wrong.ADDED, Message("behind the head: {more}", more=more), head.seq + 1)
        elif head.link != walk.link and not walk.faults:
            self._fault(
                Wrong.REWRITTEN,
                Message(
                    "at or before entry {seq}: the rows fit each other but not the head",
                    seq=head.seq,
                ),
                head.seq,
            )

    def _check_anchor(self, walk: ChainWalk) -> None:
        anchor: Anchor | None = self._anchor
        if anchor is None or anchor.record != self._record:
            self._fault(Wrong.HEAD_FILE, "the head file was not written with this record's key")
            return
        seq, link = anchor.demands(ledger.boot())
        self._check_passes(walk, seq, link.hex(), "the head file")

    def _check_passes(self, walk: ChainWalk, seq: int, link: str, whose: str) -> None:
        if self._head is not None and seq > self._head.seq:
            self._fault(
                Wrong.TRUNCATED,
                Message(
                    "the newest entries are gone: {gone}; {whose} had reached {entry}",
                    gone=_range(self._head.seq + 1, seq),
                    whose=Message(whose),
                    entry=seq,
                ),
                self._head.seq + 1,
            )
            return
        there = walk.link_at(seq)
        if there is not None and there.hex() != link and not walk.faults:
            self._fault(
                Wrong.REWRITTEN,
                Message(
                    "entry {seq} is not the one that {whose} names", seq=seq, whose=Message(whose)
                ),
                seq,
            )

    def _check_schema(self) -> None:
        """Attack: a view in the place of the table, or a trigger, shows or keeps other rows."""
        rows = self._connection.execute(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
        ).fetchall()
        ours = {statement for statement in TABLES if statement.startswith("CREATE")}
        if {sql for (sql,) in rows} != ours:
            self._fault(Wrong.DAMAGED, "the tables are not those that Redoma made")

    def _check_pages(self) -> None:
        """Attack: an index that lacks a row hides it from a search, though the row is there."""
        for (said,) in self._connection.execute("PRAGMA integrity_check(8)"):
            if said != "ok":
                self._fault(Wrong.DAMAGED, Message("the database: {error}", error=said))


def _snapshot(directory: str) -> tuple[Connection, bytes]:
    """The database as it is now, and what the head file says at the same moment."""
    head_file = os.path.join(directory, database.HEAD)
    connection = open_to_read(directory)
    head_lock = None
    if os.path.lexists(head_file) and os.access(head_file, os.W_OK):
        head_lock = HeadLock(directory)
        head_lock.enter()
    try:
        connection.execute("BEGIN")
        connection.execute("SELECT seq FROM head").fetchone()
        try:
            with open(head_file, "rb") as file:
                said = file.read()
        except FileNotFoundError:
            said = b""
    except BaseException:
        connection.close()
        raise
    finally:
        if head_lock is not None:
            head_lock.leave()
            head_lock.close()
    return connection, said


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"
