"""Where an overlay can lie: which file systems are mounted where, and what each of them takes.

An overlay lies on the workspace's own file system if that can be had, so that what it holds is
applied by renaming, whatever its size.
"""

from __future__ import annotations

import os
from contextlib import suppress

from redoma.base import own_directories
from redoma.base.paths import is_below, is_within
from redoma.jail.kernel.process import is_machines_root
from redoma.jail.overlay.beneath import names_others
from redoma.model.errors import EngineFailed
from redoma.model.message import Message
from redoma.model.value import Value

OVERLAY = "overlay"  # only what changed lies in the overlay
COPY = "copy"  # the whole workspace was copied: an overlay could not be had
_SHARED_MEMORY = "/dev/shm"
_MEMORY = ("tmpfs", "ramfs")
_TRIED = "user.redoma"
# Where the kernel takes no overlay, or takes one and then fails in the middle of a run.
_NO_OVERLAYS = frozenset("overlay aufs nfs nfs4 cifs smb3 vfat exfat ntfs3 9p ecryptfs".split())
# Where one file has several spellings: the kernel covers none of these.
NO_COVER = frozenset("vfat msdos exfat ntfs ntfs3 hfs hfsplus".split())
_KERNELS_OWN = frozenset(
    "proc sysfs devtmpfs devpts cgroup cgroup2 debugfs tracefs securityfs configfs bpf mqueue"
    " pstore efivarfs hugetlbfs binfmt_misc fusectl autofs rpc_pipefs nsfs".split()
)


def takes_no_overlay(kind: str) -> bool:
    """Whether a kind of file system takes no overlays, and shows no owner as another."""
    return kind in _NO_OVERLAYS or kind.startswith("fuse")


class Mount(Value):
    """One mount: its number, where it is, and what kind of file system."""

    id: int
    point: str
    kind: str


class Mounts:
    """The table of mounts, as it stands now."""

    def __init__(self) -> None:
        with open("/proc/self/mountinfo", errors="surrogateescape") as file:
            text = file.read()
        known = _read.get(text)
        if known is None:
            known = [_mount(line) for line in text.split("\n") if line], {}
            _read.clear()
            _read[text] = known
        self.text = text
        self._all, self._found = known

    def of(self, path: str) -> Mount:
        """The mount on which a real path lies: of those on the way, the last and deepest."""
        known = self._found.get(path)
        if known is not None:
            return known
        found = self._all[0]
        depth = -1
        for mount in self._all:
            point = mount.point.rstrip("/")
            if len(point) >= depth and is_within(path, point):
                found, depth = mount, len(point)
        self._found[path] = found
        return found

    def kind_of(self, number: int) -> str:
        """The kind of file system that the mount with this number has."""
        return next((mount.kind for mount in self._all if mount.id == number), "")

    def points(self) -> set[str]:
        """Every place where something is mounted."""
        return {mount.point for mount in self._all}

    def below(self, path: str) -> list[str]:
        """Where something is mounted below a directory."""
        return sorted({m.point for m in self._all if is_below(m.point, path)})

    def outermost(self, path: str) -> list[str]:
        """The same, without what is mounted in one of the others."""
        found: list[str] = []
        for point in self.below(path):
            if not found or not is_below(point, found[-1]):
                found.append(point)
        return found

    def can_be_shown(self, point: str) -> bool:
        """Whether what is mounted at a point may be seen by a command, and can be.

        Attack: the kernel's own file systems tell of every process of the machine.
        """
        kind = self.of(point).kind
        if kind in _KERNELS_OWN or kind in NO_COVER or self.below(point):
            return False
        return os.geteuid() != 0 or not takes_no_overlay(kind)


# The table that was read last, and what was looked up in it: it seldom changes.
_read: dict[str, tuple[list[Mount], dict[str, Mount]]] = {}


def _mount(line: str) -> Mount:
    fields, _, rest = line.partition(" - ")
    parts = fields.split(" ")
    return Mount(id=int(parts[0]), point=_plain(parts[4]), kind=rest.split(" ", 1)[0])


def _plain(point: str) -> str:
    if "\\" not in point:
        return point
    import re

    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), point)


class OverlayPlace(Value):
    """A directory of ours for overlays of one workspace, and what is to be had there."""

    directory: str
    kind: str = OVERLAY
    renames: bool = True
    in_memory: bool = False
    notes: tuple[str, ...] = ()

    @property
    def overlays(self) -> str:
        """The directory of the overlays themselves; others may pass through it, but not list it."""
        return f"{self.directory}/layers"


