"""Extended attributes in an overlay: the kernel's own marks, a command's, and privileges.

Overlays are mounted in a user namespace, so the marks are ordinary attributes. Attack: a command
sets such an attribute itself, to have a directory read as replaced or a file as deleted. The kernel
stores what a command calls `user.overlay.x` as `user.overlay.overlay.x`; only the rest are marks.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from redoma.model.change import Did, FileKind
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.overlay.tree_reader import Tree
    from redoma.model.change import Change, FileState

_ACCESS_LISTS = ("system.posix_acl_access", "system.posix_acl_default")
_NAMED_USER, _NAMED_GROUP = 0x02, 0x08
_PREFIX = "user.overlay."
_ESCAPED = "user.overlay.overlay."
OPAQUE = "user.overlay.opaque"
# Labels that the machine gives, not a command; they follow from where a file lies.
_LABELS = frozenset({"security.selinux", "security.ima", "security.evm", "security.SMACK64"})
# Root's own, which no command in a user namespace sees, and which no overlay has a copy of.
_TRUSTED = "trusted."
SET_ID = 0o6000
_CAPABILITY = "security.capability"


def is_mark(name: str) -> bool:
    """Whether an attribute is the kernel's own mark on something in an overlay."""
    return name.startswith(_PREFIX) and not name.startswith(_ESCAPED)


def own_attributes(
    place: str, *, in_overlay: bool, follow: bool = False
) -> tuple[tuple[str, bytes], ...]:
    """The attributes of a file as its owner sees them: no marks, no labels."""
    try:
        names = os.listxattr(place, follow_symlinks=follow)
    except OSError:
        return ()
    if not names:
        return ()
    found = []
    for name in sorted(names):
        if name in _LABELS or name.startswith(_TRUSTED) or (in_overlay and is_mark(name)):
            continue
        with suppress(OSError):
            value = os.getxattr(place, name, follow_symlinks=follow)
            found.append((_seen_inside(name) if in_overlay else name, value))
    return tuple(found)


def is_opaque(place: str) -> bool:
    """Whether a directory in an overlay hides everything that lies below it."""
    try:
        return os.getxattr(place, OPAQUE, follow_symlinks=False) == b"y"
    except OSError:
        return False


def is_whiteout(status: os.stat_result) -> bool:
    """Whether an entry stands for one that was deleted.

    Attack: a command makes such a device itself. The kernel lets anyone, but never through an
    overlay.
    """
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def names_others(place: str) -> bool:
    """Whether an access control list of a directory names users or groups by number."""
    for name in _ACCESS_LISTS:
        with suppress(OSError):
            value = os.getxattr(place, name)
            # A version of 4 bytes, then 8 for each row, which begin with what it is about.
            if {_NAMED_USER, _NAMED_GROUP}.intersection(value[4::8]):
                return True
    return False


def strip_marks(place: str) -> None:
    """Makes something that leaves an overlay what it is outside: no marks, its own names back.

    The last part of `place` is not followed. The kernel lets only who may write a file change its
    attributes: one that is closed to its owner (0400, as keys and git's objects are) is opened for
    that moment.
    """
    try:
        _strip(place)
    except PermissionError:
        status = os.lstat(place)
        if status.st_uid != os.geteuid() or stat.S_ISLNK(status.st_mode):
            raise
        fd = os.open(place, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            here = f"/proc/self/fd/{fd}"
            os.chmod(here, 0o600 | stat.S_IMODE(status.st_mode))
            try:
                _strip(place)
            finally:
                os.chmod(here, stat.S_IMODE(status.st_mode))
        finally:
            os.close(fd)


def _strip(place: str) -> None:
    for name in os.listxattr(place, follow_symlinks=False):
        if is_mark(name):
            os.removexattr(place, name, follow_symlinks=False)
        elif name.startswith(_ESCAPED):
            value = os.getxattr(place, name, follow_symlinks=False)
            os.setxattr(place, _seen_inside(name), value, follow_symlinks=False)
            os.removexattr(place, name, follow_symlinks=False)


def _seen_inside(name: str) -> str:
    return _PREFIX + name.removeprefix(_ESCAPED) if name.startswith(_ESCAPED) else name


def grants_more(state: FileState | None) -> bool:
    """Whether who executes a file gets rights that are not their own."""
    if state is None or state.kind is not FileKind.FILE:
        return False
    return bool(state.mode & SET_ID) or any(name == _CAPABILITY for name, _ in state.xattrs)


def without_privileges(item: Change, upper: Tree) -> Change:
    """The same change, its file in the overlay without what its content was not given.

    The kernel clears the set-id bits and the capabilities of a file that is written; but not where
    it is written through a shared mapping. No command can set such a bit in an overlay, so one that
    is there was copied from the workspace, and is good for the content that was there too.

    Attack: a program that is set-user-id is changed through a mapping, and moved to another name.
    """
    after = item.after
    if after is None or not grants_more(after) or _earned(item):
        return item
    upper.revoke(item.path)
    xattrs = tuple(pair for pair in after.xattrs if pair[0] != _CAPABILITY)
    return replace(item, after=replace(after, mode=after.mode & ~SET_ID, xattrs=xattrs))


def _earned(item: Change) -> bool:
    """Whether the content is the one that had these rights before."""
    before, after = item.before, item.after
    if before is None or after is None or item.did not in (Did.RENAMED, Did.ATTRIBUTES):
        return False
    return not after.mode & SET_ID & ~before.mode and before.kind is FileKind.FILE
