"""Does the steps of a journal and takes them back; knows by the slots alone which are done."""

from __future__ import annotations

import errno
import os
import stat

from redoma.jail.kernel.openat2 import exchange, move
from redoma.jail.overlay.failure import at
from redoma.jail.overlay.journal import Attributes, Kind, Step
from redoma.jail.overlay.marks import own_attributes
from redoma.model.errors import ApplyConflict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from redoma.jail.overlay.below import Beneath
    from redoma.jail.overlay.journal import Directory


_DOING = {
    Kind.PUT: "moved into the workspace",
    Kind.TAKE: "moved out of the workspace",
    Kind.SWAP: "replaced in the workspace",
    Kind.MAKE: "made in the workspace",
    Kind.REMOVE: "removed from the workspace",
}
_LEAVES = (Kind.TAKE, Kind.SWAP, Kind.REMOVE)


class Moving:
    """The workspace on one side, the slots on the other."""

    def __init__(self, ground: Beneath, slots: Beneath, *, keeps_inodes: bool = True) -> None:
        self.ground = ground
        self.slots = slots
        # A workspace that is itself a layer gives a moved file another number.
        self.keeps_inodes = keeps_inodes

    def is_done(self, step: Step) -> bool:
        """Whether a step has been done.

        Attack: someone else puts things in the workspace to make us believe so; therefore only
        the slot is asked, which lies in a directory of ours.
        """
        if step.kind in (Kind.MAKE, Kind.REMOVE):
            return (self.ground.status(step.path) is not None) == (step.kind is Kind.MAKE)
        held = self.slots.status(step.slot)
        if step.kind is Kind.PUT:
            return held is None
        if step.kind is Kind.TAKE:
            return held is not None
        return held is None or held.st_ino != step.comes

    def do(self, step: Step) -> None:
        """One step forward; an error names its path."""
        with at(step.path, _DOING[step.kind]):
            self._do(step)

    def take_back(self, step: Step) -> None:
        """The same step the other way round."""
        with at(step.path, "put back" if step.kind in _LEAVES else "taken back out"):
            self._take_back(step)

    def _do(self, step: Step) -> None:
        if step.kind is Kind.MAKE:
            self._make(step.path)
        elif step.kind is Kind.REMOVE:
            self._remove(step.path)
        elif step.kind is Kind.PUT:
            self._put(step)
        elif step.kind is Kind.TAKE:
            self._take(step, step.leaves)
        else:
            self._swap(step, step.leaves)

    def _take_back(self, step: Step) -> None:
        if step.kind is Kind.MAKE:
            self._remove(step.path)
        elif step.kind is Kind.REMOVE:
            self._make(step.path)
        elif step.kind is Kind.PUT:
            self._take(step, step.comes)
        elif step.kind is Kind.TAKE:
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

    def _put(self, step: Step) -> None:
        self._forget(step)
        try:
            move(self.slots.parent(step.slot), self.ground.parent(step.path))
        except FileExistsError:
            raise _raced(step.path) from None

    def _take(self, step: Step, expected: int) -> None:
        self._forget(step)
        move(self.ground.parent(step.path), self.slots.parent(step.slot))
        self._compare(step, expected)

    def _swap(self, step: Step, expected: int) -> None:
        self._forget(step)
        exchange(self.ground.parent(step.path), self.slots.parent(step.slot))
        self._compare(step, expected)

    def _forget(self, step: Step) -> None:
        """What stands at either path from now on is another thing than what was looked at."""
        self.ground.forget(step.path)
        self.slots.forget(step.slot)

    def _compare(self, step: Step, expected: int) -> None:
        """Attack: the path was replaced between the look and the move; then it goes back."""
        held = self.slots.status(step.slot)
        if expected and self.keeps_inodes and (held is None or held.st_ino != expected):
            raise _raced(step.path)


def _raced(path: str) -> ApplyConflict:
    return ApplyConflict(
        f"{path} was changed by someone else in this very moment; nothing was changed",
        paths=(path,),
        hint="try again",
    )


def open_up(moving: Moving, directories: Iterable[Directory]) -> None:
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


def close_down(moving: Moving, directories: Iterable[tuple[Directory, Attributes | None]]) -> None:
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
