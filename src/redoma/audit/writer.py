"""One process's open record: writes in turn with others, each transaction whole or not at all."""

from __future__ import annotations

import os

from redoma.audit import database, ledger
from redoma.audit.chain import ChainHead, Transaction, command_digest, head_mac
from redoma.audit.database import (
    Error,
    Statements,
    WordedErrors,
    is_ours,
    open_to_write,
    path_of,
    unavailable,
)
from redoma.audit.head_lock import Anchor, HeadLock, parsed, spelled
from redoma.model.errors import ChainBroken, RecordUnavailable
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.audit.chain import Draft
    from redoma.audit.database import Connection
    from redoma.base.private_file import KeyPlace
    from redoma.model.errors import RateLimited
    from redoma.model.policy import AdmissionLimits

_HEAD = "SELECT record, keyed_by, seq, link, ledger, boot, uptime, wall, mac FROM head WHERE id = 1"
_left_open: list[object] = []
_HEAD_MAC = "SELECT mac FROM head WHERE id = 1"


class WrittenRows:
    """Rows that are committed; on disk when `Writer.force` has returned."""

    __slots__ = ("head", "refusal")

    def __init__(self, head: ChainHead, refusal: RateLimited | None) -> None:
        self.head = head
        self.refusal = refusal


class _Ends:
    """What this process wrote last; what is found the same need not be read again."""

    __slots__ = ("anchor", "head", "spelled")

    def __init__(self, head: ChainHead, anchor: Anchor, spelled: tuple[bytes, bytes]) -> None:
        self.head = head
        self.anchor = anchor
        self.spelled = spelled


