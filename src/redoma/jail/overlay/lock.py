"""One process at a time moves things in a workspace; the next one finds out whether it finished.

Each directory has a lock of its own, by its device and number. Who works in a workspace holds its
lock alone, and those of the directories above it together with others: so two workspaces of which
one lies in the other take turns, and no others wait for each other.

What is being worked on is noted in one file for all of them, which is empty nearly always: one look
at its size says whether a process died in the middle.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress

from redoma.jail import places
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SLOT = 256  # bytes of one note
_FLAGS = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
_MOST_ABOVE = 64
_COLLECTING = "collecting"


class Unfinished(Value):
    """What a process is at work on: written down before it begins."""

    name: str
    number: int  # of the apply that is done or taken back
    undoing: bool
    start: int  # by the clock that change times are taken from
    root_mtime: int  # of the workspace, in which a directory of ours may come and go


class Held:
    """The lock of a workspace, held by this process."""

    def __init__(self, fds: list[int]) -> None:
        self._fds = fds

    def begin(self, work: Unfinished) -> None:
        """From here on, this is unfinished."""
        verb = "undoing" if work.undoing else "applying"
        text = f"{work.name} {work.number} {verb} {work.start} {work.root_mtime} ."
        with _notes() as fd:
            names = [note.name if note else "" for note in _read(fd)]
            place = next((at for at, name in enumerate(names) if name in ("", work.name)), -1)
            at = place if place >= 0 else len(names)
            os.pwrite(fd, text.encode("ascii").ljust(_SLOT), at * _SLOT)
            os.fsync(fd)

    def end(self, work: Unfinished) -> None:
        """That is not unfinished any more; and things have moved here until now."""
        for fd in self._fds:
            os.utime(fd)
        forget(work.name)

    def moved_since(self, moment: int) -> bool:
        """Whether anyone may have moved something here, below or above since then.

        Those who share a lock set its time one after the other, a little out of order at times.
        """
        return any(os.fstat(fd).st_mtime_ns + 20_000_000 >= moment for fd in self._fds)


def forget(name: str) -> None:
    """What was noted under this name is unfinished no more."""
    with _notes() as fd:
        notes = _read(fd)
        for at, note in enumerate(notes):
            if note is not None and note.name == name:
                os.pwrite(fd, b" " * _SLOT, at * _SLOT)
                notes[at] = None
        while notes and notes[-1] is None:
            notes.pop()
        os.ftruncate(fd, len(notes) * _SLOT)


def unfinished() -> list[Unfinished]:
    """What processes are at work on, and what they left when they died."""
    if not anything_unfinished():
        return []
    with suppress(FileNotFoundError):
        fd = os.open(_path(), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            return [note for note in _read(fd) if note is not None]
        finally:
            os.close(fd)
    return []


def anything_unfinished() -> bool:
    """Whether a look is worth it: two calls to the kernel where nothing was ever left."""
    try:
        return os.stat(_path()).st_size > 0
    except FileNotFoundError:
        return False


def _path() -> str:
    return f"{places.state()}/changes.lock"


@contextmanager
def _notes() -> Iterator[int]:
    """The file of notes, for as long as one of them is written."""
    fd = os.open(_path(), _FLAGS, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield fd
    finally:
        os.close(fd)


def _read(fd: int) -> list[Unfinished | None]:
    content = os.pread(fd, os.fstat(fd).st_size, 0)
    return [_note(content[at : at + _SLOT]) for at in range(0, len(content), _SLOT)]


def _note(slot: bytes) -> Unfinished | None:
    parts = slot.decode("ascii", "replace").rstrip(" ").split(" ")
    if len(parts) != len(Unfinished._fields) + 1:  # and an end, so that it is whole
        return None
    name, number, undoing, start, mtime, _ = parts
    try:
        return Unfinished(
            name=name,
            number=int(number),
            undoing=undoing == "undoing",
            start=int(start),
            root_mtime=int(mtime),
        )
    except ValueError:
        return None


@contextmanager
def locked(workspace: str, root: tuple[int, int], *, wait: bool = True) -> Iterator[Held | None]:
    """Holds the lock of a workspace; None where a living process has it and we do not wait.

    `root` is its device and number. The kernel lets go of it when its holder dies, however it dies.
    """
    fds: list[int] = []
    try:
        for key in _above(workspace):
            fds.append(_taken(key, fcntl.LOCK_SH, wait=wait))
        fds.append(_taken(_key(*root), fcntl.LOCK_EX, wait=wait))
    except BlockingIOError:
        _close(fds)
        yield None
        return
    except BaseException:
        _close(fds)
        raise
    try:
        yield Held(fds)
    finally:
        _close(fds)


@contextmanager
def collecting(*, wait: bool = True) -> Iterator[bool]:
    """Keeps others from making room at the same time; False where we do not wait for one."""
    try:
        fd = _taken(_COLLECTING, fcntl.LOCK_EX, wait=wait)
    except BlockingIOError:
        yield False
        return
    try:
        yield True
    finally:
        os.close(fd)


def remove_old(before: float) -> None:
    """Removes the locks that nobody took since then."""
    for key in os.listdir(_locks()):
        path = f"{_locks()}/{key}"
        with suppress(OSError):
            if key != _COLLECTING and os.stat(path).st_mtime < before:
                fd = _taken(key, fcntl.LOCK_EX, wait=False)
                try:
                    os.unlink(path)
                finally:
                    os.close(fd)


def _close(fds: list[int]) -> None:
    # The lock itself goes first, and then those that are shared.
    while fds:
        os.close(fds.pop())


def _above(workspace: str) -> list[str]:
    """The locks of the directories above, the outermost first: everyone takes them in one order."""
    keys: list[str] = []
    place = workspace
    while place != "/" and len(keys) < _MOST_ABOVE:
        place = os.path.dirname(place)
        with suppress(OSError):  # a workspace that is gone has what is left of the way to it
            status = os.stat(place)
            keys.append(_key(status.st_dev, status.st_ino))
    return keys[::-1]


def _key(device: int, number: int) -> str:
    return f"{device:x}-{number:x}"


def _locks() -> str:
    path = f"{places.made_state()}/locks"
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    return path


def _taken(key: str, how: int, *, wait: bool) -> int:
    """A descriptor that holds a lock."""
    path = f"{_locks()}/{key}"
    while True:
        fd = os.open(path, _FLAGS, 0o600)
        try:
            fcntl.flock(fd, how | (0 if wait else fcntl.LOCK_NB))
            # Somebody may have removed it as old while we waited for it.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(fd), os.stat(path)):
                    return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
