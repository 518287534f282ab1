"""Mounts that protect: our own parts read-only, and nothing where another program listens.

A read-only mount stops nobody from connecting to a socket in it or from writing into a named pipe.
Seen through an overlay both lead nowhere; where a directory is shown as it is, each is covered.
"""

from __future__ import annotations

import os
import stat

from redoma.jail.kernel.process import is_machines_root
from redoma.jail.protect import installation
from redoma.jail.protect.untrusted_paths import open_below
from redoma.model.errors import EngineFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from redoma.jail.protect.survey import Survey


class OwnPartMounts:
    """Redoma's own parts below a workspace that is overlaid, for one run.

    In an overlay nothing is obeyed, and nothing of ours is applied from one. But a command that
    installs something there should fail at once, and not find later that it did nothing.
    """

    def __init__(self, root: str, *, as_nobody: bool) -> None:
        self.root = root
        parts = [path for path in installation.parts_below(root) if not os.path.islink(path)]
        if parts and as_nobody:
            closed = ClosedDirectories(root)
            parts = [path for path in parts if not closed.holds(path)]
        self.read_only = parts

    @property
    def needs_mounts(self) -> bool:
        return bool(self.read_only)

    def covers(self) -> list[str]:
        """Nothing that another program listens at is among them."""
        return []

    def mounts(self, source: str) -> list[tuple[str, int, str]]:
        """(option, descriptor, place) for each mount; `source` is where the root is found."""
        return opened(source, self.root, (("--ro-bind-fd", path) for path in self.read_only))


def opened(source: str, root: str, wanted: Iterable[tuple[str, str]]) -> list[tuple[str, int, str]]:
    """Each option and path with a descriptor of what lies there; all of them, or an error."""
    made: list[tuple[str, int, str]] = []
    for option, path in wanted:
        try:
            fd = open_below(source, source + path.removeprefix(root))
        except OSError as error:
            for _, before, _ in made:
                os.close(before)
            # Attack: a run beside this one swaps a directory on the way for a link.
            raise EngineFailed(
                "{path} changed while it was being protected: {why}",
                path=path,
                why=error.strerror,
                hint="try again",
            ) from error
        made.append((option, fd, path))
    return made


_ACCESS_LIST = "system.posix_acl_access"


class ClosedDirectories:
    """Tells what lies in somebody else's closed directory below `root`.

    Whoever mounts for root is nobody there, as the command is, so such a place can neither be
    reached nor covered. Only its owner could open it: a directory of the command's own, which it
    could open itself, never counts.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._owner = os.stat(root)
        self._known: dict[str, bool] = {}

    def holds(self, path: str) -> bool:
        above = os.path.dirname(path)
        if len(above) <= len(self._root):
            return False
        known = self._known.get(above)
        if known is None:
            known = self._known[above] = self.holds(above) or self._shut(above)
        return known

    def _shut(self, directory: str) -> bool:
        try:
            status = os.lstat(directory)
        except OSError:
            return False
        if status.st_uid == self._owner.st_uid or status.st_mode & 0o001:
            return False
        if status.st_mode & 0o010:
            return status.st_gid != self._owner.st_gid and not _has_access_list(directory)
        return True


def _has_access_list(directory: str) -> bool:
    try:
        return _ACCESS_LIST in os.listxattr(directory, follow_symlinks=False)
    except OSError:
        return False


def covered(paths: list[str]) -> list[str]:
    """The mounts that put nothing where each of these is."""
    made: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            made += ["--perms", "0555", "--tmpfs", path, "--remount-ro", path]
        else:
            made += ["--ro-bind", "/dev/null", path]
    return made


def pipes_below(root: str) -> list[str]:
    """Named pipes below a directory, and directories that may have some: names cannot be listed."""
    from redoma.jail.protect.survey import Survey

    survey = Survey(root)
    survey.look()
    return [path for path in survey.endpoints() if not stat.S_ISSOCK(os.lstat(path).st_mode)]


def covers_where_read(
    read: tuple[str, ...], over: tuple[str, ...], surveys: dict[str, Survey]
) -> list[str]:
    """The mounts that cover what listens in directories that are only read, and as they are.

    What is mounted `over` some of them has covers, or an overlay, of its own. `surveys` remembers
    the directories from run to run.
    """
    found: dict[str, None] = {}
    for root in read:
        found.update(dict.fromkeys(_listening_below(root, surveys)))
    within = tuple(f"{path}/" for path in over)
    return covered([path for path in found if not path.startswith(within)])


def _listening_below(root: str, surveys: dict[str, Survey]) -> list[str]:
    if not os.path.isdir(root):
        return []
    from redoma.jail.protect.survey import Survey

    survey = surveys.setdefault(root, Survey(root))
    survey.look()
    paths = list(survey.endpoints())
    if not paths or not is_machines_root():
        return paths
    closed = ClosedDirectories(root)
    return [path for path in paths if not closed.holds(path)]
