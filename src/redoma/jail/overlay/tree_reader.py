"""Reads a tree through descriptors, its names, states and contents: no link is followed on the way.

No reading leaves a mark, and none goes past its budget; holes are skipped.

Attack: another process swaps a directory of the workspace for a link to somewhere else while we
look; a command makes thousands of directories in each other, whose path no call takes.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from redoma.base.cores import blake2b
from redoma.jail.overlay.beneath import own_attributes
from redoma.jail.protect.untrusted_paths import open_unmarked
from redoma.model.change import FileKind, FileState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe would wait for its other end, a terminal would become ours.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MOST_OPEN = 64
_READ_PIECE = 1 << 20
_KINDS = {
    stat.S_IFREG: FileKind.FILE,
    stat.S_IFDIR: FileKind.DIRECTORY,
    stat.S_IFLNK: FileKind.SYMLINK,
    stat.S_IFIFO: FileKind.FIFO,
    stat.S_IFSOCK: FileKind.SOCKET,
}


class Tree:
    """A directory and what lies below it; paths are relative, "" is the directory itself."""

    def __init__(self, root: str, *, in_overlay: bool = False, ours: bool = False) -> None:
        """`ours` says that nobody else can reach the tree, so that what is closed may be opened."""
        self.root = root
        self._in_overlay = in_overlay
        self._ours = ours
        # Directories that were closed to their owner, with the modes that they get back.
        self._opened_up: dict[str, int] = {}
        self._root = self._entered("", root, None)
        self._open: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close_again()
        for fd in (self._root, *self._open.values()):
            os.close(fd)
        self._open.clear()

    def _close_again(self) -> None:
        for path, mode in reversed(self._opened_up.items()):
            parent, _, name = path.rpartition("/")
            with suppress(FileNotFoundError, NotADirectoryError):
                _set_mode(name or ".", self.folder(parent) if name else self._root, mode)
        self._opened_up.clear()

    def folder(self, path: str) -> int:
        """A descriptor of a directory, good until the next call."""
        if not path:
            return self._root
        fd = self._open.pop(path, -1)
        if fd >= 0:
            self._open[path] = fd  # the last in the row: the first is closed next
            return fd
        above = ""
        for known in self._open:
            if len(known) > len(above) and path[len(known) :][:1] == "/" and path.startswith(known):
                above = known
        fd = self._open[above] if above else self._root
        for part in path[len(above) :].lstrip("/").split("/"):
            above = f"{above}/{part}" if above else part
            fd = self._open[above] = self._entered(above, part, fd)
            # Those on the way are kept too: on the way back from the depth they come next.
            if len(self._open) > _MOST_OPEN:
                os.close(self._open.pop(next(iter(self._open))))
        return fd

    def _entered(self, path: str, name: str, parent: int | None) -> int:
        """Attack: a command closes a directory to its owner, so that nobody sees what is in it.

        One in the workspace that its owner closed is opened to them for as long as it is read.
        """
        wanted = 0o700 if self._ours else 0o500 if os.geteuid() != 0 else 0
        if wanted and path not in self._opened_up:
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            mode = stat.S_IMODE(status.st_mode)
            may = self._ours or status.st_uid == os.geteuid()
            if stat.S_ISDIR(status.st_mode) and mode & wanted != wanted and may:
                self._opened_up[path] = mode
                _set_mode(name, parent, mode | wanted)
        return open_unmarked(name, _DIRECTORY, dir_fd=parent)

    def status(self, path: str) -> os.stat_result | None:
        """What a path is, or None where there is nothing."""
        if not path:
            return os.fstat(self._root)
        parent, _, name = path.rpartition("/")
        try:
            return os.stat(name, dir_fd=self.folder(parent), follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:  # a directory on the way is a link by now
                return None
            raise

    def names(self, path: str) -> list[str]:
        """The entries of a directory."""
        return os.listdir(self.folder(path))

    def place(self, path: str) -> str:
        """A path that calls take which know no descriptors; good until the next call."""
        parent, _, name = path.rpartition("/")
        return f"/proc/self/fd/{self.folder(parent)}/{name or '.'}"

    def target(self, path: str) -> str:
        """What a symbolic link says."""
        parent, _, name = path.rpartition("/")
        return os.readlink(name, dir_fd=self.folder(parent))

    def opened(self, path: str) -> int:
        """A descriptor to read a file by, which the caller closes; its access time stays."""
        parent, _, name = path.rpartition("/")
        folder = self.folder(parent)
        try:
            return open_unmarked(name, _FILE, dir_fd=folder)
        except PermissionError:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if not self._ours or not stat.S_ISREG(status.st_mode):
                raise
            os.chmod(name, 0o600, dir_fd=folder)
            try:
                return open_unmarked(name, _FILE, dir_fd=folder)
            finally:
                os.chmod(name, stat.S_IMODE(status.st_mode), dir_fd=folder)

    def revoke(self, path: str) -> None:
        """Clears the set-id bits and the capabilities of a file, as the kernel does at a write."""
        parent, _, name = path.rpartition("/")
        fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.folder(parent))
        try:
            here = f"/proc/self/fd/{fd}"
            os.chmod(here, stat.S_IMODE(os.fstat(fd).st_mode) & 0o1777)
            with suppress(OSError):
                os.removexattr(here, "security.capability")
        finally:
            os.close(fd)

    def state(self, path: str, status: os.stat_result) -> FileState:
        """A path as it stands."""
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), FileKind.DEVICE)
        return FileState(
            kind=kind,
            mode=self._opened_up.get(path, stat.S_IMODE(status.st_mode)),
            uid=status.st_uid,
            gid=status.st_gid,
            size=status.st_size,
            mtime_ns=status.st_mtime_ns,
            ctime_ns=status.st_ctime_ns,
            inode=status.st_ino,
            device=status.st_dev,
            links=status.st_nlink,
            target=self.target(path) if kind is FileKind.SYMLINK else "",
            xattrs=own_attributes(self.place(path), in_overlay=self._in_overlay),
        )


def _set_mode(name: str, parent: int | None, mode: int) -> None:
    """Attack: a link takes the place of the directory at this moment; so it is not followed."""
    fd = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{fd}", mode)
    finally:
        os.close(fd)


class ReadBudgetSpent(Exception):
    """More would have to be read than one look may."""


class ReadBudget:
    """How much may still be read."""

    def __init__(self, most: int) -> None:
        self.left = most

    def spend(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise ReadBudgetSpent


def same_content(one: int, other: int, budget: ReadBudget) -> bool:
    """Whether two files of one size have one content."""
    at = 0
    size = os.fstat(one).st_size
    if not (_regular(one) and _regular(other)) or os.fstat(other).st_size != size:
        return False
    while at < size:
        at = min(_next_data(one, at, size), _next_data(other, at, size))
        mine, theirs = os.pread(one, _READ_PIECE, at), os.pread(other, _READ_PIECE, at)
        if mine != theirs:
            return False
        if not mine:
            break  # it became shorter while it was read
        budget.spend(len(mine) + len(theirs))
        at += len(mine)
    return True


def content_digest(fd: int, budget: ReadBudget) -> bytes:
    """A name for a file's content: the same for the same bytes, however they are stored."""
    size = os.fstat(fd).st_size
    if not _regular(fd):
        raise OSError("not a regular file")
    made = blake2b(digest_size=20)
    at = 0
    while at < size:
        at = (
            _next_data(fd, at, size) // _READ_PIECE * _READ_PIECE
        )  # where pieces begin is for all the same
        piece = os.pread(fd, _READ_PIECE, at)
        if not piece:
            break
        budget.spend(len(piece))
        if piece.strip(b"\0"):  # written zeros are what a hole is
            made.update(at.to_bytes(8, "little") + piece)
        at += len(piece)
    return made.digest()


def _regular(fd: int) -> bool:
    return stat.S_ISREG(os.fstat(fd).st_mode)


def _next_data(fd: int, at: int, size: int) -> int:
    """Where something other than a hole begins, from `at` on."""
    if size <= _READ_PIECE:
        return at  # asking would cost more than reading
    try:
        return os.lseek(fd, at, os.SEEK_DATA)
    except OSError:
        return size if _holes_are_known(fd) else at


def _holes_are_known(fd: int) -> bool:
    try:
        os.lseek(fd, 0, os.SEEK_HOLE)
    except OSError:
        return False
    return True
