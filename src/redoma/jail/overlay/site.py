"""Where an apply works: the workspace, the layer, and whether names can move between the two."""

from __future__ import annotations

import os
from contextlib import suppress

from redoma.jail.kernel.openat2 import can_exchange, flush_file_system
from redoma.jail.overlay.below import Beneath
from redoma.jail.overlay.carrying import FEW
from redoma.jail.overlay.journal import Window
from redoma.jail.overlay.planning import Ways
from redoma.model.errors import ChangeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from redoma.jail.overlay.journal import Mark

_REGULAR = 0o100000


class Site:
    """Both sides of one transaction, opened; whoever replaces a directory later changes nothing."""

    def __init__(self, workspace: str, root: tuple[int, int], layer: str) -> None:
        self.workspace = workspace
        self.directory = layer
        gone = f"the workspace {workspace} is not there any more"
        try:
            self.ground = Beneath(workspace)
        except OSError:
            raise ChangeError(gone, hint="nothing was changed; redoma history") from None
        try:
            status = os.fstat(self.ground.root)
            # Attack: another directory, or a link to one, stands where the workspace stood.
            if (status.st_dev, status.st_ino) != root:
                raise ChangeError(f"{gone}: another directory stands in its place")
            self.home = Beneath(layer)
            # A second look at the workspace, for slots that are worked on inside it.
            self.inside = Beneath(f"/proc/self/fd/{self.ground.root}/.")
        except OSError:
            self.ground.close()
            raise ChangeError(f"the layer {layer} is not there any more") from None
        except ChangeError:
            self.ground.close()
            raise
        self.copies = mount_of(self.ground.root) != mount_of(self.home.root)
        self.in_overlay = _kind_of(self.ground.root) == "overlay"

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
        # Attack: the layer is the workspace owner's, who puts a link there for root to follow.
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
            if mark.mode & 0o170000 == _REGULAR:
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
    with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as file:
        for line in file:
            if line.startswith("mnt_id:"):
                return int(line.split()[1])
    raise ChangeError("the kernel does not tell what is mounted where")


def _kind_of(fd: int) -> str:
    number = mount_of(fd)
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            fields, _, rest = line.partition(" - ")
            if int(fields.split(" ", 1)[0]) == number:
                return rest.split(" ", 1)[0]
    return ""
