"""Compares a workspace with what a command left: path by path, along an overlay or a whole copy."""

from __future__ import annotations

import os
import stat

from redoma.base.paths import is_below
from redoma.jail.overlay.beneath import SET_ID, is_opaque, is_whiteout
from redoma.jail.overlay.failure import at
from redoma.jail.overlay.tree_reader import ReadBudget, ReadBudgetSpent, same_content
from redoma.model.change import Change, Did, FileKind
from redoma.model.grant import Limits
from redoma.model.message import Message
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from redoma.jail.overlay.spool import Spooler
    from redoma.jail.overlay.tree_reader import Tree
    from redoma.model.change import FileState

# How much is read at most to tell a file that was only touched from one that was written.
_MOST_COMPARED = 8 << 30
# Times come from a clock that ticks every few milliseconds.
_CLOCK_SLACK = 50_000_000


class LimitExceeded(Exception):
    """There is more than a run may change: the name of the limit, and how much it allows."""

    def __init__(self, limit: str, most: int) -> None:
        super().__init__(limit)
        self.limit = limit
        self.most = most


class Comparison:
    """The two sides of a run's changes, and what was found so far."""

    def __init__(
        self,
        lower: Tree,
        upper: Tree,
        items: Spooler,
        *,
        began_ns: int,
        ended_ns: int,
        most: Limits | None = None,
    ) -> None:
        self.lower = lower
        self.upper = upper
        self.began_ns = began_ns
        self._ended_ns = ended_ns
        # In the order of the tree: a directory, then what is in it.
        self.items = items
        self.counts = dict.fromkeys(Did, 0)
        # Whether the file of any change may have rights that its content has not earned.
        self.privileged = False
        self.warnings: list[str] = []
        # Names of files in the overlay that have more than one, by inode; with what became of each.
        self.linked: dict[int, list[tuple[str, Did | None]]] = {}
        self._budget = ReadBudget(_MOST_COMPARED)
        self._most = most or Limits()

    def created(self, path: str, status: os.stat_result) -> None:
        """A path that was not there."""
        self._note(
            path,
            status,
            Change(path=path, did=Did.CREATED, after=self.upper.state(path, status)),
        )

    def deleted(self, path: str, status: os.stat_result) -> None:
        """A path that is gone, with everything below it."""
        self._deleted(path, status)
        if stat.S_ISDIR(status.st_mode):
            self.deleted_below(path)

    def deleted_below(self, path: str) -> None:
        """What lay in a directory in whose place something else stands."""
        pending = [self._below(path)]
        above = path.count("/")
        while pending:
            for below, status in pending[-1]:
                self._deleted(below, status)
                if stat.S_ISDIR(status.st_mode):
                    pending.append(self._below(below))
                    self.enter(above + len(pending))
                    break
            else:
                pending.pop()

    def _deleted(self, path: str, status: os.stat_result) -> None:
        self._add(Change(path=path, did=Did.DELETED, before=self.lower.state(path, status)))

    def _below(self, path: str) -> Iterator[tuple[str, os.stat_result]]:
        try:
            names = sorted(self.lower.names(path))
        except PermissionError:
            self.warnings.append(Message("what was in {path} cannot be read", path=path))
            return
        for name in names:
            below = f"{path}/{name}" if path else name
            status = self.lower.status(below)
            if status is not None:
                yield below, status

    def root(self) -> None:
        """Notes what became of the root itself, which is on both sides."""
        was, now = self.lower.status(""), self.upper.status("")
        assert was is not None
        assert now is not None
        self.both("", was, now)

    def both(self, path: str, was: os.stat_result, now: os.stat_result) -> None:
        """A path that is on both sides."""
        before = self.lower.state(path, was)
        after = self.upper.state(path, now)
        if os.geteuid() != 0:
            # A command of an ordinary user has nobody else to give a file to; but an overlay cannot
            # take the group of everything that is copied into it.
            after = replace(after, uid=before.uid, gid=before.gid)
        did = self._difference(path, before, after)
        change = None
        if did is not None:
            change = Change(path=path or ".", did=did, before=before, after=after)
        self._note(path, now, change)

    def _note(self, path: str, status: os.stat_result, change: Change | None) -> None:
        if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode):
            did = None if change is None else change.did
            self.linked.setdefault(status.st_ino, []).append((path, did))
        if change is not None:
            self._add(change)

    def _add(self, change: Change) -> None:
        self.counts[change.did] += 1
        after = change.after
        if after is not None and (after.mode & SET_ID or after.xattrs):
            self.privileged = True
        self.items.append(change)
        if self._most.changes is not None and len(self.items) > self._most.changes:
            raise LimitExceeded("changes", self._most.changes)

    def enter(self, depth: int) -> None:
        """So many levels below the root we are now.

        Attack: each level makes every path below it longer, so that little on disk is much to say.
        """
        if self._most.depth is not None and depth > self._most.depth:
            raise LimitExceeded("depth", self._most.depth)

    def _difference(self, path: str, before: FileState, after: FileState) -> Did | None:
        if before.kind is not after.kind or before.target != after.target:
            return Did.MODIFIED
        if before.kind is FileKind.FILE and not self._same_content(path, before, after):
            return Did.MODIFIED
        if (before.mode, before.uid, before.gid, before.xattrs) != (
            after.mode,
            after.uid,
            after.gid,
            after.xattrs,
        ):
            return Did.ATTRIBUTES
        if before.mtime_ns == after.mtime_ns:
            return None
        if before.kind is FileKind.DIRECTORY and self._follows(after.mtime_ns):
            return None
        return Did.ATTRIBUTES

    def _follows(self, time_ns: int) -> bool:
        """Whether a directory's time is one that entries made or removed in the run gave it."""
        return self.began_ns - _CLOCK_SLACK <= time_ns <= self._ended_ns + _CLOCK_SLACK

    def _same_content(self, path: str, before: FileState, after: FileState) -> bool:
        """Attack: a file is written and its time put back; so only its content tells."""
        if before.size != after.size:
            return False
        if not before.size:
            return True
        opened: list[int] = []
        try:
            opened.append(self.lower.opened(path))
            opened.append(self.upper.opened(path))
            return same_content(opened[0], opened[1], self._budget)
        except PermissionError:
            self.warnings.append(
                Message("{path} cannot be read, and so is said to have changed", path=path)
            )
            return False
        except ReadBudgetSpent:
            self.warnings.append(
                Message("{path} is too large to be compared: it may only be touched", path=path)
            )
            return False
        finally:
            for fd in opened:
                os.close(fd)


