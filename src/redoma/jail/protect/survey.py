"""Finds everything protected in a workspace, and again what has changed since.

Only directories are remembered. A directory whose change time is older than the last look and
whose identity is the same has the same entries, so a second look costs one `stat` a directory.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import contextmanager, suppress

from redoma.jail.protect import installation
from redoma.jail.protect.obeyed_names import (
    GIT_PARTS,
    GIT_STORES,
    ObeyedNames,
    folded,
    is_git,
    is_git_directory,
    is_gits_own,
    obeyed,
)
from redoma.jail.protect.untrusted_paths import opened_below
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Change times come from a clock that ticks every few milliseconds.
_CLOCK_SLACK = 50_000_000


class SurveyedDirectory:
    """One directory as it was last read."""

    __slots__ = (
        "changed",
        "children",
        "endpoints",
        "git",
        "inode",
        "protected",
        "stores",
        "unlisted",
    )

    def __init__(self, inode: int, changed: int) -> None:
        self.inode = inode
        self.changed = changed
        self.children: tuple[str, ...] = ()
        # (name, inode): what a person's tools obey.
        self.protected: tuple[tuple[str, int], ...] = ()
        # Sockets and named pipes: another program may listen at the other end.
        self.endpoints: tuple[str, ...] = ()
        # Directories of git itself, in which nothing that is obeyed can lie.
        self.stores: tuple[str, ...] = ()
        # Whether names in it can be used and not listed.
        self.unlisted = False
        self.git = False


class Survey:
    """What is protected below one directory."""

    def __init__(
        self,
        root: str,
        ours: Mapping[int, frozenset[int]] | None = None,
        more: tuple[str, ...] = (),
    ) -> None:
        """`ours` are the numbers of our own files, by device: other names of them count too.

        `more` are names that a policy protects beside those that are known.
        """
        self.root = root
        self.ours = ours or {}
        self.names = obeyed().with_more(more)
        self.looked = 0
        self.seen: dict[str, SurveyedDirectory] = {}
        self._stores: dict[str, Survey] = {}

    def look(self) -> None:
        """Reads what is new or has changed since the last look."""
        before, self.seen = self.seen, {}
        looked, self.looked = self.looked, time.time_ns()
        pending = [self.root]
        while pending:
            path = pending.pop()
            try:
                status = os.lstat(path)
            except OSError:
                continue
            if not stat.S_ISDIR(status.st_mode):
                continue
            known = before.get(path)
            if (
                known is not None
                and known.inode == status.st_ino
                and known.changed == status.st_ctime_ns
                and known.changed < looked - _CLOCK_SLACK
            ):
                seen = known
            else:
                ours = self.ours.get(status.st_dev, frozenset())
                seen = _read(self.root, path, status, ours, self.names)
            self.seen[path] = seen
            pending += [f"{path}/{name}" for name in seen.children]

    def protected(self) -> Iterator[tuple[str, int]]:
        """Paths that nobody but a person may change, with their inodes."""
        for path, seen in self.seen.items():
            for name, inode in seen.protected:
                yield f"{path}/{name}", inode

    def git_directories(self) -> dict[str, int]:
        """Every directory that git would take for a repository, with its inode."""
        return {path: seen.inode for path, seen in self.seen.items() if seen.git}

    def endpoints(self) -> Iterator[str]:
        """Sockets and named pipes of other programs that a command could reach by path.

        Where names can be used and not listed, it is the whole directory.
        """
        for path, seen in self.seen.items():
            for name in seen.endpoints:
                yield f"{path}/{name}"
            if seen.unlisted:
                yield path
            for name in seen.stores:
                store = self._stores.setdefault(f"{path}/{name}", Survey(f"{path}/{name}"))
                store.look()
                yield from store.endpoints()


def _read(
    root: str,
    path: str,
    status: os.stat_result,
    ours: frozenset[int],
    known: ObeyedNames,
) -> SurveyedDirectory:
    seen = SurveyedDirectory(status.st_ino, status.st_ctime_ns)
    children: list[str] = []
    protected: list[tuple[str, int]] = []
    endpoints: list[str] = []
    all_names: set[str] = set()
    links = installation.LINKS.get(path, frozenset())
    here = folded(path)
    seen.unlisted = True
    with suppress(OSError), _readable(root, path, status) as place, os.scandir(place) as entries:
        seen.unlisted = False
        for entry in entries:
            name = entry.name
            all_names.add(name)
            if entry.is_dir(follow_symlinks=False):
                children.append(name)
                if known.of_directory(folded(name), here) is not None:
                    protected.append((name, entry.inode()))
                continue
            if (
                name in links
                or is_git(name)
                or known.of_file(folded(name), here) is not None
                or (ours and entry.inode() in ours)
            ):
                protected.append((name, entry.inode()))
            if not entry.is_file(follow_symlinks=False) and not entry.is_symlink():
                mode = entry.stat(follow_symlinks=False).st_mode
                if stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode):
                    endpoints.append(name)
    # Attack: in a directory of another owner's that we may enter and not list, a pipe is reached by
    # whoever knows its name.
    seen.unlisted = seen.unlisted and os.access(path, os.X_OK)
    # Attack: what is planted where `git init` will make a repository only later.
    seen.git = is_git_directory(all_names) or is_git(path.rpartition("/")[2])
    for name in all_names if seen.git else ():
        if folded(name) in GIT_PARTS:
            with suppress(OSError):
                protected.append((name, os.lstat(f"{path}/{name}").st_ino))
    if seen.git and is_gits_own(path):
        seen.stores = tuple(name for name in children if name in GIT_STORES)
        children = [name for name in children if name not in GIT_STORES]
    seen.children = tuple(children)
    seen.protected = tuple(protected)
    seen.endpoints = tuple(endpoints)
    return seen


@contextmanager
def _readable(root: str, path: str, status: os.stat_result) -> Iterator[str]:
    """A directory that can be listed, its mode as it was when the block ends.

    Attack: without its owner's right to list it, a directory still lets a person's git in who
    knows the name, but hides from us what was planted there.
    """
    if os.access(path, os.R_OK | os.X_OK) or status.st_uid != os.geteuid():
        yield path
        return
    with opened_below(root, path) as place:
        # Attack: a run beside this one swaps a directory for another since it was looked at.
        found = os.fstat(place)
        mode = stat.S_IMODE(found.st_mode)
        if not os.path.samestat(found, status) or not stat.S_ISDIR(found.st_mode):
            raise OSError(Message("{path} is not what it was", path=path))
        here = f"/proc/self/fd/{place}"
        os.chmod(here, mode | 0o500)
        try:
            yield here
        finally:
            os.chmod(here, mode)
