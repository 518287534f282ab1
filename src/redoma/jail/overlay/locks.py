"""One process at a time moves things in a workspace; the next one finds out whether it finished.

Each directory has a lock of its own, by its device and number. Who works in a workspace holds its
lock alone, and those of the directories above it together with others: so two workspaces of which
one lies in the other take turns, and no others wait for each other.

What is being worked on is noted in one file for all of them, which is empty nearly always: one look
at its size says whether a process died in the middle of an apply or an undo. Whoever finds that
brings its work to an end first.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress

from redoma.base import own_directories
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.jail.overlay.transaction_store import StoredTransaction

_SLOT = 256  # bytes of one note
_FLAGS = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
_MOST_ABOVE = 64
_COLLECTING = "collecting"
_TRIES = 600
_PAUSE = 0.05


class UnfinishedWork(Value):
    """What a process is at work on: written down before it begins."""

    name: str
    number: int  # of the apply that is done or taken back
    undoing: bool
    start: int  # by the clock that change times are taken from
    root_mtime: int  # of the workspace, in which a directory of ours may come and go


class WorkspaceLock:
    """The lock of a workspace, which this process holds."""

    def __init__(self, fds: list[int]) -> None:
        self._fds = fds

    def begin(self, work: UnfinishedWork) -> None:
        """From here on, this is unfinished."""
        verb = "undoing" if work.undoing else "applying"
        text = f"{work.name} {work.number} {verb} {work.start} {work.root_mtime} ."
        with _notes() as fd:
            names = [note.name if note else "" for note in _read_notes(fd)]
            place = next((at for at, name in enumerate(names) if name in ("", work.name)), -1)
            at = place if place >= 0 else len(names)
            os.pwrite(fd, text.encode("ascii").ljust(_SLOT), at * _SLOT)
            os.fsync(fd)

    def end(self, work: UnfinishedWork) -> None:
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
        notes = _read_notes(fd)
        for at, note in enumerate(notes):
            if note is not None and note.name == name:
                os.pwrite(fd, b" " * _SLOT, at * _SLOT)
                notes[at] = None
        while notes and notes[-1] is None:
            notes.pop()
        os.ftruncate(fd, len(notes) * _SLOT)


def unfinished() -> list[UnfinishedWork]:
    """What processes are at work on, and what they left when they died."""
    if not anything_unfinished():
        return []
    with suppress(FileNotFoundError):
        fd = os.open(_path(), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            return [note for note in _read_notes(fd) if note is not None]
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
    return f"{own_directories.state()}/changes.lock"


@contextmanager
def _notes() -> Iterator[int]:
    """The file of notes, for as long as one of them is written."""
    fd = os.open(_path(), _FLAGS, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield fd
    finally:
        os.close(fd)


def _read_notes(fd: int) -> list[UnfinishedWork | None]:
    content = os.pread(fd, os.fstat(fd).st_size, 0)
    return [_note(content[at : at + _SLOT]) for at in range(0, len(content), _SLOT)]


def _note(slot: bytes) -> UnfinishedWork | None:
    parts = slot.decode("ascii", "replace").rstrip(" ").split(" ")
    if len(parts) != len(UnfinishedWork._fields) + 1:  # and an end, so that it is whole
        return None
    name, number, undoing, start, mtime, _ = parts
    try:
        return UnfinishedWork(
            name=name,
            number=int(number),
            undoing=undoing == "undoing",
            start=int(start),
            root_mtime=int(mtime),
        )
    except ValueError:
        return None


@contextmanager
def locked(
    workspace: str, root: tuple[int, int], *, wait: bool = True
) -> Iterator[WorkspaceLock | None]:
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
        yield WorkspaceLock(fds)
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
    path = f"{own_directories.made_state()}/locks"
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


def recover() -> tuple[str, ...]:
    """Brings to an end what killed processes left, in every workspace; the transactions' names.

    What another living process is at work on is left alone.
    """
    if not anything_unfinished():
        return ()
    return tuple(work.name for work in unfinished() if _recovered(work))


def in_progress() -> frozenset[str]:
    """The transactions that a living process is in the middle of, once the others are recovered."""
    return frozenset(work.name for work in unfinished()) if anything_unfinished() else frozenset()


@contextmanager
def settled(entry: StoredTransaction) -> Iterator[WorkspaceLock]:
    """Holds the lock of a transaction's workspace, in and around which nothing is half-way."""
    import time

    from redoma.model.errors import ChangeError

    for _ in range(_TRIES):
        recover()
        with locked(entry.shown.workspace, entry.root) as lock:
            assert lock is not None
            if not _half_way(entry):
                yield lock
                return
        time.sleep(_PAUSE)
    raise ChangeError(
        "another process is at work in {workspace}",
        workspace=entry.shown.workspace,
        hint="redoma history",
    )


def _half_way(entry: StoredTransaction) -> bool:
    """Whether someone died in this workspace, or in one that overlaps it, since we looked."""
    from redoma.jail.overlay import transaction_store
    from redoma.model.errors import PreviewGone

    for work in unfinished():
        try:
            other = transaction_store.read_entry(work.name)
        except PreviewGone:
            continue
        if transaction_store.overlap(entry, other):
            return True
    return False


def _recovered(work: UnfinishedWork) -> bool:
    from redoma.jail.overlay import transaction_store
    from redoma.model.change import Standing
    from redoma.model.errors import RedomaError

    try:
        entry = transaction_store.read_entry(work.name)
    except RedomaError:
        forget(work.name)  # nothing is known of it, so nothing was begun
        return False
    with locked(entry.shown.workspace, entry.root, wait=False) as lock:
        if lock is None or work not in unfinished():
            return False
        entry = transaction_store.read_entry(work.name)
        try:
            entry = _ended(entry, work)
        except (OSError, RedomaError) as error:
            # Nothing is thrown away; a person has to look.
            entry = entry.standing(Standing.INTERRUPTED, why=str(error))
        transaction_store.write_entry(entry, durably=True)
        lock.end(work)
    if entry.shown.standing is Standing.FINAL:
        from redoma.jail.overlay.undo import remove_stored_overlay

        remove_stored_overlay(work.name)
    return True


def _ended(entry: StoredTransaction, work: UnfinishedWork) -> StoredTransaction:
    import time

    from redoma.jail.overlay import transaction_store
    from redoma.jail.overlay.journal import JournalFiles, Phase
    from redoma.jail.overlay.journal_run import bring_to_an_end
    from redoma.jail.overlay.site import Site
    from redoma.model.change import Standing
    from redoma.model.value import replace

    book = JournalFiles(transaction_store.directory(work.name))
    overlay = transaction_store.overlay_of(work.name, entry)
    with Site(entry.shown.workspace, entry.root, overlay.directory) as site:
        bring_to_an_end(site, book, work)
        # Nobody knows when it died: what it moved, it moved since it began.
        window = site.window(work.start, copied=site.copies)
    phases = [book.phase(number) for number in book.numbers()]
    standing = Standing.UNDONE if phases else Standing.HELD
    if Phase.APPLIED in phases:
        keeps = all(book.read(number).undoable for number in book.numbers())
        standing = Standing.APPLIED if keeps else Standing.FINAL
    entry = transaction_store.with_size(entry.worked(window).standing(standing), book)
    if book.phase(work.number) is (Phase.UNDONE if work.undoing else Phase.APPLIED):
        entry = replace(entry, active=time.time())  # it was done: the last of this workspace
    return entry
