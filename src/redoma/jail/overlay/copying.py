"""Copies a workspace where no layer can be had: everything a file is, within a size."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from redoma.jail.overlay.failure import at, told
from redoma.jail.overlay.tree import Tree
from redoma.model.errors import EngineFailed

MOST_BYTES = 2 << 30
MOST_FILES = 200_000
_FICLONE = 0x40049409
_HINT = "write directly (redoma run), or choose a smaller --workspace DIR"


class _Copy:
    """One copy in the making."""

    def __init__(self, source: Tree, target: str, aside: frozenset[str]) -> None:
        self._source = source
        self._target = target
        self._aside = aside
        self._files = self._bytes = 0
        self._names: dict[tuple[int, int], str] = {}
        # Set at the end: what is made in a directory changes its time, and may not be allowed.
        self._directories: list[tuple[str, os.stat_result]] = []

    def run(self) -> None:
        pending = [""]
        while pending:
            path = pending.pop()
            for name in self._source.names(path):
                entry = f"{path}/{name}" if path else name
                status = self._source.status(entry)
                if status is None:
                    continue  # someone else removed it meanwhile
                self._count(status)
                with at(entry, "copied to the other side"):
                    if self._one(entry, status):
                        pending.append(entry)
        for path, status in reversed(self._directories):
            with at(path, "copied to the other side"):
                self._attributes(path, status)

    def _count(self, status: os.stat_result) -> None:
        self._files += 1
        self._bytes += min(status.st_size, status.st_blocks * 512)
        if self._files > MOST_FILES or self._bytes > MOST_BYTES:
            raise EngineFailed(
                f"the workspace has more than {MOST_FILES} files or {MOST_BYTES >> 30} GiB,"
                " too much to copy, and no layer can be had for it here",
                hint=_HINT,
            )

    def _one(self, path: str, status: os.stat_result) -> bool:
        """Copies one entry; True for a directory, whose entries are still to come."""
        place, kind = f"{self._target}/{path}", stat.S_IFMT(status.st_mode)
        if path in self._aside:
            # Something is mounted there, and will be inside: only its place is made.
            os.mkdir(place) if kind == stat.S_IFDIR else os.mknod(place, stat.S_IFREG | 0o600)
            return False
        if kind == stat.S_IFDIR:
            os.mkdir(place, 0o700)
            self._directories.append((path, status))
            return True
        key = (status.st_dev, status.st_ino)
        if status.st_nlink > 1 and key in self._names:
            os.link(self._names[key], place, follow_symlinks=False)
            return False
        if kind == stat.S_IFREG:
            self._contents(path, place)
        elif kind == stat.S_IFLNK:
            os.symlink(self._source.target(path), place)
        elif kind in (stat.S_IFIFO, stat.S_IFSOCK):
            os.mknod(place, status.st_mode)
        else:
            return False  # a device: nothing that a command may use inside
        self._names[key] = place
        self._attributes(path, status)
        return False

    def _contents(self, path: str, place: str) -> None:
        source = self._source.opened(path)
        try:
            target = os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            try:
                copy_contents(source, target)
            finally:
                os.close(target)
        finally:
            os.close(source)

    def _attributes(self, path: str, status: os.stat_result) -> None:
        place = f"{self._target}/{path}"
        if os.geteuid() == 0:
            os.chown(place, status.st_uid, status.st_gid, follow_symlinks=False)
        elif status.st_gid != os.getegid():
            with suppress(PermissionError):
                os.chown(place, -1, status.st_gid, follow_symlinks=False)
        for name, value in self._source.state(path, status).xattrs:
            with suppress(OSError):
                os.setxattr(place, name, value, follow_symlinks=False)
        if not stat.S_ISLNK(status.st_mode):
            os.chmod(place, stat.S_IMODE(status.st_mode))
        times = (status.st_atime_ns, status.st_mtime_ns)
        os.utime(place, ns=times, follow_symlinks=False)


def copy_tree(source: str, target: str, aside: frozenset[str] = frozenset()) -> None:
    """Everything below `source` into the empty directory `target`; EngineFailed where it cannot.

    Of `aside`, where something is mounted, only the place itself.
    """
    try:
        with Tree(source) as tree:
            _Copy(tree, target, aside).run()
    except OSError as error:
        raise EngineFailed(f"the workspace cannot be copied: {told(error)}", hint=_HINT) from error


def copy_contents(source: int, target: int) -> None:
    """The bytes of one file into another: shared where the file system can, its holes kept."""
    from fcntl import ioctl

    with suppress(OSError):
        ioctl(target, _FICLONE, source)
        return
    size = os.fstat(source).st_size
    os.ftruncate(target, size)
    at = 0
    while at < size:
        try:
            at = os.lseek(source, at, os.SEEK_DATA)
            end = os.lseek(source, at, os.SEEK_HOLE)
        except OSError:
            return  # nothing but a hole up to the end
        os.lseek(target, at, os.SEEK_SET)
        while at < end:
            sent = os.sendfile(target, source, at, end - at)
            if not sent:
                return
            at += sent
