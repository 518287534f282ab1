"""Compares one path of a workspace with the same path of a layer."""

from __future__ import annotations

import os
import stat

from redoma.jail.overlay.content import Budget, TooMuch, same
from redoma.model.change import Change, Did, FileKind
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.overlay.tree import Tree
    from redoma.model.change import FileState

# How much is read at most to tell a file that was only touched from one that was written.
_MOST_COMPARED = 8 << 30
# Times come from a clock that ticks every few milliseconds.
_CLOCK_SLACK = 50_000_000


class Comparison:
    """The two sides of a run's changes, and what was found so far."""

    def __init__(self, lower: Tree, upper: Tree, *, began_ns: int, ended_ns: int) -> None:
        self.lower = lower
        self.upper = upper
        self.began_ns = began_ns
        self._ended_ns = ended_ns
        self.items: list[Change] = []
        self.warnings: list[str] = []
        # Names of files in the layer that have more than one, by inode; with what changed of each.
        self.linked: dict[int, list[tuple[str, Change | None]]] = {}
        self._budget = Budget(_MOST_COMPARED)

    def created(self, path: str, status: os.stat_result) -> None:
        """A path that was not there."""
        self._note(
            path,
            status,
            Change(path=path, did=Did.CREATED, after=self.upper.state(path, status)),
        )

    def deleted(self, path: str, status: os.stat_result) -> None:
        """A path that is gone, with everything below it."""
        pending = [(path, status)]
        while pending:
            here, found = pending.pop()
            self.items.append(
                Change(path=here, did=Did.DELETED, before=self.lower.state(here, found))
            )
            if stat.S_ISDIR(found.st_mode):
                pending += self._below(here)

    def deleted_below(self, path: str) -> None:
        """What lay in a directory in whose place something else stands."""
        for below, status in self._below(path):
            self.deleted(below, status)

    def _below(self, path: str) -> list[tuple[str, os.stat_result]]:
        try:
            names = self.lower.names(path)
        except PermissionError:
            self.warnings.append(f"what was in {path} cannot be read")
            return []
        found = []
        for name in names:
            below = f"{path}/{name}" if path else name
            status = self.lower.status(below)
            if status is not None:
                found.append((below, status))
        return found

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
            # A command of an ordinary user has nobody else to give a file to; but a layer cannot
            # take the group of everything that is copied into it.
            after = replace(after, uid=before.uid, gid=before.gid)
        did = self._difference(path, before, after)
        change = None
        if did is not None:
            change = Change(path=path or ".", did=did, before=before, after=after)
        self._note(path, now, change)

    def _note(self, path: str, status: os.stat_result, change: Change | None) -> None:
        if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode):
            self.linked.setdefault(status.st_ino, []).append((path, change))
        elif change is not None:
            self.items.append(change)

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
            return same(opened[0], opened[1], self._budget)
        except PermissionError:
            self.warnings.append(f"{path} cannot be read, and so is said to have changed")
            return False
        except TooMuch:
            self.warnings.append(f"{path} is too large to be compared: it may only be touched")
            return False
        finally:
            for fd in opened:
                os.close(fd)
