"""One process's open record: writes in turn with others, each transaction whole or not at all."""

from __future__ import annotations

import os

from redoma.model.errors import ChainBroken, RecordUnavailable
from redoma.record import clock, keys, place
from redoma.record.chain import Head, command_digest, head_mac
from redoma.record.database import Error, Log, is_ours, open_to_write, path_of, unavailable, worded
from redoma.record.transaction import Transaction
from redoma.record.turnstile import Anchor, Turnstile, parsed, spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.errors import RateLimited
    from redoma.model.rates import RateLimits
    from redoma.record.keys import KeyPlace
    from redoma.record.transaction import Draft

_HEAD = "SELECT record, keyed_by, seq, link, ledger, boot, uptime, wall, mac FROM head WHERE id = 1"
_HEAD_MAC = "SELECT mac FROM head WHERE id = 1"


class Written:
    """Rows that are committed and that others wait behind, until `Writer.finish`."""

    __slots__ = ("anchor", "head", "mac", "refusal")

    def __init__(self, head: Head, mac: bytes, anchor: Anchor, refusal: RateLimited | None) -> None:
        self.head = head
        self.mac = mac
        self.anchor = anchor  # as it was before these rows
        self.refusal = refusal


class _Ends:
    """What this process wrote last; what is found the same need not be read again."""

    __slots__ = ("anchor", "head", "spelled")

    def __init__(self, head: Head, anchor: Anchor, spelled: tuple[bytes, bytes]) -> None:
        self.head = head
        self.anchor = anchor
        self.spelled = spelled


class Writer:
    """The open files of a record; used by one thread at a time."""

    def __init__(self, directory: str, *, keyed_by: KeyPlace, keep: int | None) -> None:
        place.prepare(directory)
        self.directory = directory
        self._path = path_of(directory)
        self._keyed_by = keyed_by
        self._keep = keep
        self._turnstile = Turnstile(directory)
        self._log = Log(self._path)
        self._turnstile.enter()
        try:
            # A record that was begun has a head file; its key is never made twice.
            begun = bool(self._turnstile.read().strip())
            get = keys.existing if begun else keys.existing_or_new
            self.key = get(keyed_by, directory)
            if begun and not os.path.exists(self._path):
                raise ChainBroken(
                    f"the record {self._path} is gone, and its head file is not",
                    entry=0,
                    hint=_aside(directory),
                )
            self.connection = open_to_write(directory)
            with worded(self._path):
                self._begin_if_new(begun=begun)
        except BaseException:
            self.close()
            raise
        self._turnstile.leave()
        self._last: _Ends | None = None
        self._has_looked = False

    def digest_of(self, command: str) -> str:
        """The name of a command in the ledger."""
        return command_digest(self.key, command)

    def write(self, drafts: list[Draft], rates: RateLimits | None = None) -> Written:
        """Commits rows, or the refusal of the start among them; `finish` must follow."""
        self._turnstile.enter()
        try:
            return self._transact(drafts, rates)
        except BaseException as error:
            self._last = None
            self._roll_back()
            self._turnstile.leave()
            if isinstance(error, (Error, OSError)):
                raise unavailable(self._path, error) from error
            raise

    def finish(self, written: Written, *, forced: bool) -> int:
        """Puts what was written on disk, if that is wanted, and lets others write."""
        try:
            if forced:
                self._log.force()
            self._remember(written, forced=forced)
        except OSError as error:
            raise unavailable(self._path, error) from error
        finally:
            self._turnstile.leave()
        return written.head.seq

    def _transact(self, drafts: list[Draft], rates: RateLimits | None) -> Written:
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
        return Written(head, mac, anchor, refusal)

    def close(self) -> None:
        """Closes the files; nothing waits to be written."""
        connection = getattr(self, "connection", None)
        if connection is not None:
            connection.close()
        self._log.close()
        self._turnstile.close()

    def look_again(self) -> None:
        """The next write looks once more for runs that were interrupted."""
        self._has_looked = False

    def _begin_if_new(self, *, begun: bool) -> None:
        if not is_ours(self.connection):
            raise RecordUnavailable(f"{self._path} is not a record of Redoma's")
        found = self.connection.execute(_HEAD).fetchone()
        if found is None:
            if begun:
                raise self._broken(0, "its head is missing")
            from redoma.model.ids import uuid

            self.connection.execute(
                "INSERT INTO head VALUES (1, ?, ?, 0, x'', 0, '', 0, 0, x'')",
                (uuid(), self._keyed_by.value),
            )
            found = self.connection.execute(_HEAD).fetchone()
            self._put_head(Head(record=found[0]))
        elif begun:
            return
        elif found[2]:
            raise self._broken(found[2], "its head file is missing")
        self._turnstile.write(spelled(self.key, Anchor(record=found[0], boot=clock.boot())))
        self._turnstile.settle()

    def _ends(self) -> tuple[Head, Anchor]:
        """The head and the anchor, which agree; otherwise nothing is written over the traces."""
        if self._last is not None:
            (mac,) = self.connection.execute(_HEAD_MAC).fetchone() or ("",)
            if (mac, self._turnstile.read()) == self._last.spelled:
                return self._last.head, self._last.anchor  # as this process left them
        found = self.connection.execute(_HEAD).fetchone()
        if found is None:
            raise self._broken(0, "its head is missing")
        record, keyed_by, seq, own, ledger_time, boot, uptime, wall, mac = found
        if keyed_by != self._keyed_by.value:
            raise RecordUnavailable(
                f"the record's key is in the {keyed_by}, and it is looked for in the "
                f"{self._keyed_by.value}",
                hint=f"REDOMA_AUDIT_KEY={keyed_by}",
            )
        try:
            head = Head(
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
        anchor = parsed(self.key, self._turnstile.read())
        if anchor is None or anchor.record != record:
            raise self._broken(seq, "its head file was not written with this key")
        demanded, demanded_link = anchor.demands(clock.boot())
        if demanded > seq or (demanded == seq and demanded_link != own):
            raise self._broken(seq, f"it had reached entry {demanded} and was put back to {seq}")
        return head, anchor

    def _broken(self, entry: int, what: str) -> ChainBroken:
        return ChainBroken(
            f"the record {self._path} was changed: {what}",
            entry=entry,
            hint=f"redoma audit verify; {_aside(self.directory)}",
        )

    def _put_head(self, head: Head) -> bytes:
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

    def _remember(self, written: Written, *, forced: bool) -> None:
        head, known = written.head, written.anchor
        anchor = Anchor(
            record=head.record,
            seq=head.seq,
            link=head.link,
            on_disk_seq=head.seq if forced else known.on_disk_seq,
            on_disk_link=head.link if forced else known.on_disk_link,
            boot=head.boot,
        )
        said = self._turnstile.write(spelled(self.key, anchor))
        self._last = _Ends(head, anchor, (written.mac, said))

    def _roll_back(self) -> None:
        try:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
        except Error:
            # The connection cannot be trusted any more; the next call opens another one.
            self.connection.close()
            self._log.close()
            self.connection = open_to_write(self.directory)


def _aside(directory: str) -> str:
    return f"to begin anew and keep the traces: mv {directory} {directory}.broken"
