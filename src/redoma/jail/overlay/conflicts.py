"""Finds what someone else changed since: before an apply, and before an undo."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from redoma.jail.overlay.choosing import is_directory, parents, replaces_kind, was_directory
from redoma.jail.overlay.marks import own_attributes
from redoma.model.change import Did, FileKind
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from redoma.jail.overlay.below import Beneath
    from redoma.jail.overlay.journal import Directory, Journal, Mark, Window
    from redoma.model.change import Change, FileState

_KINDS = {
    FileKind.FILE: stat.S_IFREG,
    FileKind.DIRECTORY: stat.S_IFDIR,
    FileKind.SYMLINK: stat.S_IFLNK,
    FileKind.FIFO: stat.S_IFIFO,
    FileKind.SOCKET: stat.S_IFSOCK,
}


class Conflict(Value):
    """A path and what is wrong with it, as it follows the path in a sentence."""

    path: str
    why: str


class Ground:
    """The workspace as it is now, asked whether it is still as it was."""

    def __init__(
        self, tree: Beneath, windows: Callable[[], Iterable[Window]], began_ns: int
    ) -> None:
        self.tree = tree
        self._windows = windows  # asked for only where something is not as it was
        self._known: tuple[Window, ...] | None = None
        self.began_ns = began_ns
        self.found: list[Conflict] = []

    def _note(self, path: str, why: str) -> None:
        self.found.append(Conflict(path=path, why=why))

    def _status(self, path: str) -> os.stat_result | None:
        try:
            return self.tree.status(path)
        except PermissionError:
            raise  # the callers know what a closed directory means
        except OSError as error:
            self._note(path, f"cannot be reached any more ({error.strerror})")
            return None

    def ours(self, moment: int, *, copied: bool = False) -> bool:
        """Whether a change time is one that we ourselves set."""
        if self._known is None:
            self._known = tuple(self._windows())
        return any(w.holds(moment) and (w.copied or not copied) for w in self._known)

    def check(self, items: Iterable[Change]) -> list[Conflict]:
        """Everything that keeps these changes from being applied."""
        items = tuple(items)
        self._items = {item.path: item for item in items}
        self._gone = {item.path for item in items if item.did is Did.DELETED}
        self._gone |= {item.renamed_from for item in items if item.renamed_from}
        for item in items:
            try:
                self._check(item)
            except PermissionError:
                self._note(item.path, "lies in a directory that is closed to us")
        return self.found

    def _check(self, item: Change) -> None:
        if item.did in (Did.CREATED, Did.RENAMED):
            self._must_be_free(item)
        if item.did is not Did.CREATED:
            self._must_be_as_before(item.renamed_from or item.path, item)

    def _must_be_free(self, item: Change) -> None:
        for parent in parents(item.path):
            above = self._items.get(parent)
            if above is not None and (above.did is Did.CREATED or replaces_kind(above)):
                return  # it comes with this apply, so nothing can lie in it
        if self._status(item.path) is not None:
            self._note(item.path, "has been made by someone else since")
            return
        parent = item.path.rpartition("/")[0]
        above_now = self._status(parent) if parent else os.fstat(self.tree.root)
        if above_now is None or not stat.S_ISDIR(above_now.st_mode):
            self._note(item.path, "has no directory to lie in any more")
        if item.hard_link_of and item.hard_link_of not in self._items:
            linked = self._status(item.hard_link_of)
            if linked is None or not stat.S_ISREG(linked.st_mode) or self._newer(linked):
                self._note(item.hard_link_of, "has changed since; a new name is for it as it was")

    def _newer(self, status: os.stat_result) -> bool:
        return status.st_ctime_ns > self.began_ns and not self.ours(status.st_ctime_ns)

    def _must_be_as_before(self, path: str, item: Change) -> None:
        assert item.before is not None
        now = self._status(path)
        if now is None:
            self._note(path, "is not there any more")
            return
        if was_directory(item):
            self._directory(path, item, now)
        elif not self._same(item.before, now):
            self._note(path, "has changed since")
        elif item.before.ctime_ns > self.began_ns and not self.ours(item.before.ctime_ns):
            self._note(path, "was changed by someone else while the command ran")

    def _same(self, before: FileState, now: os.stat_result) -> bool:
        kind = _KINDS.get(before.kind)
        if (
            (kind is not None and kind != stat.S_IFMT(now.st_mode))
            or before.mode != stat.S_IMODE(now.st_mode)
            or (before.uid, before.gid) != (now.st_uid, now.st_gid)
            or (before.size, before.mtime_ns) != (now.st_size, now.st_mtime_ns)
        ):
            return False
        if before.inode == now.st_ino:
            return before.ctime_ns == now.st_ctime_ns or self.ours(now.st_ctime_ns)
        return self.ours(now.st_ctime_ns, copied=True)

    def _directory(self, path: str, item: Change, now: os.stat_result) -> None:
        before = item.before
        assert before is not None
        if not stat.S_ISDIR(now.st_mode):
            self._note(path, "is no directory any more")
            return
        if (before.mode, before.uid, before.gid) != (
            stat.S_IMODE(now.st_mode),
            now.st_uid,
            now.st_gid,
        ):
            self._note(path, "has other rights or another owner since")
        if item.did is Did.ATTRIBUTES and before.xattrs != own_attributes(
            self.tree.named(path), in_overlay=False
        ):
            self._note(path, "has other attributes since")
        goes = item.did is Did.DELETED or item.did is Did.RENAMED or replaces_kind(item)
        if not goes:
            return
        try:
            if item.did is Did.RENAMED:
                self._untouched(path)
            else:
                self._nothing_new(path)
        except OSError as error:
            self._note(path, f"cannot be read through ({error.strerror})")

    def _nothing_new(self, path: str) -> None:
        """Attack on a person's work: a file made in a directory that is about to go with it."""
        for name in self.tree.names(path):
            inner = f"{path}/{name}"
            if inner not in self._gone:
                self._note(inner, f"is new in {path}, which would be removed")

    def _untouched(self, path: str) -> None:
        for inner, status in self.tree.below(path):
            moment = status.st_ctime_ns
            if moment > self.began_ns and not self.ours(moment, copied=True):
                self._note(inner, f"has changed since in {path}, which would be moved")

    def check_undo(self, journal: Journal) -> list[Conflict]:
        """Everything that keeps an apply from being taken back."""
        marks = {mark.path: mark for mark in journal.placed}
        for mark in journal.placed:
            # A directory that its owner closed still is, by its own mark, and holds what it held.
            with suppress(PermissionError):
                now = self._status(mark.path)
                if now is None:
                    self._note(mark.path, "is not there any more")
                elif not self._is(mark, now):
                    self._note(mark.path, "has changed since")
        for path in journal.trees:
            if (status := self._status(path)) is None or not stat.S_ISDIR(status.st_mode):
                continue  # told above
            for inner, _ in self.tree.below(path, skip_closed=True):
                if inner not in marks:
                    self._note(inner, "is new since, in a directory that would be removed")
        for path in _left_empty(journal):
            if self._status(path) is not None:
                self._note(path, "has been made by someone else since")
        for directory in journal.directories:
            if directory.meant and directory.path not in marks:
                self._rights_as_left(directory)
        return self.found

    def _rights_as_left(self, directory: Directory) -> None:
        now, after = self._status(directory.path), directory.after
        if after is None:
            return
        if now is None or (after.mode, after.uid, after.gid) != (
            stat.S_IMODE(now.st_mode),
            now.st_uid,
            now.st_gid,
        ):
            self._note(directory.path, "has other rights or another owner since")

    def _is(self, mark: Mark, now: os.stat_result) -> bool:
        if (mark.mode, mark.uid, mark.gid) != (now.st_mode, now.st_uid, now.st_gid):
            return False
        if stat.S_ISDIR(now.st_mode):
            return True  # its entries are looked at one by one
        if (mark.size, mark.mtime_ns) != (now.st_size, now.st_mtime_ns):
            return False
        same = mark.inode == now.st_ino
        return (same and mark.ctime_ns == now.st_ctime_ns) or self.ours(
            now.st_ctime_ns, copied=not same
        )


def _left_empty(journal: Journal) -> list[str]:
    from redoma.jail.overlay.journal import Kind

    came = {step.path for step in journal.steps if step.kind in (Kind.PUT, Kind.MAKE)}
    went = (step.path for step in journal.steps if step.kind in (Kind.TAKE, Kind.REMOVE))
    return [path for path in went if path not in came]


def leaves_directory(item: Change) -> bool:
    """Whether a change keeps a directory where one was: only its attributes are set."""
    return is_directory(item) and was_directory(item) and item.did is not Did.RENAMED