def place_for(workspace: str) -> OverlayPlace:
    """The best place for overlays of this workspace."""
    mounts = Mounts()
    status = os.stat(workspace)
    owner = (status.st_uid, status.st_gid, os.geteuid(), os.getegid(), names_others(workspace))
    key = (workspace, mounts.text, owner, own_directories.state())
    known = _places.get(key)
    if known is None or not own_directories.ours(known.directory):
        _places.clear()
        known = _places[key] = _best_place(workspace, mounts)
    return known


def place_for_copy(workspace: str, why: str) -> OverlayPlace:
    """A place for a copy of the workspace, whatever else could be had."""
    return _place_for_copy(Mounts(), workspace, why)


# The place that was found last, and all that it depends on.
_places: dict[tuple[object, ...], OverlayPlace] = {}


def _best_place(workspace: str, mounts: Mounts) -> OverlayPlace:
    here = mounts.of(workspace)
    below = mounts.below(workspace)
    if below:
        # An overlay does not show what is mounted inside the directory it covers.
        return _place_for_copy(
            mounts, workspace, Message("{path} is mounted inside the workspace", path=below[0])
        )
    if here.kind in NO_COVER:
        return _place_for_copy(
            mounts,
            workspace,
            Message("the kernel takes no {kind} below an overlay", kind=here.kind),
        )
    if is_machines_root() and takes_no_overlay(here.kind):
        # Its owner's files have to appear as those of someone who is not root.
        return _place_for_copy(
            mounts,
            workspace,
            Message("{kind} cannot show its files as another user's", kind=here.kind),
        )
    status = os.stat(workspace)
    if not is_machines_root() and (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        # In a user namespace only one user and one group have a name: the kernel copies no file
        # of another's into an overlay.
        return _place_for_copy(mounts, workspace, "it belongs to another user or group than yours")
    if names_others(workspace):
        # The kernel copies no list into an overlay that names someone who has no name there.
        return _place_for_copy(mounts, workspace, "its access list names other users or groups")
    own = f"redoma-{os.geteuid()}"
    state = os.path.realpath(own_directories.made_state())
    for directory in (state, f"/var/tmp/{own}", f"{here.point.rstrip('/')}/.{own}"):
        beside = mounts.of(_above(directory)).id == here.id
        if beside and _fits(directory, workspace, mounts):
            return OverlayPlace(directory=directory, in_memory=here.kind in _MEMORY)
    if _fits(state, workspace, mounts):
        note = "the overlay is on another file system than the workspace: applying it copies"
        memory = mounts.of(state).kind in _MEMORY
        return OverlayPlace(directory=state, renames=False, in_memory=memory, notes=(note,))
    shared = f"{_SHARED_MEMORY}/{own}"
    if _fits(shared, workspace, mounts):
        note = "the overlay is in memory, since no disk here takes one: it is lost at a restart"
        return OverlayPlace(directory=shared, renames=False, in_memory=True, notes=(note,))
    return _place_for_copy(mounts, workspace, "no file system here takes an overlay")


def _place_for_copy(mounts: Mounts, workspace: str, why: str) -> OverlayPlace:
    """A place for a copy of the whole workspace: on a disk, else in memory."""
    own = f"redoma-{os.geteuid()}"
    for directory in (os.path.realpath(own_directories.made_state()), f"{_SHARED_MEMORY}/{own}"):
        if os.geteuid() == 0:
            fits = _fits(directory, workspace, mounts)
        else:
            fits = not is_within(directory, workspace)
        if fits:
            at = mounts.of(directory)
            return OverlayPlace(
                directory=directory,
                kind=COPY,
                renames=at.id == mounts.of(workspace).id,
                in_memory=at.kind in _MEMORY,
                notes=(Message("the whole workspace was copied, since {why}", why=Message(why)),),
            )
    raise EngineFailed(
        "the changes of a command in {workspace} cannot be held, since {why}",
        workspace=workspace,
        why=Message(why),
        hint="set XDG_STATE_HOME to a directory on a disk, outside of the workspace",
    )


def _above(directory: str) -> str:
    """A directory itself, or the one in which it would be made."""
    return directory if os.path.isdir(directory) else os.path.dirname(directory)


def _fits(directory: str, workspace: str, mounts: Mounts) -> bool:
    """Whether overlays for the workspace can lie in this directory, which is made if need be."""
    if is_within(directory, workspace):
        return (
            False  # the kernel refuses an overlay inside what it covers, and it is in people's way
        )
    at = mounts.of(_above(directory))
    if takes_no_overlay(at.kind):
        return False
    if not os.access(_above(directory), os.W_OK) or not own_directories.ours(directory):
        return False
    return _takes_attributes(directory)


def _takes_attributes(directory: str) -> bool:
    """Whether replaced directories could be marked there: without that they cannot be made."""
    with suppress(OSError):
        os.getxattr(directory, _TRIED)
        return True
    with suppress(OSError):
        os.setxattr(directory, _TRIED, b"layers")
        return True
    return False
