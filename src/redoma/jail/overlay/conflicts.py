"""Finds what someone else changed since: before an apply, and before an undo.

Of another transaction a file's times do not tell: a rename brings a whole directory with the times
that its files had before, and what was removed has no time at all. So the journals are asked, which
name every path.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from redoma.base.paths import is_below
from redoma.jail.overlay import transaction_store
from redoma.jail.overlay.beneath import own_attributes
from redoma.jail.overlay.failure import Conflict, reason
from redoma.jail.overlay.journal import JournalFiles, Phase, StepKind
from redoma.jail.overlay.selection import (
    Roots,
    goes,
    makes_directory,
    parents,
    was_directory,
)
from redoma.jail.overlay.spool import found_in
from redoma.model.change import Did, FileKind, Standing
from redoma.model.message import Message
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from redoma.jail.overlay.beneath import Beneath
    from redoma.jail.overlay.journal import Journal, Mark, TouchedDirectory, Window
    from redoma.jail.overlay.selection import Roots
    from redoma.jail.overlay.transaction_store import StoredTransaction
    from redoma.model.change import Change, FileState


class Touched(Value):
    """What one transaction touched, as paths of another's workspace."""

    paths: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()  # those that were taken away or replaced
    above: frozenset[str] = frozenset()  # the directories in which any of them lies
    unknown: bool = False  # its journal is gone


def others_since(entry: StoredTransaction) -> Iterator[tuple[str, Touched]]:
    """What other transactions touched in a workspace since a command began there, by their names.

    What was done and taken back counts only where the command may have seen it.
    """
    ended = entry.ended_ns or int(entry.shown.when * 1e9)
    for other in transaction_store.entries_since(entry.began_ns):
        windows = other.windows
        if other.id == entry.id or not windows or not transaction_store.overlap(entry, other):
            continue
        # Of many windows only the last are known: there may have been one before these.
        more = len(windows) >= transaction_store.MOST_WINDOWS and windows[0].start >= entry.began_ns
        if more or any(w.start <= ended and w.end >= entry.began_ns for w in windows):
            yield other.id, touched_by(other, entry)
        elif other.shown.standing is Standing.APPLIED and windows[-1].start > ended:
            yield other.id, touched_by(other, entry, only=Phase.APPLIED)


def touched_by(
    other: StoredTransaction, entry: StoredTransaction, *, only: Phase | None = None
) -> Touched:
    """What another transaction touched, seen from the workspace of this one."""
    book = JournalFiles(transaction_store.directory(other.id))
    numbers = [n for n in book.numbers() if only is None or book.phase(n) is only]
    if not numbers and not other.shown.standing.holds:
        return Touched(unknown=True)
    outer, inner = f"{entry.shown.workspace}/", f"{other.shown.workspace}/"
    if other.root == entry.root:
        inner = outer
    paths: set[str] = set()
    removed: set[str] = set()
    for number in numbers:
        journal = book.read(number)
        paths.update(_seen(paths_of(journal), inner, outer))
        gone = (
            s.path
            for s in journal.steps
            if s.kind in (StepKind.TAKE, StepKind.REMOVE, StepKind.SWAP)
        )
        removed.update(_seen(gone, inner, outer))
    return Touched(
        paths=frozenset(paths), removed=frozenset(removed), above=frozenset(_above(paths))
    )


def paths_of(journal: Journal) -> set[str]:
    """Every path that an apply changes, those included that come and go with a directory."""
    return {
        *journal.paths,
        *(step.path for step in journal.steps),
        *(mark.path for mark in journal.placed),
    }


def _seen(paths: Iterable[str], inner: str, outer: str) -> Iterator[str]:
    """Paths of one workspace as paths of the other; what lies outside of it is left out."""
    if inner == outer:
        yield from paths
        return
    for path in paths:
        full = inner.rstrip("/") if path == "." else inner + path
        if full.startswith(outer):
            yield full.removeprefix(outer)
        elif f"{full}/" == outer or is_below(outer, full):
            yield "."


