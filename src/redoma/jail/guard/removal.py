"""Removes directories that a command made, whatever it made of them."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from itertools import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def remove(path: str) -> None:
    """Nothing is at `path` afterwards, or an OSError says why.

    Attack: a directory in a directory, thousands of times, is deeper than a path can say and than
    functions that call themselves can go; links lead out of it; its owner may not write it. So each
    directory is brought up to the first one, emptied there by descriptor, and removed.
    """
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        os.unlink(path)
        return
    top = _open(path)
    try:
        fresh = (f"{os.urandom(8).hex()}-{number}" for number in count())
        pending = _emptied(top, top, fresh)
        while pending:
            name = pending.pop()
            place = _open(name, top)
            try:
                pending += _emptied(place, top, fresh)
            finally:
                os.close(place)
            os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(path)


def remove_tree(path: str) -> None:
    """The same, where it is no error that nothing is there."""
    if os.path.lexists(path):
        remove(path)


def size(path: str) -> int:
    """About how many bytes lie at `path`: what is too deep to be named is not counted."""
    found, pending = 0, [path]
    while pending:
        place = pending.pop()
        with suppress(OSError):
            status = os.lstat(place)
            found += status.st_blocks * 512
            if stat.S_ISDIR(status.st_mode):
                pending += [f"{place}/{name}" for name in os.listdir(place)]
    return found


def _open(name: str, parent: int | None = None) -> int:
    """A directory that can be listed and written, never through a link."""
    place = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY, dir_fd=parent)
    try:
        here = f"/proc/self/fd/{place}"
        if stat.S_IMODE(os.fstat(place).st_mode) & 0o700 != 0o700:
            os.chmod(here, 0o700)
        return os.open(here, os.O_RDONLY | os.O_DIRECTORY)
    finally:
        os.close(place)


def _emptied(place: int, top: int, fresh: Iterator[str]) -> list[str]:
    """The new names, below `top`, of the directories that were in `place`; all else is removed."""
    moved = []
    with os.scandir(place) as entries:
        inside = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_directory in inside:
        if not is_directory:
            os.unlink(name, dir_fd=place)
            continue
        os.close(_open(name, place))  # only a directory that can be written changes its place
        moved.append(next(fresh))
        os.rename(name, moved[-1], src_dir_fd=place, dst_dir_fd=top)
    return moved