# What is shown of the workspace below a directory that is walked.
_MERGED = "merged"  # what the other side does not name is as it was
_HIDDEN = "hidden"  # nothing: the directory was replaced, but there was one
_NOTHING = "nothing"  # there was no directory here
_MOVED = "moved"  # in a copy: the directory may have been moved to where it is


def _walk(found: Comparison, entries: Callable[[str, str], Iterator[tuple[str, str]]]) -> None:
    """Notes every difference in the order of the tree.

    `entries` compares those of a directory, and gives each directory when its turn has come.
    """
    found.root()
    pending = [entries("", _MERGED)]
    while pending:
        for path, below in pending[-1]:
            pending.append(entries(path, below))
            found.enter(len(pending) - 1)
            break
        else:
            pending.pop()


class OverlayWalk:
    """A walk over the directory in which the kernel put what was written over a workspace."""

    def __init__(self, comparison: Comparison) -> None:
        self._found = comparison
        # Directories in whose place another stands, in the order of the tree.
        self.replaced: list[str] = []

    def read(self) -> None:
        """Notes every difference that the run made."""
        _walk(self._found, self._directory)

    def _directory(self, path: str, below: str) -> Iterator[tuple[str, str]]:
        found = self._found
        with at(path, "read for the preview"):
            here = found.upper.names(path)
            gone = found.lower.names(path) if below == _HIDDEN else []
        names = sorted({*here, *gone}) if gone else sorted(here)
        only_gone = frozenset(gone).difference(here)
        for name in names:
            entry = f"{path}/{name}" if path else name
            with at(entry, "read for the preview"):
                if name in only_gone:
                    was = found.lower.status(entry)
                    if was is not None:
                        found.deleted(entry, was)
                    continue
                now = found.upper.status(entry)
                assert now is not None
                was = None if below == _NOTHING else found.lower.status(entry)
                inside = self._entry(entry, was, now, below)
            if inside:
                yield entry, inside

    def _entry(self, path: str, was: os.stat_result | None, now: os.stat_result, below: str) -> str:
        """One entry; what the kernel shows below it, where it is a directory of the overlay."""
        found = self._found
        if is_whiteout(now):
            if was is not None:
                found.deleted(path, was)
            return ""
        if not stat.S_ISDIR(now.st_mode):
            if was is None:
                found.created(path, now)
                return ""
            found.both(path, was, now)
            if stat.S_ISDIR(was.st_mode):
                found.deleted_below(path)
            return ""
        if was is None or not stat.S_ISDIR(was.st_mode):
            if was is None:
                found.created(path, now)
            else:
                found.both(path, was, now)
            return _NOTHING
        found.both(path, was, now)
        if below == _HIDDEN or is_opaque(found.upper.place(path)):
            if below != _HIDDEN:
                self.replaced.append(path)
            return _HIDDEN
        return _MERGED

    def with_replaced(self, items: Iterable[Change]) -> Iterator[Change]:
        """The changes, saying where another directory stands in place of one, if any shows that."""
        from redoma.jail.overlay.selection import in_order

        waiting = iter(self.replaced)
        path = next(waiting, "")
        for item in items:
            found = item
            while path and in_order(path) <= in_order(item.path):
                if path == item.path:
                    found = replace(item, did=Did.MODIFIED, replaces_tree=True)
                elif is_below(item.path, path):
                    yield self._replaced_tree(path)
                path = next(waiting, "")
            yield found

    def _replaced_tree(self, path: str) -> Change:
        was, now = self._found.lower.status(path), self._found.upper.status(path)
        assert was is not None
        assert now is not None
        return Change(
            path=path,
            did=Did.MODIFIED,
            before=self._found.lower.state(path, was),
            after=self._found.upper.state(path, now),
            replaces_tree=True,
        )


