"""Opens, follows and removes paths that a command may have swapped for links.

A command may make a link of any directory that it may write, at any moment, and directories in
directories without end. So nothing here follows a link, and nothing rests on a path's length.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from itertools import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_LINKS = 40


def open_below(root: str, path: str) -> int:
    """A descriptor (O_PATH) of `path`, which must be `root` or lie below it.

    Attack: a directory on the way becomes a link to somewhere else between our look and our
    mount; then we would mount, move or rewrite a file of the person's.
    """
    fd = os.open(root, os.O_PATH | os.O_DIRECTORY)
    for part in path.removeprefix(root).split("/"):
        if part:
            try:
                lower = os.open(part, os.O_PATH | os.O_NOFOLLOW, dir_fd=fd)
            finally:
                os.close(fd)
            fd = lower
    return fd


@contextmanager
def opened_below(root: str, path: str) -> Iterator[int]:
    """The same for as long as a block lasts."""
    fd = open_below(root, path)
    try:
        yield fd
    finally:
        os.close(fd)


def open_unmarked(name: str, flags: int, *, dir_fd: int | None = None) -> int:
    """Opens a file whose access time stays as it is, where it is one's own."""
    try:
        return os.open(name, flags | os.O_NOATIME, dir_fd=dir_fd)
    except PermissionError:  # only a file's owner may ask for that
        return os.open(name, flags, dir_fd=dir_fd)


def led_out(path: str, written: tuple[str, ...]) -> bool:
    """Whether a link that a command may have made leads out of what it may write.

    Attack: `src` of the project is searched for modules; a command makes it a link to where keys
    lie, and the next call is shown them.
    """
    inside = tuple(f"{place.rstrip('/')}/" for place in written)
    if f"{os.path.realpath(path)}/".startswith(inside):
        return False
    at, links = "/", 0
    left = path.split("/")[::-1]
    while left:
        name = left.pop()
        if name in ("", ".", ".."):
            at = os.path.dirname(at) if name == ".." else at
            continue
        at = os.path.join(at, name)
        try:
            target = os.readlink(at)
        except OSError:
            continue
        links += 1
        if at.startswith(inside) or links > _MOST_LINKS:
            return True
        at = "/" if target.startswith("/") else os.path.dirname(at)
        left += target.split("/")[::-1]
    return False


def remove(path: str) -> None:
    """Nothing is at `path` afterwards, or an OSError says why.

    Attack: a directory in a directory, thousands of times, is deeper than a path can say and than
    functions that call themselves can go; links lead out of it; its owner may not write it. So each
    directory is brought up to the first one, emptied there by descriptor, and removed.
    """
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        os.unlink(path)
        return
    top = _open_directory(path)
    try:
        fresh = (f"{os.urandom(8).hex()}-{number}" for number in count())
        pending = _emptied(top, top, fresh)
        while pending:
            name = pending.pop()
            place = _open_directory(name, top)
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


def size_of(path: str) -> int:
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


def _open_directory(name: str, parent: int | None = None) -> int:
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
        os.close(
            _open_directory(name, place)
        )  # only a directory that can be written changes its place
        moved.append(next(fresh))
        os.rename(name, moved[-1], src_dir_fd=place, dst_dir_fd=top)
    return moved
