"""Does the steps of a journal and takes them back; knows by the slots alone which are done."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from redoma.jail.kernel.openat2 import exchange, move
from redoma.jail.overlay.journal import Attributes, Kind, Step
from redoma.model.errors import ApplyConflict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from redoma.jail.overlay.below import Beneath
    from redoma.jail.overlay.journal import Directory


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
        """One step forward."""
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

    def take_back(self, step: Step) -> None:
        """The same step the other way round."""
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
        directory, name = self.ground.parent(path)
        os.mkdir(name, 0o700, dir_fd=directory)

    def _remove(self, path: str) -> None:
        directory, name = self.ground.parent(path)
        os.rmdir(name, dir_fd=directory)

    def _put(self, step: Step) -> None:
        try:
            move(self.slots.parent(step.slot), self.ground.parent(step.path))
        except FileExistsError:
            raise _raced(step.path) from None

    def _take(self, step: Step, expected: int) -> None:
        move(self.ground.parent(step.path), self.slots.parent(step.slot))
        self._compare(step, expected)

    def _swap(self, step: Step, expected: int) -> None:
        exchange(self.ground.parent(step.path), self.slots.parent(step.slot))
        self._compare(step, expected)

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
    for directory, wanted in order:
        if wanted is not None:
            with moving.ground.opened(directory.path, os.O_PATH | os.O_DIRECTORY) as fd:
                set_attributes(f"/proc/self/fd/{fd}", wanted)


def set_attributes(place: str, wanted: Attributes) -> None:
    """Makes a directory's attributes these, and touches none that already are."""
    found = os.stat(place)
    if wanted.xattrs is not None:
        for name in os.listxattr(place):
            if name.startswith("user.") and name not in dict(wanted.xattrs):
                os.removexattr(place, name)
        for name, value in wanted.xattrs:
            if _attribute(place, name) != value:
                os.setxattr(place, name, value)
    if (found.st_uid, found.st_gid) != (wanted.uid, wanted.gid):
        os.chown(place, wanted.uid, wanted.gid)
    if stat.S_IMODE(os.stat(place).st_mode) != wanted.mode:
        os.chmod(place, wanted.mode)
    if wanted.mtime_ns >= 0 and os.stat(place).st_mtime_ns != wanted.mtime_ns:
        os.utime(place, ns=(found.st_atime_ns, wanted.mtime_ns))


def _attribute(place: str, name: str) -> bytes | None:
    with suppress(OSError):
        return os.getxattr(place, name)
    return None
