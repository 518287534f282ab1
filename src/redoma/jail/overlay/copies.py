"""Copies of trees: a workspace where no overlay can be had, slots between two file systems.

Nothing can be renamed from one file system to another. So what will come is copied first, into a
directory of ours inside the workspace; from there on everything is renamed as usual, and what left
the workspace is copied out when the apply is done.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from redoma.jail.kernel.syscalls import flush_file_system
from redoma.jail.overlay.beneath import own_attributes
from redoma.jail.overlay.failure import at, failure_text, look
from redoma.jail.overlay.journal import Journal, StepKind
from redoma.jail.overlay.site import FEW, open_to_owner
from redoma.jail.overlay.tree_reader import Tree
from redoma.jail.protect.untrusted_paths import remove_tree
from redoma.model.errors import EngineFailed
from redoma.model.message import Message
from redoma.model.remedies import Help, Remedy
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.overlay.beneath import Beneath
    from redoma.jail.overlay.journal import JournalStep

MOST_COPIED_BYTES = 2 << 30
MOST_COPIED_FILES = 200_000
_FICLONE = 0x40049409
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
_HINT = Remedy(help=Help.SMALLER_WORKSPACE)


class _WorkspaceCopy:
    """The copy of a workspace that a command works in, in the making."""

    def __init__(self, source: Tree, target: str, aside: frozenset[str]) -> None:
        self._source = source
        self._target = target
        self._aside = aside
        self._files = self._bytes = 0
        self._names: dict[tuple[int, int], str] = {}
        # Set at the end: what is made in a directory changes its time, and may not be allowed.
        self._directories: list[tuple[str, os.stat_result]] = []

    def run(self) -> None:
        pending = [""]
        while pending:
            path = pending.pop()
            for name in self._source.names(path):
                entry = f"{path}/{name}" if path else name
                status = self._source.status(entry)
                if status is None:
                    continue  # someone else removed it meanwhile
                self._count(status)
                with at(entry, "copied to the other side"):
                    if self._one(entry, status):
                        pending.append(entry)
        for path, status in reversed(self._directories):
            with at(path, "copied to the other side"):
                self._attributes(path, status)

    def _count(self, status: os.stat_result) -> None:
        self._files += 1
        self._bytes += min(status.st_size, status.st_blocks * 512)
        if self._files > MOST_COPIED_FILES or self._bytes > MOST_COPIED_BYTES:
            raise EngineFailed(
                "the workspace has more than {most} files or {size} GiB, too much to copy, and "
                "no overlay can be had for it here",
                most=MOST_COPIED_FILES,
                size=MOST_COPIED_BYTES >> 30,
                hint=_HINT,
            )

    def _one(self, path: str, status: os.stat_result) -> bool:
        """Copies one entry; True for a directory, whose entries are still to come."""
        place, kind = f"{self._target}/{path}", stat.S_IFMT(status.st_mode)
        if path in self._aside:
            # Something is mounted there, and will be inside: only its place is made.
            os.mkdir(place) if kind == stat.S_IFDIR else os.mknod(place, stat.S_IFREG | 0o600)
            return False
        if kind == stat.S_IFDIR:
            os.mkdir(place, 0o700)
            self._directories.append((path, status))
            return True
        key = (status.st_dev, status.st_ino)
        if status.st_nlink > 1 and key in self._names:
            os.link(self._names[key], place, follow_symlinks=False)
            return False
        if kind == stat.S_IFREG:
            self._contents(path, place)
        elif kind == stat.S_IFLNK:
            os.symlink(self._source.target(path), place)
        elif kind in (stat.S_IFIFO, stat.S_IFSOCK):
            os.mknod(place, status.st_mode)
        else:
            return False  # a device: nothing that a command may use inside
        self._names[key] = place
        self._attributes(path, status)
        return False

    def _contents(self, path: str, place: str) -> None:
        source = self._source.opened(path)
        try:
            target = os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            try:
                copy_contents(source, target)
            finally:
                os.close(target)
        finally:
            os.close(source)

    def _attributes(self, path: str, status: os.stat_result) -> None:
        place = f"{self._target}/{path}"
        if os.geteuid() == 0:
            os.chown(place, status.st_uid, status.st_gid, follow_symlinks=False)
        elif status.st_gid != os.getegid():
            with suppress(PermissionError):
                os.chown(place, -1, status.st_gid, follow_symlinks=False)
        for name, value in self._source.state(path, status).xattrs:
            with suppress(OSError):
                os.setxattr(place, name, value, follow_symlinks=False)
        if not stat.S_ISLNK(status.st_mode):
            os.chmod(place, stat.S_IMODE(status.st_mode))
        times = (status.st_atime_ns, status.st_mtime_ns)
        os.utime(place, ns=times, follow_symlinks=False)


def copy_tree(source: str, target: str, aside: frozenset[str] = frozenset()) -> None:
    """Everything below `source` into the empty directory `target`; EngineFailed where it cannot.

    Of `aside`, where something is mounted, only the place itself.
    """
    try:
        with Tree(source) as tree:
            _WorkspaceCopy(tree, target, aside).run()
    except OSError as error:
        raise EngineFailed(
            "the workspace cannot be copied: {why}", why=failure_text(error), hint=_HINT
        ) from error


def copy_contents(source: int, target: int) -> None:
    """Copies one file's bytes into another: shared where the file system can, holes stay holes."""
    from fcntl import ioctl

    with suppress(OSError):
        ioctl(target, _FICLONE, source)
        return
    size = os.fstat(source).st_size
    os.ftruncate(target, size)
    at = 0
    while at < size:
        try:
            at = os.lseek(source, at, os.SEEK_DATA)
            end = os.lseek(source, at, os.SEEK_HOLE)
        except OSError:
            return  # nothing but a hole up to the end
        os.lseek(target, at, os.SEEK_SET)
        while at < end:
            sent = os.sendfile(target, source, at, end - at)
            if not sent:
                return
            at += sent


