"""Both sides of a change, read without following a link and without leaving a trace.

Attack: the command leaves a symbolic link, a fifo or a device where a file is expected, or
someone swaps a directory for a link while its files are read. So each directory on the way is
opened by itself, never through a link, and only a regular file is read.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from redoma.jail.protect.untrusted_paths import open_unmarked, opened_below
from redoma.model.change import Did, FileKind
from redoma.model.message import Message
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.model.change import Change, FileState

_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class SideContent(Value):
    """The content of one side; `data` is None where it cannot be had, and `why` says why."""

    data: bytes | None = b""
    size: int = 0
    why: str = ""
    # Larger than was asked for: only the size is known.
    too_large: bool = False
    # Not the file that the change was read from.
    stale: bool = False


NOTHING = SideContent()


class Sides:
    """The workspace as it stands, and the overlay that holds what the command wrote."""

    def __init__(self, workspace: str, upper: str) -> None:
        self._workspace = workspace
        self._upper = upper

    def before(self, change: Change, limit: int) -> SideContent:
        """The content of the path before the command."""
        state = change.before
        if state is None:
            return NOTHING
        return _side(self._workspace, change.renamed_from or change.path, state, limit)

    def after(self, change: Change, limit: int) -> SideContent:
        """The content of the path in the overlay."""
        state = change.after
        if state is None:
            return NOTHING
        if state.kind is FileKind.FILE and state.size == 0:
            return NOTHING
        found = _side(self._upper, change.path, state, limit)
        if found.data is not None or found.too_large:
            return found
        # A renamed file and another name for an old one may lie where they were.
        if change.did is Did.RENAMED:
            return self.before(change, limit)
        if change.hard_link_of:
            return _side(self._workspace, change.hard_link_of, state, limit)
        return found

    def target(self, path: str) -> str:
        """Where a link of the workspace leads, or nothing."""
        above = f"{self._workspace}/{os.path.dirname(path)}"
        with suppress(OSError), opened_below(self._workspace, above) as directory:
            return os.readlink(os.path.basename(path), dir_fd=directory)
        return ""

    def files_below(self, path: str) -> Iterator[tuple[str, os.stat_result]]:
        """Every file and link below a directory of the workspace, relative to that directory."""
        try:
            with opened_below(self._workspace, f"{self._workspace}/{path}") as place:
                top = os.open(".", _DIRECTORY_FLAGS, dir_fd=place)
        except OSError:
            return
        todo = [(top, "")]
        try:
            while todo:
                directory, prefix = todo.pop()
                try:
                    for name in sorted(os.listdir(directory)):
                        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
                        if stat.S_ISDIR(found.st_mode):
                            below = os.open(name, _DIRECTORY_FLAGS, dir_fd=directory)
                            todo.append((below, f"{prefix}{name}/"))
                        else:
                            yield prefix + name, found
                finally:
                    os.close(directory)
        finally:
            for directory, _ in todo:
                os.close(directory)


def _side(root: str, path: str, state: FileState, limit: int) -> SideContent:
    if state.kind is FileKind.SYMLINK:
        data = os.fsencode(state.target)
        return SideContent(data=data, size=len(data))
    if state.kind is not FileKind.FILE:
        return NOTHING
    if state.size > limit:
        return SideContent(data=None, size=state.size, too_large=True, why="too large to show")
    try:
        return _read_side(root, path, state, limit)
    except OSError as error:
        why = error.strerror or type(error).__name__
        return SideContent(
            data=None, size=state.size, why=Message("cannot be read: {why}", why=why)
        )


def _read_side(root: str, path: str, state: FileState, limit: int) -> SideContent:
    with open(_opened(root, path), "rb") as stream:
        found = os.fstat(stream.fileno())
        if not stat.S_ISREG(found.st_mode):
            return SideContent(data=None, why="is no longer a file", stale=True)
        data = stream.read(limit + 1)
    if len(data) > limit:
        return SideContent(data=None, size=found.st_size, too_large=True, why="too large to show")
    stale = (found.st_size, found.st_mtime_ns) != (state.size, state.mtime_ns)
    return SideContent(data=data, size=len(data), stale=stale)


def read_file(root: str, path: str, limit: int) -> bytes | None:
    """A regular file below `root`, no link on the way; None where it cannot be had so."""
    try:
        with open(_opened(root, path), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return None
            data = stream.read(limit + 1)
    except OSError:
        return None
    return data if len(data) <= limit else None


def _opened(root: str, path: str) -> int:
    with opened_below(root, f"{root}/{os.path.dirname(path)}") as directory:
        return open_unmarked(os.path.basename(path), _FILE_FLAGS, dir_fd=directory)
