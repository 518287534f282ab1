"""Turns chosen changes into the steps of a journal: as few moves as there can be."""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress

from redoma.base import own_directories
from redoma.base.paths import is_below
from redoma.jail.overlay.beneath import strip_marks
from redoma.jail.overlay.failure import at
from redoma.jail.overlay.journal import (
    FORMS,
    Attributes,
    Journal,
    JournalStep,
    Mark,
    StepKind,
    TouchedDirectory,
    attributes_after,
    attributes_now,
)
from redoma.jail.overlay.placement import Mounts
from redoma.jail.overlay.selection import (
    Roots,
    in_order,
    is_directory,
    leaves_directory,
    parents,
    refuse_forbidden,
    replaces_kind,
    was_directory,
)
from redoma.jail.overlay.site import Ways
from redoma.jail.overlay.spool import Spooler, found_in
from redoma.model.change import Did
from redoma.model.errors import ApplyConflict
from redoma.model.message import Message
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from redoma.jail.overlay.beneath import Beneath
    from redoma.model.change import Change, Changes, FileState

UPPER = "upper"


class Planner:
    """Plans one apply; looks at both sides, and changes neither but for the overlay's marks."""

    def __init__(
        self,
        changes: Changes,
        chosen: Sequence[Change],
        *,
        number: int,
        ground: Beneath,
        home: Beneath,
        ways: Ways,
        contents: Mapping[str, str],
    ) -> None:
        self.changes = changes
        self.chosen = chosen
        self.number = number
        self.ground = ground
        self.home = home
        self.ways = ways
        # By path: the slot of a content that a person put together instead of the overlay's.
        self.contents = contents
        self.steps = Spooler(FORMS["steps"], own_directories.made_state())
        self.placed = Spooler(FORMS["placed"], own_directories.made_state())
        self.paths = Spooler(FORMS["paths"], own_directories.made_state())
        self.trees: list[str] = []
        self.moved: list[tuple[str, str]] = []  # directories that move themselves, and their slots
        self.size = 0
        self._mounts = Mounts()
        self._find = found_in(changes.items)
        # Where everything is applied, no question about the rest needs an answer.
        self._whole = chosen is changes.items

    def journal(self) -> Journal:
        """The whole plan."""
        refuse_forbidden(self.changes.id, self.chosen, self.ground)
        self._count()
        self._open_closed()
        if self.ways.moves_directories:
            self._plan_going()
        else:
            self._plan_going_apart()
        self._plan_coming()
        steps = self.steps.sealed()
        status = os.fstat(self.ground.root)
        return Journal(
            number=self.number,
            workspace=self.changes.workspace,
            root=(status.st_dev, status.st_ino),
            steps=steps,
            directories=self._directories(steps),
            placed=self.placed.sealed(),
            trees=tuple(self.trees),
            paths=self.paths.sealed(),
            size=self.size,
        )

    def _count(self) -> None:
        """Which new directories come with everything that is in them."""
        self._missing: set[str] = set()
        chosen = None if self._whole else found_in(self.chosen)
        for item in self.changes.items:
            apart = item.path in self.contents or self._links_to(item)
            if apart or (chosen is not None and chosen(item.path) is None):
                for parent in parents(item.path):
                    if parent in self._missing:
                        break
                    self._missing.add(parent)

    def _open_closed(self) -> None:
        """Opens directories of the overlay that their owner closed, until the end.

        What lies in them could be neither looked at nor moved.
        """
        self._closed: dict[str, Change] = {}
        for item in self.chosen if os.geteuid() != 0 else ():
            if is_directory(item) and item.after is not None and item.after.mode & 0o700 != 0o700:
                self._closed[item.path] = item
                with at(item.path, "opened to its owner"):
                    if self.home.status(f"{UPPER}/{item.path}") is not None:
                        os.chmod(self.home.named(f"{UPPER}/{item.path}"), item.after.mode | 0o700)

    def _links_to(self, item: Change) -> str:
        """The path of which this one is a second name, where that path itself does not change."""
        link = item.hard_link_of
        return link if link and self._find(link) is None else ""

    def _slot(self) -> str:
        return f"old-{self.number}/{len(self.steps)}"

    def _plan_going(self) -> None:
        """What leaves the workspace and is not replaced in the same move, whole trees at once."""
        whole: list[str] = []  # directories that go with all that is in them
        renamed: list[tuple[str, bool]] = []
        for item in self.chosen:
            if item.did is Did.RENAMED:
                renamed.append((item.renamed_from, was_directory(item)))
            elif not (whole and is_below(item.path, whole[-1])):
                replaced = replaces_kind(item) and was_directory(item)
                if item.did is Did.DELETED or (replaced and not self._swaps(item)):
                    self._take(item.path)
                if was_directory(item) and (item.did is Did.DELETED or replaced):
                    whole.append(item.path)
        roots = Roots((*whole, *(path for path, directory in renamed if directory)))
        for path, _ in sorted(renamed, key=lambda pair: in_order(pair[0])):
            if not roots.around(path):
                self._take(path)

    def _plan_going_apart(self) -> None:
        """The same where no directory can be renamed: file by file, and the directories at last."""
        removed: list[str] = []
        for item in self.chosen:
            path = item.renamed_from or item.path
            goes = item.did is Did.DELETED or item.did is Did.RENAMED
            if not goes and not (replaces_kind(item) and was_directory(item)):
                continue
            if not was_directory(item):
                self._take(path)
                continue
            removed.append(path)
            if item.did is Did.RENAMED:
                for inner, status in self.ground.below(path):
                    if stat.S_ISDIR(status.st_mode):
                        removed.append(inner)
                    else:
                        self._take(inner)
        for path in sorted(removed, key=lambda path: path.count("/"), reverse=True):
            self.steps.append(JournalStep(kind=StepKind.REMOVE, path=path))

    def _swaps(self, item: Change) -> bool:
        return self.ways.exchanges and (self.ways.moves_directories or not was_directory(item))

    def _standing(self, path: str) -> os.stat_result:
        """What stands at a path that was there a moment ago.

        Attack: a parent is replaced between that look and this one.
        """
        with at(path, "looked at"):
            status = self.ground.status(path)
        if status is None:
            told = Message("{path} is not there any more\nnothing was applied", path=path)
            raise ApplyConflict(told, paths=[path], hint="try again")
        return status

    def _take(self, path: str) -> None:
        status = self._standing(path)
        slot = self._slot()
        self._weigh(path, status)
        if stat.S_ISDIR(status.st_mode):
            self._refuse_mounts(path)
            self.moved.append((path, slot))
        self.steps.append(
            JournalStep(kind=StepKind.TAKE, path=path, slot=slot, leaves=status.st_ino)
        )

    def _refuse_mounts(self, path: str) -> None:
        """Attack: what is mounted in a directory goes with it, and is removed with the overlay."""
        place = f"{self.changes.workspace.rstrip('/')}/{path}"
        if place in self._mounts.points() or self._mounts.below(place):
            told = "{path} cannot be moved: something is mounted there\nnothing was applied"
            raise ApplyConflict(
                Message(told, path=path),
                paths=[path],
                hint=Message("unmount it, or redoma discard {id}", id=self.changes.id),
            )

    def _weigh(self, path: str, status: os.stat_result) -> None:
        self.size += status.st_blocks * 512
        if stat.S_ISDIR(status.st_mode):
            with suppress(PermissionError):  # what its owner closed is not looked into for this
                self.size += sum(inner.st_blocks * 512 for _, inner in self.ground.below(path))

    def _plan_coming(self) -> None:
        whole = ""
        for item in self.chosen:
            self.paths.append(item.path)
            if item.did is Did.DELETED:
                continue
            if whole and item.path.startswith(whole):
                self._mark(item.path, f"{UPPER}/{item.path}")
                if item.did is Did.RENAMED:
                    self._mark_below(item)
                continue
            if leaves_directory(item):
                continue
            if is_directory(item) and item.path in self._missing:
                if item.did is Did.MODIFIED:
                    self._take(item.path)
                self.steps.append(JournalStep(kind=StepKind.MAKE, path=item.path))
                self.trees.append(item.path)
                assert item.after is not None
                self.placed.append(_made(item.path, item.after))
                continue
            self._bring(item)
            if is_directory(item):
                whole = item.path + "/"
                self.trees.append(item.path)
                if item.did is Did.RENAMED:
                    self._mark_below(item)

    def _mark_below(self, item: Change) -> None:
        """What moved along with a directory is no item of its own."""
        if is_directory(item):
            for inner, _ in self.home.below(f"{UPPER}/{item.path}"):
                self._mark(inner.removeprefix(f"{UPPER}/"), inner)

    def _bring(self, item: Change) -> None:
        """One path that comes from the overlay, in place of what stands there."""
        vacated = replaces_kind(item) and was_directory(item) and not self._swaps(item)
        link_of = self._links_to(item)
        replaced = item.before is not None and item.did is not Did.RENAMED and not vacated
        if replaced and not self._swaps(item):
            self._take(item.path)
        slot = self.contents.get(item.path) or (self._slot() if link_of else f"{UPPER}/{item.path}")
        if link_of:
            status = self._standing(link_of)
            self.placed.append(_mark(item.path, status))
        else:
            status = self._mark(item.path, slot)
        swap = replaced and self._swaps(item)
        leaves = 0
        if swap:
            standing = self._standing(item.path)
            if stat.S_ISDIR(standing.st_mode):
                self._refuse_mounts(item.path)
            self._weigh(item.path, standing)
            leaves = standing.st_ino
        if is_directory(item) or (swap and was_directory(item)):
            self.moved.append((item.path, slot))
        self.steps.append(
            JournalStep(
                kind=StepKind.SWAP if swap else StepKind.PUT,
                path=item.path,
                slot=slot,
                leaves=leaves,
                comes=status.st_ino,
                link_of=link_of,
            )
        )

    def _mark(self, path: str, slot: str) -> os.stat_result:
        """Notes what comes, freed of the marks that only mean something inside an overlay."""
        with at(path, "read in the overlay"):
            status = self.home.status(slot)
            if status is None:
                raise FileNotFoundError(errno.ENOENT, "it is missing there")
            strip_marks(self.home.named(slot))
            status = self.home.status(slot)
            assert status is not None
        mark = _mark(path, status)
        if path in self._closed and (after := self._closed[path].after):
            mark = replace(mark, mode=stat.S_IFDIR | after.mode)
        self.placed.append(mark)
        return status

    def _directories(self, steps: Sequence[JournalStep]) -> tuple[TouchedDirectory, ...]:
        touched: dict[str, TouchedDirectory] = {}
        partial = self._partial()
        item_at = self._find if self._whole else found_in(self.chosen)
        for step in steps:
            path = step.path.rpartition("/")[0] or "."
            if path not in touched:
                touched[path] = self._parent(path, item_at(path), complete=path not in partial)
            if step.kind is StepKind.REMOVE:
                touched[step.path] = TouchedDirectory(path=step.path, before=self._now(step.path))
        if "." not in touched:  # its times are set again where slots are worked on inside it
            touched["."] = replace(self._parent(".", None, complete=False), after=self._now("."))
        for item in self.chosen:
            if leaves_directory(item) and (item.path not in touched or item.path == "."):
                touched[item.path] = self._parent(item.path, item, complete=False)
            elif is_directory(item) and item.path in self._missing and item.after is not None:
                touched[item.path] = TouchedDirectory(
                    path=item.path,
                    after=attributes_after(item.after),
                    slot=f"{UPPER}/{item.path}",
                    meant=True,
                )
        for path, slot in self.moved:
            before, after = self._now(path), None
            status = self.home.status(slot)
            if status is not None and stat.S_ISDIR(status.st_mode):
                after = attributes_now(status)
            touched[path] = TouchedDirectory(path=path, before=before, after=after, slot=slot)
        for path, item in self._closed.items():
            if item.after is not None and not leaves_directory(item):
                before = touched[path].before if path in touched else None
                slot = f"{UPPER}/{path}"
                after = attributes_after(item.after)
                touched[path] = TouchedDirectory(path=path, before=before, after=after, slot=slot)
        return tuple(touched[path] for path in sorted(touched, key=in_order))

    def _parent(self, path: str, item: Change | None, *, complete: bool) -> TouchedDirectory:
        before = self._now(path)
        inside = UPPER if path == "." else f"{UPPER}/{path}"
        if item is not None and leaves_directory(item) and item.before and item.after and before:
            return TouchedDirectory(
                path=path,
                before=replace(before, xattrs=item.before.xattrs),
                after=attributes_after(item.after),
                slot=inside,
                meant=True,
            )
        after = before
        overlay = self.home.status(inside)
        if before is not None:
            moment = overlay.st_mtime_ns if complete and overlay is not None else time.time_ns()
            after = replace(before, mtime_ns=moment)
        return TouchedDirectory(path=path, before=before, after=after, slot=inside)

    def _now(self, path: str) -> Attributes | None:
        with at(path, "looked at"):
            status = self.ground.status(path)
        return (
            attributes_now(status) if status is not None and stat.S_ISDIR(status.st_mode) else None
        )

    def _partial(self) -> set[str]:
        """Directories in which not every change is applied: the others get the command's time."""
        partial: set[str] = set()
        if self._whole:
            return partial
        chosen = found_in(self.chosen)
        for item in self.changes.items:
            if chosen(item.path) is None:
                for path in (item.path, item.renamed_from):
                    if path:
                        partial.add(path.rpartition("/")[0] or ".")
        return partial


def _mark(path: str, status: os.stat_result) -> Mark:
    return Mark(
        path=path,
        mode=status.st_mode,
        uid=status.st_uid,
        gid=status.st_gid,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        ctime_ns=status.st_ctime_ns,
        inode=status.st_ino,
    )


def _made(path: str, after: FileState) -> Mark:
    return Mark(path=path, mode=stat.S_IFDIR | after.mode, uid=after.uid, gid=after.gid)
