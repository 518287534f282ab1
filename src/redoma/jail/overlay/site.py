"""Where an apply works: the workspace and the overlay, and the moves between the two.

A move knows by its slot alone whether it is done: the slots lie in a directory of ours.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from redoma.jail.kernel.syscalls import can_exchange, exchange, flush_file_system, move
from redoma.jail.overlay.beneath import Beneath, own_attributes
from redoma.jail.overlay.failure import at
from redoma.jail.overlay.journal import Attributes, JournalStep, StepKind, Window
from redoma.jail.overlay.placement import Mounts
from redoma.model.errors import ApplyConflict, ChangeError
from redoma.model.message import Message
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from redoma.jail.overlay.journal import Mark, TouchedDirectory

# More files than this are brought to disk all at once, with everything else on their file system.
FEW = 64
_DOING = {
    StepKind.PUT: "moved into the workspace",
    StepKind.TAKE: "moved out of the workspace",
    StepKind.SWAP: "replaced in the workspace",
    StepKind.MAKE: "made in the workspace",
    StepKind.REMOVE: "removed from the workspace",
}
_LEAVES = (StepKind.TAKE, StepKind.SWAP, StepKind.REMOVE)


class Ways(Value):
    """What the workspace's file system lets us do."""

    exchanges: bool = True
    # False: a directory that was there before cannot be renamed (a workspace that is an overlay).
    moves_directories: bool = True


class Site:
    """Both sides of one transaction, opened; whoever replaces a directory later changes nothing."""

    def __init__(self, workspace: str, root: tuple[int, int], overlay: str) -> None:
        self.workspace = workspace
        self.directory = overlay
        gone = Message("the workspace {workspace} is not there any more", workspace=workspace)
        try:
            self.ground = Beneath(workspace)
        except OSError:
            raise ChangeError(gone, hint="nothing was changed; redoma history") from None
        try:
            status = os.fstat(self.ground.root)
            # Attack: another directory, or a link to one, stands where the workspace stood.
            if (status.st_dev, status.st_ino) != root:
                raise ChangeError(
                    "{what}: another directory stands in its place", what=Message(gone)
                )
            self.home = Beneath(overlay)
            # A second look at the workspace, for slots that are worked on inside it.
            self.inside = Beneath(f"/proc/self/fd/{self.ground.root}/.")
        except OSError:
            self.ground.close()
            raise ChangeError(
                "the overlay {overlay} is not there any more", overlay=overlay
            ) from None
        except ChangeError:
            self.ground.close()
            raise
        self.copies = mount_of(self.ground.root) != mount_of(self.home.root)
        self.in_overlay = Mounts().kind_of(mount_of(self.ground.root)) == "overlay"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for tree in (self.ground, self.home, self.inside):
            tree.close()

    def ways(self) -> Ways:
        """What can be done here."""
        with self.ground.opened(".", os.O_RDONLY | os.O_DIRECTORY) as fd:
            exchanges = can_exchange(fd) and not self.in_overlay
        return Ways(exchanges=exchanges, moves_directories=not self.in_overlay)

    def now(self) -> int:
        """The time by the clock that change times are taken from."""
        # Attack: the overlay is the workspace owner's, who puts a link there for root to follow.
        flags = os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open("clock", flags, 0o600, dir_fd=self.home.root)
        try:
            os.utime(fd)
            return os.fstat(fd).st_ctime_ns
        finally:
            os.close(fd)

    def window(self, start: int, *, copied: bool = False) -> Window:
        """The time from `start` until now, in which only we were at work."""
        return Window(start=start, end=self.now(), copied=copied)

    def settle(self, placed: Iterable[Mark], slots: dict[str, str]) -> None:
        """What is about to replace something is on disk first.

        A machine that loses its power must not keep an empty file in place of a full one.
        """
        files = []
        for mark in placed:
            if stat.S_ISREG(mark.mode):
                files.append(mark)
                if len(files) > FEW:
                    break
        if len(files) > FEW:
            with self.home.opened(".", os.O_RDONLY | os.O_DIRECTORY) as fd:
                flush_file_system(fd)
            return
        for mark in files:
            # One that we may not open was closed by the command; its bytes follow in time.
            slot = slots.get(mark.path, f"upper/{mark.path}")
            with suppress(OSError), self.home.opened(slot, os.O_RDONLY | os.O_NONBLOCK) as fd:
                os.fdatasync(fd)


def mount_of(fd: int) -> int:
    """The number of the mount that a descriptor lies on: names move only within one."""
    with open(f"/proc/self/fdinfo/{fd}", encoding="utf-8") as file:
        for line in file:
            if line.startswith("mnt_id:"):
                return int(line.split()[1])
    raise ChangeError("the kernel does not tell what is mounted where")


