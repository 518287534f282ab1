"""Removes a tree that a command filled: however deep, whatever its modes, never through a link."""

from __future__ import annotations

import os
from itertools import count

from redoma.model.ids import short_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(path: str) -> None:
    """Removes a directory and everything in it; what is not there is no error.

    Attack: thousands of directories in each other end a recursion, or the descriptors; and what
    lies in a directory without its owner's rights cannot be removed. So each directory that is met
    is opened to its owner, moved up to the top, and emptied there.
    """
    try:
        top = os.open(path, _DIRECTORY)
    except FileNotFoundError:
        return
    prefix = short_id()
    names = (f"{prefix}-{number}" for number in count())
    try:
        os.fchmod(top, 0o700)
        pending = _emptied(top, top, names)
        while pending:
            name = pending.pop()
            fd = os.open(name, _DIRECTORY, dir_fd=top)
            try:
                pending += _emptied(fd, top, names)
            finally:
                os.close(fd)
            os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(path)


def _emptied(fd: int, top: int, names: Iterator[str]) -> list[str]:
    """The new names, at the top, of the directories that lay in this one; the rest is gone."""
    moved = []
    with os.scandir(fd) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                name = next(names)
                os.chmod(entry.name, 0o700, dir_fd=fd)
                os.rename(entry.name, name, src_dir_fd=fd, dst_dir_fd=top)
                moved.append(name)
            else:
                os.unlink(entry.name, dir_fd=fd)
    return moved
