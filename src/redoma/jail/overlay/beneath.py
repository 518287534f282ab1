"""A tree that is entered by descriptors only: no link is followed, no mount is crossed.

Extended attributes in an overlay: the kernel's own marks, a command's, and privileges.

Overlays are mounted in a user namespace, so the marks are ordinary attributes. Attack: a command
sets such an attribute itself, to have a directory read as replaced or a file as deleted. The kernel
stores what a command calls `user.overlay.x` as `user.overlay.overlay.x`; only the rest are marks.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress

from redoma.base.paths import is_within
from redoma.jail.kernel.syscalls import open_beneath
from redoma.model.change import Did, FileKind
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

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


# The kernel takes no longer path in one call; a deeper one is walked in pieces.
_PIECE = 1000
_MOST_KEPT = 64
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR})
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW
_READ_AND_ENTER = 0o500


class Beneath:
    """What lies below one directory, by paths relative to it.

    It keeps the last directory entered open, since neighbours follow each other; and of deep paths
    every directory where a piece ends, so that each level costs the same, however deep it lies.

    A directory that its owner closed to themselves (mode 000) is opened to them until `close`;
    `status` tells its own mode all the while.
    """

    def __init__(self, directory: str) -> None:
        self.root = os.open(directory, _DIRECTORY)
        self._entered = ""
        self._fd = -1
        self._ends: dict[str, int] = {}
        # By device and inode: where a directory was closed to its owner, and its mode.
        self._opened_up: dict[tuple[int, int], tuple[str, int]] = {}

    def close(self) -> None:
        self._close_again("")
        self._let_go("")
        if self.root >= 0:
            os.close(self.root)
            self.root = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def forget(self, path: str) -> None:
        """Another thing will stand at this path: closes every descriptor that leads there."""
        if self._opened_up:
            self._close_again(path)
        self._let_go(path)

    def _close_again(self, path: str) -> None:
        """Puts back the modes of directories below a path; its own is for who moves it."""
        for key, (here, mode) in reversed(list(self._opened_up.items())):
            if path and not is_within(here, path):
                continue
            if here != path:
                with suppress(OSError), self.opened(here, _DIRECTORY) as fd:
                    status = os.fstat(fd)
                    if (status.st_dev, status.st_ino) == key:
                        os.chmod(f"/proc/self/fd/{fd}", mode)
            del self._opened_up[key]

    def _let_go(self, path: str) -> None:
        below = f"{path}/"
        if self._fd >= 0 and (not path or f"{self._entered}/".startswith(below)):
            os.close(self._fd)
            self._fd = -1
        for end in [end for end in self._ends if not path or f"{end}/".startswith(below)]:
            os.close(self._ends.pop(end))

    def parent(self, path: str) -> tuple[int, str]:
        """The directory that `path` lies in, as an open descriptor, and the last part of it."""
        directory, _, name = path.rpartition("/")
        if name in ("", ".", ".."):
            raise OSError(errno.EINVAL, "this names no entry of a directory", path)
        if not directory:
            return self.root, name
        if directory != self._entered or self._fd < 0:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1
            self._fd = self._open(directory, os.O_PATH | os.O_DIRECTORY)
            self._entered = directory
            if os.geteuid() != 0 and not os.fstat(self._fd).st_mode & stat.S_IXUSR:
                self._open_up(directory)
        return self._fd, name

    def named(self, path: str) -> str:
        """A name by which the C library reaches `path`; its last part must not be followed."""
        if path == ".":
            return f"/proc/self/fd/{self.root}/."
        directory, name = self.parent(path)
        return f"/proc/self/fd/{directory}/{name}"

    def status(self, path: str) -> os.stat_result | None:
        """What stands at `path`, or None; a link on the way there is an error."""
        if path == ".":
            return self._as_it_was(os.fstat(self.root))
        try:
            directory, name = self.parent(path)
            return self._as_it_was(os.stat(name, dir_fd=directory, follow_symlinks=False))
        except OSError as error:
            if error.errno in _ABSENT:
                return None
            raise

    def _as_it_was(self, status: os.stat_result) -> os.stat_result:
        if not self._opened_up:
            return status
        found = self._opened_up.get((status.st_dev, status.st_ino))
        if found is None:
            return status
        times = {name: getattr(status, name) for name in dir(status) if name.endswith("time_ns")}
        blocks = {"st_blocks": status.st_blocks}
        mode = stat.S_IFMT(status.st_mode) | found[1]
        return os.stat_result((mode, *status[1:10]), {**times, **blocks})

    def names(self, path: str) -> list[str]:
        """The entries of a directory."""
        with self.opened(path, os.O_RDONLY | os.O_DIRECTORY) as fd:
            return os.listdir(fd)

    @contextmanager
    def opened(self, path: str, flags: int) -> Iterator[int]:
        """A descriptor of `path` for as long as the block lasts."""
        fd = self._open(path, flags)
        try:
            yield fd
        finally:
            os.close(fd)

    def below(
        self, path: str, *, skip_closed: bool = False
    ) -> Iterator[tuple[str, os.stat_result]]:
        """Everything below a directory, but not itself, in the order of the tree.

        A directory that we may not list is an error, or passed over.
        """
        pending = [self._inside(path, skip_closed)]
        while pending:
            for inner, status in pending[-1]:
                yield inner, status
                if stat.S_ISDIR(status.st_mode):
                    pending.append(self._inside(inner, skip_closed))
                    break
            else:
                pending.pop()

    def _inside(self, path: str, skip_closed: bool) -> Iterator[tuple[str, os.stat_result]]:  # noqa: FBT001
        try:
            names = sorted(self.names(path))
        except PermissionError:
            if not skip_closed:
                raise
            return
        for name in names:
            inner = name if path == "." else f"{path}/{name}"
            status = self.status(inner)
            if status is not None:  # else it is gone since it was listed
                yield inner, status

    def settle(self, path: str) -> None:
        """A directory has the mode that it should have: none is put back at the end."""
        if self._opened_up:
            with self.opened(path, _DIRECTORY) as fd:
                status = os.fstat(fd)
            self._opened_up.pop((status.st_dev, status.st_ino), None)

    def _open(self, path: str, flags: int) -> int:
        try:
            return self._walk(path, flags)
        except PermissionError:
            # Read-only or a directory: the rights to look at it, which its owner can always give.
            if not self._open_up(path):
                raise
            return self._walk(path, flags)

    def _walk(self, path: str, flags: int) -> int:
        fd, at = self._nearest(path)
        while len(path) - at > _PIECE:
            cut = path.rfind("/", at, at + _PIECE)
            if cut <= at:
                cut = path.find("/", at + _PIECE)
            if cut < 0:
                break
            fd = self._keep(path[:cut], open_beneath(fd, path[at:cut], _DIRECTORY))
            at = cut + 1
        return open_beneath(fd, path[at:], flags | os.O_NOFOLLOW)

    def _nearest(self, path: str) -> tuple[int, int]:
        """The deepest open directory on the way, and where the rest of the path begins."""
        best = ""
        if len(path) > _PIECE:
            for end in self._ends:
                if len(end) > len(best) and path[len(end) :][:1] == "/" and path.startswith(end):
                    best = end
        return (self._ends[best], len(best) + 1) if best else (self.root, 0)

    def _keep(self, path: str, fd: int) -> int:
        self._ends[path] = fd
        if len(self._ends) > _MOST_KEPT:
            os.close(self._ends.pop(next(iter(self._ends))))
        return fd

    def _open_up(self, path: str) -> bool:
        """Opens what its owner closed to themselves on the way to `path`, where that is us.

        Attack: a directory of mode 000 hides what is in it from an apply, and keeps it out.
        """
        if os.geteuid() == 0 or not path:
            return False
        opened = False
        parts, at = path.split("/"), 0
        for part in parts:
            at += len(part) + 1
            here = path[: at - 1]
            try:
                fd = self._walk(here, _DIRECTORY)
            except OSError:
                break
            try:
                status = os.fstat(fd)
                key, mode = (status.st_dev, status.st_ino), stat.S_IMODE(status.st_mode)
                closed = mode & _READ_AND_ENTER != _READ_AND_ENTER
                if closed and status.st_uid == os.geteuid() and key not in self._opened_up:
                    self._opened_up[key] = (here, mode)
                    os.chmod(f"/proc/self/fd/{fd}", mode | _READ_AND_ENTER)
                    opened = True
            finally:
                os.close(fd)
        return opened