class CopyWalk:
    """A walk over a workspace and the whole copy of it that a command worked in.

    What the command did not touch has a change time from before the run, which nobody can set: it
    is not read again, and what someone else did to its original meanwhile is no change of the run.
    """

    def __init__(self, comparison: Comparison, mounts: frozenset[str] = frozenset()) -> None:
        self._found = comparison
        self._mounts = mounts  # read-only inside: nothing there is the run's

    def read(self) -> None:
        """Notes every difference that the run made."""
        _walk(self._found, self._directory)

    def _directory(self, path: str, below: str) -> Iterator[tuple[str, str]]:
        found = self._found
        with at(path, "read for the preview"):
            was = found.lower.status(path)
            before = found.lower.names(path) if was and stat.S_ISDIR(was.st_mode) else []
            after = frozenset(found.upper.names(path))
        for name in sorted(after.union(before)):
            entry = f"{path}/{name}" if path else name
            if entry in self._mounts:
                continue
            with at(entry, "read for the preview"):
                if name not in after:
                    gone = found.lower.status(entry)
                    if gone is not None and not self._appeared(gone):
                        found.deleted(entry, gone)
                    continue
                now = found.upper.status(entry)
                assert now is not None
                old = found.lower.status(entry) if before else None
                untouched = self._entry(entry, old, now, moved=below == _MOVED)
            if stat.S_ISDIR(now.st_mode):
                # What lies in a directory that was moved is not touched, and yet elsewhere.
                yield entry, _MERGED if untouched else _MOVED

    def _entry(
        self, path: str, was: os.stat_result | None, now: os.stat_result, *, moved: bool
    ) -> bool:
        found = self._found
        untouched = now.st_ctime_ns < found.began_ns and not moved
        if untouched:
            return True
        if was is None:
            found.created(path, now)
            return False
        found.both(path, was, now)
        if stat.S_ISDIR(was.st_mode) and not stat.S_ISDIR(now.st_mode):
            found.deleted_below(path)
        return False

    def _appeared(self, status: os.stat_result) -> bool:
        """Whether something is only there since the run began, or was never copied."""
        device = stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)
        return device or status.st_ctime_ns > self._found.began_ns
