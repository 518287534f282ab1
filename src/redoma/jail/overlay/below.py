"""A tree that is entered by descriptors only: no link is followed, no mount is crossed."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager

from redoma.jail.kernel.openat2 import open_beneath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

# The kernel takes no longer path in one call; a deeper one is walked in pieces.
_LONGEST = 3000
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR})


class Beneath:
    """What lies below one directory, by paths relative to it.

    The last directory entered is kept open, since neighbours follow each other.
    """

    def __init__(self, directory: str) -> None:
        self.root = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
        self._entered = ""
        self._fd = -1

    def close(self) -> None:
        self._leave()
        if self.root >= 0:
            os.close(self.root)
            self.root = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _leave(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def parent(self, path: str) -> tuple[int, str]:
        """The directory that `path` lies in, as an open descriptor, and the last part of it."""
        directory, _, name = path.rpartition("/")
        if name in ("", ".", ".."):
            raise OSError(errno.EINVAL, "this names no entry of a directory", path)
        if not directory:
            return self.root, name
        if directory != self._entered or self._fd < 0:
            self._leave()
            self._fd = self._open(directory, os.O_PATH | os.O_DIRECTORY)
            self._entered = directory
        return self._fd, name

    def named(self, path: str) -> str:
        """A name by which the C library reaches `path`; its last part must not be followed."""
        if path == ".":
            return f"/proc/self/fd/{self.root}/."
        directory, name = self.parent(path)
        return f"/proc/self/fd/{directory}/{name}"

    def status(self, path: str) -> os.stat_result | None:
        """What stands at `path`, or None; a link on the way there is an error."""
        if path == ".":
            return os.fstat(self.root)
        try:
            directory, name = self.parent(path)
            return os.stat(name, dir_fd=directory, follow_symlinks=False)
        except OSError as error:
            if error.errno in _ABSENT:
                return None
            raise

    def names(self, path: str) -> list[str]:
        """What a directory holds."""
        with self.opened(path, os.O_RDONLY | os.O_DIRECTORY) as fd:
            return os.listdir(fd)

    @contextmanager
    def opened(self, path: str, flags: int) -> Iterator[int]:
        """A descriptor of `path` for as long as the block lasts."""
        fd = self._open(path, flags)
        try:
            yield fd
        finally:
            os.close(fd)

    def below(
        self, path: str, *, skip_closed: bool = False
    ) -> Iterator[tuple[str, os.stat_result]]:
        """Everything below a directory, parents first; the directory itself is not told.

        A directory that we may not list is an error, or passed over.
        """
        pending = [path]
        while pending:
            directory = pending.pop()
            try:
                names = sorted(self.names(directory))
            except PermissionError:
                if not skip_closed:
                    raise
                continue
            for name in names:
                inner = name if directory == "." else f"{directory}/{name}"
                status = self.status(inner)
                if status is None:
                    continue  # gone since it was listed
                yield inner, status
                if status.st_mode & 0o170000 == 0o040000:
                    pending.append(inner)

    def _open(self, path: str, flags: int) -> int:
        fd, here = self.root, path
        while True:
            piece, here = _first_piece(here)
            wanted = flags if not here else os.O_PATH | os.O_DIRECTORY
            try:
                inner = open_beneath(fd, piece, wanted | os.O_NOFOLLOW)
            finally:
                if fd != self.root:
                    os.close(fd)
            if not here:
                return inner
            fd = inner


def _first_piece(path: str) -> tuple[str, str]:
    if len(path) <= _LONGEST // 3 or len(os.fsencode(path)) <= _LONGEST:
        return path, ""
    cut = path.rfind("/", 0, _LONGEST // 3)
    if cut <= 0:
        cut = path.find("/", _LONGEST // 3)
    return (path[:cut], path[cut + 1 :]) if cut > 0 else (path, "")