class Mover:
    """The workspace on one side, the slots on the other."""

    def __init__(self, ground: Beneath, slots: Beneath, *, keeps_inodes: bool = True) -> None:
        self.ground = ground
        self.slots = slots
        # A workspace that is itself an overlay gives a moved file another number.
        self.keeps_inodes = keeps_inodes

    def is_done(self, step: JournalStep) -> bool:
        """Whether a step has been done.

        Attack: someone else puts things in the workspace to make us believe so; therefore only
        the slot is asked, which lies in a directory of ours.
        """
        if step.kind in (StepKind.MAKE, StepKind.REMOVE):
            return (self.ground.status(step.path) is not None) == (step.kind is StepKind.MAKE)
        found = self.slots.status(step.slot)
        if step.kind is StepKind.PUT:
            return found is None
        if step.kind is StepKind.TAKE:
            return found is not None
        return found is None or found.st_ino != step.comes

    def do(self, step: JournalStep) -> None:
        """One step forward; an error names its path."""
        with at(step.path, _DOING[step.kind]):
            self._do(step)

    def take_back(self, step: JournalStep) -> None:
        """The same step the other way round."""
        with at(step.path, "put back" if step.kind in _LEAVES else "taken back out"):
            self._take_back(step)

    def _do(self, step: JournalStep) -> None:
        if step.kind is StepKind.MAKE:
            self._make(step.path)
        elif step.kind is StepKind.REMOVE:
            self._remove(step.path)
        elif step.kind is StepKind.PUT:
            self._put(step)
        elif step.kind is StepKind.TAKE:
            self._take(step, step.leaves)
        else:
            self._swap(step, step.leaves)

    def _take_back(self, step: JournalStep) -> None:
        if step.kind is StepKind.MAKE:
            self._remove(step.path)
        elif step.kind is StepKind.REMOVE:
            self._make(step.path)
        elif step.kind is StepKind.PUT:
            self._take(step, step.comes)
        elif step.kind is StepKind.TAKE:
            self._put(step)
        else:
            self._swap(step, step.comes)

    def _make(self, path: str) -> None:
        self.ground.forget(path)
        directory, name = self.ground.parent(path)
        os.mkdir(name, 0o700, dir_fd=directory)

    def _remove(self, path: str) -> None:
        self.ground.forget(path)
        directory, name = self.ground.parent(path)
        os.rmdir(name, dir_fd=directory)

    def _put(self, step: JournalStep) -> None:
        self._forget(step)
        try:
            move(self.slots.parent(step.slot), self.ground.parent(step.path))
        except FileExistsError:
            raise _raced(step.path) from None

    def _take(self, step: JournalStep, expected: int) -> None:
        self._forget(step)
        move(self.ground.parent(step.path), self.slots.parent(step.slot))
        self._compare(step, expected)

    def _swap(self, step: JournalStep, expected: int) -> None:
        self._forget(step)
        exchange(self.ground.parent(step.path), self.slots.parent(step.slot))
        self._compare(step, expected)

    def _forget(self, step: JournalStep) -> None:
        """What stands at either path from now on is another thing than what was looked at."""
        self.ground.forget(step.path)
        self.slots.forget(step.slot)

    def _compare(self, step: JournalStep, expected: int) -> None:
        """Attack: the path was replaced between the look and the move; then it goes back."""
        found = self.slots.status(step.slot)
        if expected and self.keeps_inodes and (found is None or found.st_ino != expected):
            raise _raced(step.path)


def _raced(path: str) -> ApplyConflict:
    return ApplyConflict(
        Message(
            "{path} was changed by someone else in this very moment; nothing was changed", path=path
        ),
        paths=(path,),
        hint="try again",
    )


def open_up(moving: Mover, directories: Iterable[TouchedDirectory]) -> None:
    """Gives the owner the rights that moving things in these directories needs."""
    for directory in directories:
        with at(directory.path, "opened to its owner"):
            open_to_owner(moving.ground, directory.path)
            open_to_owner(moving.slots, directory.slot)


def open_to_owner(tree: Beneath, path: str) -> None:
    """Gives a directory's owner all rights in it; what is none, or not ours, stays as it is."""
    if os.geteuid() == 0 or not path:
        return
    try:
        with tree.opened(path, os.O_PATH | os.O_DIRECTORY) as fd:
            status = os.fstat(fd)
            if status.st_mode & 0o700 != 0o700 and status.st_uid == os.geteuid():
                os.chmod(f"/proc/self/fd/{fd}", stat.S_IMODE(status.st_mode) | 0o700)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise


def close_down(
    moving: Mover, directories: Iterable[tuple[TouchedDirectory, Attributes | None]]
) -> None:
    """Gives each directory the attributes it should have, the deepest first."""
    order = sorted(directories, key=lambda pair: pair[0].path.count("/"), reverse=True)
    order.sort(key=lambda pair: pair[0].path == ".")
    failed: OSError | None = None
    for directory, wanted in order:
        if wanted is None:
            continue
        try:
            with at(directory.path, "given its attributes"):
                with moving.ground.opened(directory.path, os.O_PATH | os.O_DIRECTORY) as fd:
                    set_attributes(f"/proc/self/fd/{fd}", wanted)
                moving.ground.settle(directory.path)
        except OSError as error:
            failed = failed or error  # the others get theirs all the same
    if failed is not None:
        raise failed


def set_attributes(place: str, wanted: Attributes) -> None:
    """Makes a directory's attributes these, and touches none that already are."""
    found = os.stat(place)
    if wanted.xattrs is not None:
        there = dict(own_attributes(place, in_overlay=False, follow=True))
        for name in there.keys() - dict(wanted.xattrs).keys():
            os.removexattr(place, name)
        for name, value in wanted.xattrs:
            if there.get(name) != value:
                os.setxattr(place, name, value)
    if (found.st_uid, found.st_gid) != (wanted.uid, wanted.gid):
        os.chown(place, wanted.uid, wanted.gid)
    if stat.S_IMODE(os.stat(place).st_mode) != wanted.mode:
        os.chmod(place, wanted.mode)
    if os.geteuid() not in (0, found.st_uid):
        return  # its times are for its owner to set
    if wanted.mtime_ns is not None and os.stat(place).st_mtime_ns != wanted.mtime_ns:
        os.utime(place, ns=(found.st_atime_ns, wanted.mtime_ns))
