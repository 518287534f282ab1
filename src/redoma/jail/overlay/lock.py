"""One process at a time moves things; the next one finds out whether the last one finished."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager

from redoma.jail import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST_NAME = 64


class Held:
    """The lock, held by this process; the file says whose transaction is being worked on."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def unfinished(self) -> str:
        """The transaction that a process was at work on when it died; empty where none was."""
        return os.pread(self._fd, _LONGEST_NAME, 0).decode("ascii", "replace").strip()

    def begin(self, name: str) -> None:
        """From here on, this transaction is unfinished."""
        os.pwrite(self._fd, name.encode("ascii"), 0)
        os.fsync(self._fd)

    def end(self) -> None:
        """Nothing is unfinished any more."""
        os.ftruncate(self._fd, 0)


def _path() -> str:
    return f"{places.state()}/changes.lock"


def anything_unfinished() -> bool:
    """Whether a look is worth it: two calls to the kernel where nothing was ever left."""
    try:
        return os.stat(_path()).st_size > 0
    except FileNotFoundError:
        return False


@contextmanager
def locked(*, wait: bool = True) -> Iterator[Held | None]:
    """Holds the lock; None where another living process has it and we do not wait.

    The kernel lets go of it when its holder dies, however it dies.
    """
    fd = os.open(_path(), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield None
            return
        yield Held(fd)
    finally:
        os.close(fd)