class SlotCopier:
    """Copies trees from one side to the other: all that a file is, with its second names."""

    def __init__(self, source: Beneath, target: Beneath) -> None:
        self.source = source
        self.target = target
        self._copies: dict[tuple[int, int], str] = {}
        self.inodes: dict[int, int] = {}  # of a source: of its copy
        self._files = 0

    def copy(self, path: str, place: str, shown: str) -> None:
        """`path` of the source, whole, at `place` of the target; an error speaks of `shown`."""
        status = self.source.status(path)
        assert status is not None
        directories = []
        with at(shown, "copied to the other side"):
            self._one(path, place, status)
        if stat.S_ISDIR(status.st_mode):
            directories.append((path, place, status))
            for inner, found in self.source.below(path):
                there = place + inner.removeprefix(path)
                with at(shown + inner.removeprefix(path), "copied to the other side"):
                    self._one(inner, there, found)
                if stat.S_ISDIR(found.st_mode):
                    directories.append((inner, there, found))
        for inner, there, found in reversed(directories):
            with at(shown + inner.removeprefix(path), "given its attributes"):
                self._attributes(inner, there, found)

    def flush(self) -> None:
        """What was copied is on disk; each of a few files is already."""
        if self._files > FEW:
            with self.target.opened(".", os.O_RDONLY | os.O_DIRECTORY) as fd:
                flush_file_system(fd)

    def _one(self, path: str, place: str, status: os.stat_result) -> None:
        look()
        key = (status.st_dev, status.st_ino)
        directory, name = self.target.parent(place)
        kind = stat.S_IFMT(status.st_mode)
        if kind == stat.S_IFDIR:
            os.mkdir(name, 0o700, dir_fd=directory)
            self._number(status, place)
            return
        if key in self._copies:
            first, first_name = self.target.parent(self._copies[key])
            first = os.dup(first)
            try:
                directory, name = self.target.parent(place)
                os.link(
                    first_name,
                    name,
                    src_dir_fd=first,
                    dst_dir_fd=directory,
                    follow_symlinks=False,
                )
            finally:
                os.close(first)
            return
        if kind == stat.S_IFREG:
            self._contents(path, directory, name)
        elif kind == stat.S_IFLNK:
            above, last = self.source.parent(path)
            os.symlink(os.readlink(last, dir_fd=above), name, dir_fd=directory)
        else:
            os.mknod(name, status.st_mode, status.st_rdev, dir_fd=directory)
        self._copies[key] = place
        self._attributes(path, place, status)
        self._number(status, place)

    def _number(self, status: os.stat_result, place: str) -> None:
        made = self.target.status(place)
        assert made is not None
        self.inodes[status.st_ino] = made.st_ino

    def _contents(self, path: str, directory: int, name: str) -> None:
        with self.source.opened(path, _READ) as source:
            # Attack: a pipe in place of the file, which would never end.
            if not stat.S_ISREG(os.fstat(source).st_mode):
                raise OSError(Message("{path} is no file any more", path=path))
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
            target = os.open(name, flags, 0o600, dir_fd=directory)
            try:
                copy_contents(source, target)
                self._files += 1
                if self._files <= FEW:
                    os.fdatasync(target)
            finally:
                os.close(target)

    def _attributes(self, path: str, place: str, status: os.stat_result) -> None:
        there = self.target.named(place)
        made = os.lstat(there)
        if (made.st_uid, made.st_gid) != (status.st_uid, status.st_gid):
            os.chown(there, status.st_uid, status.st_gid, follow_symlinks=False)
        for name, value in own_attributes(self.source.named(path), in_overlay=False):
            os.setxattr(there, name, value, follow_symlinks=False)
        if not stat.S_ISLNK(status.st_mode):
            os.chmod(there, stat.S_IMODE(status.st_mode))
        times = (status.st_atime_ns, status.st_mtime_ns)
        os.utime(there, ns=times, follow_symlinks=False)