class AuditWriter:
    """The open files of an audit log; used by one thread at a time."""

    def __init__(self, directory: str, *, keyed_by: KeyPlace, keep: int | None) -> None:
        database.prepare(directory)
        self.directory = directory
        self._path = path_of(directory)
        self._keyed_by = keyed_by
        self._keep = keep
        self._head_lock = HeadLock(directory)
        self._log = Statements(self._path)
        self._files: tuple[tuple[int, int], ...] = ()
        self._opened: Connection | None = None
        self._head_lock.enter()
        try:
            # A record that was begun has a head file; its key is never made twice.
            begun = bool(self._head_lock.read().strip())
            get = database.KEY.existing if begun else database.KEY.existing_or_new
            self.key = get(keyed_by, directory)
            if begun and not os.path.exists(self._path):
                raise ChainBroken(
                    Message(
                        "the audit log {path} is gone, and its head file is not", path=self._path
                    ),
                    entry=0,
                    hint=_aside(directory),
                )
            self._opened = open_to_write(directory)
            with WordedErrors(self._path):
                self._begin_if_new(begun=begun)
        except BaseException:
            self.close()
            raise
        self._head_lock.leave()
        # Attack: the files are removed below a process that goes on writing, to nowhere.
        self._files = self._found()
        self._last: _Ends | None = None
        self._on_disk: ChainHead | None = None
        self._has_looked = False

    @property
    def connection(self) -> Connection:
        """The open database."""
        assert self._opened is not None
        return self._opened

    def digest_of(self, command: str) -> str:
        """The name of a command in the ledger."""
        return command_digest(self.key, command)

    def write(self, drafts: list[Draft], rates: AdmissionLimits | None = None) -> WrittenRows:
        """Commits rows, or the refusal of the start among them: whatever dies now, they stay."""
        self._head_lock.enter()
        try:
            if self._found() != self._files:
                raise RecordUnavailable(
                    "the audit log {path} was moved or removed while it was in use",
                    path=self._path,
                    hint="put it back; else a new one begins with the next command",
                )
            return self._transact(drafts, rates)
        except BaseException as error:
            self._last = None
            self._roll_back()
            if isinstance(error, (Error, OSError)):
                raise unavailable(self._path, error) from error
            raise
        finally:
            self._head_lock.leave()

    def force(self, written: WrittenRows) -> None:
        """What was written is on disk when this returns, even if the power is cut.

        Others write meanwhile, and the disk takes what several of them force in one go.
        """
        try:
            self._log.force()
            self._on_disk = written.head
            if self._head_lock.enter_if_free():
                try:
                    self._confirm()
                finally:
                    self._head_lock.leave()
        except OSError as error:
            raise unavailable(self._path, error) from error

    def _transact(self, drafts: list[Draft], rates: AdmissionLimits | None) -> WrittenRows:
        self.connection.execute("BEGIN IMMEDIATE")
        known, anchor = self._ends()
        transaction = Transaction(self.connection, self.key, known)
        if not self._has_looked:
            transaction.close_interrupted()
        refusal = transaction.run(drafts, rates)
        transaction.let_go(self._keep)
        head = transaction.head
        mac = self._put_head(head)
        self.connection.execute("COMMIT")
        self._has_looked = True
        self._remember(head, mac, anchor)
        return WrittenRows(head, refusal)

    def close(self) -> None:
        """Closes the files; nothing waits to be written."""
        if self._opened is not None:
            # SQLite removes its log by name when the last one closes: that of an audit log which
            # has taken the place of ours, where ours was moved away.
            if self._files and self._files != self._found():
                _left_open.append(self._opened)
            else:
                self._opened.close()
            self._opened = None
        self._log.close()
        self._head_lock.close()

    def look_again(self) -> None:
        """The next write looks once more for runs that were interrupted."""
        self._has_looked = False

    def _found(self) -> tuple[tuple[int, int], ...]:
        """The files that have our names now."""
        return _inode(self._path), _inode(self._head_lock.path)

    def _begin_if_new(self, *, begun: bool) -> None:
        if not is_ours(self.connection):
            raise RecordUnavailable("{path} is not a record of Redoma's", path=self._path)
        found = self.connection.execute(_HEAD).fetchone()
        if begun:
            if found is None:
                raise self._broken(0, "its head is missing")
            return
        if found is not None and found[2]:
            raise self._broken(found[2], "its head file is missing")
        # Whoever began before us and was killed had written nothing yet.
        from redoma.base.identity import uuid

        head = ChainHead(record=uuid())
        self.connection.execute(
            "INSERT OR REPLACE INTO head VALUES (1, ?, ?, 0, ?, 0, '', 0, 0, ?)",
            (head.record, self._keyed_by.value, head.link, head_mac(self.key, head)),
        )
        self._head_lock.write(spelled(self.key, Anchor(record=head.record, boot=ledger.boot())))
        self._head_lock.settle()

    def _ends(self) -> tuple[ChainHead, Anchor]:
        """The head and the anchor, which agree; otherwise nothing is written over the traces."""
        if self._last is not None:
            (mac,) = self.connection.execute(_HEAD_MAC).fetchone() or ("",)
            if (mac, self._head_lock.read()) == self._last.spelled:
                return self._last.head, self._last.anchor  # as this process left them
        found = self.connection.execute(_HEAD).fetchone()
        if found is None:
            raise self._broken(0, "its head is missing")
        record, keyed_by, seq, own, ledger_time, boot, uptime, wall, mac = found
        if keyed_by != self._keyed_by.value:
            raise RecordUnavailable(
                "the audit log's key is in the {place}, and it is looked for in the {asked}",
                place=keyed_by,
                asked=self._keyed_by.value,
                hint=f"REDOMA_AUDIT_KEY={keyed_by}",
            )
        try:
            head = ChainHead(
                record=record,
                seq=seq,
                link=own,
                ledger=ledger_time,
                boot=boot,
                uptime=uptime,
                wall=wall,
            )
            authentic = head_mac(self.key, head) == mac
        except (TypeError, ValueError, AttributeError):
            authentic = False
        if not authentic:
            raise self._broken(seq, "its head was not written with this key")
        anchor = parsed(self.key, self._head_lock.read())
        if anchor is None or anchor.record != record:
            raise self._broken(seq, "its head file was not written with this key")
        demanded, demanded_link = anchor.demands(ledger.boot())
        if demanded > seq or (demanded == seq and demanded_link != own):
            raise self._broken(
                seq,
                Message(
                    "it had reached entry {demanded} and was put back to {seq}",
                    demanded=demanded,
                    seq=seq,
                ),
            )
        return head, anchor

    def _broken(self, entry: int, what: str) -> ChainBroken:
        return ChainBroken(
            Message(
                "the audit log {path} was changed: {what}", path=self._path, what=Message(what)
            ),
            entry=entry,
            hint=Message("redoma audit verify; {hint}", hint=Message(_aside(self.directory))),
        )

    def _put_head(self, head: ChainHead) -> bytes:
        mac = head_mac(self.key, head)
        self.connection.execute(
            "UPDATE head SET seq = ?, link = ?, ledger = ?, boot = ?, uptime = ?, wall = ?, mac = ?"
            " WHERE id = 1",
            (
                head.seq,
                head.link,
                head.ledger,
                head.boot,
                head.uptime,
                head.wall,
                mac,
            ),
        )
        return mac

    def _remember(self, head: ChainHead, mac: bytes, known: Anchor) -> None:
        """Writes the end into the head file, and how far the audit log is known to be on disk."""
        ours = self._on_disk
        newer = ours is not None and ours.seq > known.on_disk_seq
        anchor = Anchor(
            record=head.record,
            seq=head.seq,
            link=head.link,
            on_disk_seq=ours.seq if ours is not None and newer else known.on_disk_seq,
            on_disk_link=ours.link if ours is not None and newer else known.on_disk_link,
            boot=head.boot,
        )
        said = self._head_lock.write(spelled(self.key, anchor))
        self._last = _Ends(head, anchor, (mac, said))

    def _confirm(self) -> None:
        """Says in the head file that its end is on disk, unless others wrote a newer one."""
        last = self._last
        if last is not None and self._head_lock.read() == last.spelled[1]:
            self._remember(last.head, last.spelled[0], last.anchor)

    def _roll_back(self) -> None:
        try:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
        except Error:
            # The connection cannot be trusted any more; the next call opens another one.
            self.connection.close()
            self._log.close()
            self._opened = open_to_write(self.directory)


def _inode(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return 0, 0
    return status.st_dev, status.st_ino


def _aside(directory: str) -> str:
    return Message(
        "to begin anew and keep the traces: mv {directory} {directory}.broken", directory=directory
    )
