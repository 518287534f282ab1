"""The head file: the one door through which writers go, one at a time, and a memory of the end.

Attack: the database is put back to an older state as a whole, by cutting its log: rows and head
are older together, and nothing inside contradicts. So the end is also kept beside it. What was
written but not yet forced to disk counts only within the same boot, because a power cut may take
it back.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time

from redoma.audit.chain import GENESIS, anchor_mac
from redoma.audit.database import HEAD, force_names
from redoma.model.errors import RecordUnavailable
from redoma.model.message import Message
from redoma.model.value import Value

PATIENCE = 30.0
_SIZE = 512
_open_descriptors: set[int] = set()


def _forget_in_child() -> None:
    # Attack on ourselves: a child that keeps the descriptor keeps its parent's lock, even when the
    # parent has died.
    for descriptor in _open_descriptors:
        os.close(descriptor)
    _open_descriptors.clear()


os.register_at_fork(after_in_child=_forget_in_child)


class Anchor(Value):
    """The end of the chain as the head file remembers it."""

    record: str
    seq: int = 0
    link: bytes = GENESIS
    on_disk_seq: int = 0
    on_disk_link: bytes = GENESIS
    boot: str = ""

    def demands(self, boot: str) -> tuple[int, bytes]:
        """How far the audit log must reach at least, and the link there."""
        if boot == self.boot:
            return self.seq, self.link
        return self.on_disk_seq, self.on_disk_link


class HeadLock:
    """An open head file."""

    def __init__(self, directory: str) -> None:
        self.path = os.path.join(directory, HEAD)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._descriptor = os.open(self.path, flags, 0o600)
        except OSError as error:
            raise RecordUnavailable(
                "the audit log cannot be written: {path}: {why}",
                path=self.path,
                why=error.strerror,
                hint=Message(
                    "make {directory} writable; nothing runs without a record", directory=directory
                ),
            ) from error
        _open_descriptors.add(self._descriptor)

    def enter(self) -> None:
        """Waits for the turn of this process, and not forever."""
        pause, until = 0.00005, 0.0
        while not self.enter_if_free():
            now = time.monotonic()
            until = until or now + PATIENCE
            if now > until:
                raise RecordUnavailable(
                    "another process has kept the audit log for {seconds} s",
                    seconds=f"{PATIENCE:.0f}",
                    hint=Message("see who: fuser -v {path}", path=self.path),
                )
            # Uneven pauses: nobody can keep in step with somebody else's and always come too late.
            time.sleep(pause * (1 + os.urandom(1)[0] / 256))
            pause = min(pause * 1.5, 0.0005)

    def enter_if_free(self) -> bool:
        """Goes in where nobody is."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EINTR):
                return False
            raise RecordUnavailable(
                "{path} cannot be locked: {why}", path=self.path, why=error.strerror
            ) from error
        return True

    def leave(self) -> None:
        """Lets the next one in."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def read(self) -> bytes:
        """What the file says."""
        return os.pread(self._descriptor, _SIZE, 0)

    def write(self, content: bytes) -> bytes:
        """Remembers an end; in place, so that a reader finds the old one or the new one.

        Returns what the file says from here on.
        """
        padded = content.ljust(_SIZE - 1) + b"\n"
        try:
            os.pwrite(self._descriptor, padded, 0)
        except OSError as error:
            raise RecordUnavailable(
                "{path} cannot be written: {why}", path=self.path, why=error.strerror
            ) from error
        return padded

    def settle(self) -> None:
        """Forces the file and its name to disk, once, when the audit log begins."""
        os.fsync(self._descriptor)
        force_names(os.path.dirname(self.path))

    def close(self) -> None:
        """Closes the file, unless it is a parent's."""
        if self._descriptor in _open_descriptors:
            _open_descriptors.discard(self._descriptor)
            os.close(self._descriptor)


def spelled(key: bytes, anchor: Anchor) -> bytes:
    """An anchor as the file keeps it."""
    content = (
        f"1 {anchor.record} {anchor.seq} {anchor.link.hex()} {anchor.on_disk_seq} "
        f"{anchor.on_disk_link.hex()} {anchor.boot}"
    ).encode()
    return content + b" " + anchor_mac(key, content).hex().encode()


def parsed(key: bytes, content: bytes) -> Anchor | None:
    """The anchor in a file's content; None where it was not written with this key."""
    said, _, mac = content.strip().rpartition(b" ")
    if anchor_mac(key, said).hex().encode() != mac:
        return None
    _, record, seq, link, on_disk_seq, on_disk_link, boot = said.decode().split(" ")
    return Anchor(
        record=record,
        seq=int(seq),
        link=bytes.fromhex(link),
        on_disk_seq=int(on_disk_seq),
        on_disk_link=bytes.fromhex(on_disk_link),
        boot=boot,
    )