def staging_of(name: str) -> str:
    """How the directories in a workspace begin where a transaction's slots are worked on."""
    return f".redoma-{name}-"


def carry_in(journal: Journal, home: Beneath, ground: Beneath, *, undo: bool) -> Journal:
    """Copies what will come into the staging directory; the journal with the copies' numbers."""
    os.mkdir(journal.staging, 0o700, dir_fd=ground.root)
    copier = SlotCopier(home, ground)
    comes = (StepKind.TAKE, StepKind.SWAP) if undo else (StepKind.PUT, StepKind.SWAP)
    for index, step in enumerate(journal.steps):
        if step.kind in comes and not step.link_of:
            copier.copy(step.slot, f"{journal.staging}/{index}", step.path)
    copier.flush()
    if undo:
        return replace(journal, steps=_going_back(journal, ground))
    steps = tuple(
        step if step.link_of else replace(step, comes=copier.inodes.get(step.comes, step.comes))
        for step in journal.steps
    )
    placed = tuple(
        replace(mark, inode=copier.inodes.get(mark.inode, mark.inode)) for mark in journal.placed
    )
    return replace(journal, steps=steps, placed=placed)


def _going_back(journal: Journal, ground: Beneath) -> tuple[JournalStep, ...]:
    """The steps, with the numbers of the copies that will stand in the workspace again."""
    steps = []
    for index, step in enumerate(journal.steps):
        staged = ground.status(f"{journal.staging}/{index}") if step.leaves else None
        steps.append(replace(step, leaves=staged.st_ino) if staged else step)
    return tuple(steps)


def carry_out(journal: Journal, home: Beneath, ground: Beneath, directory: str) -> None:
    """Copies what left the workspace to where the slots lie, and removes the staging directory.

    Done again from the start after a crash: nothing is removed there before all of it is here.
    """
    if ground.status(journal.staging) is None:
        return
    for closed in journal.directories:
        open_to_owner(home, closed.slot)
    room = f"arriving-{journal.number}"
    remove_tree(f"{directory}/{room}")
    os.mkdir(f"{directory}/{room}", 0o700)
    copier = SlotCopier(ground, home)
    staged = []
    for index, step in enumerate(journal.steps):
        place = f"{journal.staging}/{index}"
        if step.slot and not step.link_of and ground.status(place) is not None:
            copier.copy(place, f"{room}/{index}", step.path)
            staged.append(index)
    for index, step in enumerate(journal.steps):
        if step.slot and not step.link_of:
            _clear(home, step.slot)
            if index in staged:
                above, name = home.parent(f"{room}/{index}")
                above = os.dup(above)
                try:
                    there, last = home.parent(step.slot)
                    os.rename(name, last, src_dir_fd=above, dst_dir_fd=there)
                finally:
                    os.close(above)
    remove_tree(f"{directory}/{room}")


def drop_staging(name: str, ground: Beneath) -> None:
    """Removes the staging directory and what is in it.

    It loses its name first: half of one must not be taken for the whole after a crash.
    """
    if not name or ground.status(name) is None:
        return
    gone = name if name.endswith("-gone") else f"{name}-gone"
    if gone != name:
        drop_staging(gone, ground)
        os.rename(name, gone, src_dir_fd=ground.root, dst_dir_fd=ground.root)
    remove_tree(f"/proc/self/fd/{ground.root}/{gone}")


def _clear(home: Beneath, slot: str) -> None:
    status = home.status(slot)
    if status is None:
        return
    above, name = home.parent(slot)
    if stat.S_ISDIR(status.st_mode):
        with suppress(FileNotFoundError):
            remove_tree(f"/proc/self/fd/{above}/{name}")
    else:
        os.unlink(name, dir_fd=above)