def _above(paths: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for path in paths:
        for parent in parents(path):
            if parent in found:
                break
            found.add(parent)
    return found


def changed_in(touched: Touched, removed: Roots, item: Change) -> str:
    """The path of a change at which another transaction was at work too; empty where at none.

    `removed` are the paths that it took away or replaced.
    """
    for path in (item.path, item.renamed_from):
        if not path:
            continue
        if touched.unknown or path in touched.paths:
            return path
        if path in touched.above and goes(item):
            return path
        if removed.around(path):
            return path
    return ""


_KIND_BITS = {
    FileKind.FILE: stat.S_IFREG,
    FileKind.DIRECTORY: stat.S_IFDIR,
    FileKind.SYMLINK: stat.S_IFLNK,
    FileKind.FIFO: stat.S_IFIFO,
    FileKind.SOCKET: stat.S_IFSOCK,
}
_WHILE_IT_RAN = "was changed by someone else while the command ran"


class WorkspaceCheck:
    """The workspace as it is now, asked whether it is still as it was.

    A file that we ourselves moved away and back has another change time, and is the same. What we
    ourselves changed since a command began is as much a conflict as what a person changed.
    """

    def __init__(
        self,
        tree: Beneath,
        windows: Callable[[], Iterable[Window]],
        began_ns: int,
        own: Iterable[Window] = (),
    ) -> None:
        self.tree = tree
        self._own = tuple(own)  # when this very transaction moved things
        self._windows = windows  # asked for only where something is not as it was
        self._known: tuple[Window, ...] | None = None
        self.began_ns = began_ns
        self.found: list[Conflict] = []
        self._noted: set[str] = set()

    def check_others(
        self,
        items: Iterable[Change],
        others: Iterable[tuple[str, Touched]],
        removes: Callable[[str], bool],
    ) -> None:
        """Notes what other transactions, each with its name, changed while the command ran.

        `removes` says whether the command itself removed a path that is gone by now: nothing else
        would tell of what it moved elsewhere.
        """
        for name, touched in others:
            removed = Roots(touched.removed)
            for item in items:
                if path := changed_in(touched, removed, item):
                    self._note(path, "was changed by {name} since the command began", name=name)
            for path in sorted(touched.removed):
                if removes(path):
                    self._note(path, "was removed by {name} since the command began", name=name)

    def note_later(self, path: str, name: str) -> None:
        """Notes a path that another transaction changed after the one to be undone."""
        self._note(path, "was changed by {name} since", name=name)

    def _note(self, path: str, why: str, /, **values: object) -> None:
        if path not in self._noted:
            self._noted.add(path)
            self.found.append(Conflict(path=path, why=Message(why, **values)))

    def _status(self, path: str) -> os.stat_result | None:
        try:
            return self.tree.status(path)
        except PermissionError:
            raise  # the callers know what a closed directory means
        except OSError as error:
            self._note(path, "cannot be reached any more ({why})", why=reason(error))
            return None

    def ours(self, moment: int, *, copied: bool = False) -> bool:
        """Whether a change time is one that we ourselves set."""
        if self._known is None:
            self._known = tuple(self._windows())
        return any(w.holds(moment) and (w.copied or not copied) for w in self._known)

    def check(self, items: Sequence[Change]) -> list[Conflict]:
        """Everything that keeps these changes, in the order of the tree, from being applied."""
        self._items = items
        self._find = found_in(items)
        self._made = ""  # the directory that comes with this apply, and in which the next one lies
        self._moved: frozenset[str] | None = None
        for item in items:
            try:
                self._check(item)
            except PermissionError:
                self._note(item.path, "lies in a directory that is closed to us")
        return self.found

    def _check(self, item: Change) -> None:
        try:
            self._check_alone(item)
        finally:
            if makes_directory(item) and not (self._made and item.path.startswith(self._made)):
                self._made = f"{item.path}/"

    def _check_alone(self, item: Change) -> None:
        if item.did in (Did.CREATED, Did.RENAMED):
            self._must_be_free(item)
        if item.did is not Did.CREATED:
            self._must_be_as_before(item.renamed_from or item.path, item)

    def _must_be_free(self, item: Change) -> None:
        if self._made and item.path.startswith(self._made):
            return  # its directory comes with this apply, so nothing can lie in it
        if self._status(item.path) is not None:
            self._note(item.path, "has been made by someone else since")
            return
        parent = item.path.rpartition("/")[0]
        above_now = self._status(parent) if parent else os.fstat(self.tree.root)
        if above_now is None or not stat.S_ISDIR(above_now.st_mode):
            self._note(item.path, "has no directory to lie in any more")
        if item.hard_link_of and self._find(item.hard_link_of) is None:
            linked = self._status(item.hard_link_of)
            if linked is None or not stat.S_ISREG(linked.st_mode) or self._newer(linked):
                self._note(item.hard_link_of, "has changed since; a new name is for it as it was")

    def _newer(self, status: os.stat_result) -> bool:
        """Whether a file changed since the command began; by a new name of it that is ours, not."""
        moment = status.st_ctime_ns
        return moment > self.began_ns and not any(w.holds(moment) for w in self._own)

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
        elif item.before.ctime_ns > self.began_ns:
            self._note(path, _WHILE_IT_RAN)

    def _same(self, before: FileState, now: os.stat_result) -> bool:
        kind = _KIND_BITS.get(before.kind)
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
        if not goes(item):
            return
        if before.ctime_ns > self.began_ns:
            # Attack on a person's work: what came into it by a rename has the times it had before.
            self._note(path, _WHILE_IT_RAN)
            return
        try:
            if item.did is Did.RENAMED:
                self._untouched(path)
            else:
                self._nothing_new(path)
        except OSError as error:
            self._note(path, "cannot be read through ({why})", why=reason(error))

    def _nothing_new(self, path: str) -> None:
        """Attack on a person's work: a file made in a directory that is about to go with it."""
        for name in sorted(self.tree.names(path)):
            inner = f"{path}/{name}"
            if not self._goes_too(inner):
                self._note(inner, "is new in {path}, which would be removed", path=path)

    def _goes_too(self, path: str) -> bool:
        item = self._find(path)
        if item is not None and item.did is Did.DELETED:
            return True
        if self._moved is None:
            self._moved = frozenset(item.renamed_from for item in self._items)
        return path in self._moved

    def _untouched(self, path: str) -> None:
        for inner, status in self.tree.below(path):
            moment = status.st_ctime_ns
            if moment > self.began_ns and not self.ours(moment, copied=True):
                self._note(inner, "has changed since in {path}, which would be moved", path=path)

    def check_undo(self, journal: Journal) -> list[Conflict]:
        """Everything that keeps an apply from being taken back."""
        marked = found_in(journal.placed)
        for mark in journal.placed:
            # A directory that its owner closed still is, by its own mark, with what was in it.
            with suppress(PermissionError):
                now = self._status(mark.path)
                if now is None:
                    self._note(mark.path, "is not there any more")
                elif not self._is(mark, now):
                    self._note(mark.path, "has changed since")
        for path in journal.trees:
            if (status := self._status(path)) is None or not stat.S_ISDIR(status.st_mode):
                continue  # noted above
            for inner, _ in self.tree.below(path, skip_closed=True):
                if marked(inner) is None:
                    self._note(inner, "is new since, in a directory that would be removed")
        for path in _left_empty(journal):
            if self._status(path) is not None:
                self._note(path, "has been made by someone else since")
        for directory in journal.directories:
            if directory.meant and marked(directory.path) is None:
                self._rights_as_left(directory)
        return self.found

    def _rights_as_left(self, directory: TouchedDirectory) -> None:
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
    came = {step.path for step in journal.steps if step.kind in (StepKind.PUT, StepKind.MAKE)}
    went = (step.path for step in journal.steps if step.kind in (StepKind.TAKE, StepKind.REMOVE))
    return [path for path in went if path not in came]
