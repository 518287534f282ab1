"""One process at a time moves things; the next one finds out whether the last one finished."""

from __future__ import annotations

import fcntl
import os

from redoma.jail import places
from redoma.model.blocks import contextmanager
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST = 256


class Unfinished(Value):
    """What a process is at work on: written down before it begins."""

    name: str
    number: int  # of the apply that is done or taken back
    undoing: bool
    start: int  # by the clock that change times are taken from
    root_mtime: int  # of the workspace, in which a directory of ours may come and go


class Held:
    """The lock, held by this process; the file says what is being worked on."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def unfinished(self) -> Unfinished | None:
        """What a process was at work on when it died."""
        parts = os.pread(self._fd, _LONGEST, 0).decode("ascii", "replace").split(" ")
        if len(parts) != len(Unfinished._fields) + 1:  # and an end, so that it is whole
            return None
        name, number, undoing, start, mtime, _ = parts
        return Unfinished(
            name=name,
            number=int(number),
            undoing=undoing == "undoing",
            start=int(start),
            root_mtime=int(mtime),
        )

    def begin(self, work: Unfinished) -> None:
        """From here on, this is unfinished."""
        verb = "undoing" if work.undoing else "applying"
        text = f"{work.name} {work.number} {verb} {work.start} {work.root_mtime} ."
        os.pwrite(self._fd, text.encode("ascii"), 0)
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
