"""The stage: another kernel identity for what root runs, the workspace's owner kept on disk.

Attack: a command run by root inside a user namespace that maps uid 0 to uid 0 is still the
machine's root to every file it meets: it reads /etc/shadow and writes
/proc/sys/kernel/core_pattern. So the stage starts the launcher itself under a uid that owns
nothing, as if an ordinary user had started it, and mounts the workspace so that files of its
owner appear as that uid's.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
from _thread import allocate_lock, start_new_thread
from contextlib import suppress

from redoma.jail.kernel import syscalls
from redoma.jail.kernel.mounts import has_mounts, mount_points
from redoma.model.grant import NOBODYS_UID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MS_PRIVATE = 0x40000
_MS_REC = 0x4000
_OPEN_TREE_CLONE = 1
_AT_EMPTY_PATH = 0x1000
_AT_RECURSIVE = 0x8000
_AT_FDCWD = -100
_MOVE_MOUNT_F_EMPTY_PATH = 4
_MOUNT_ATTR_IDMAP = 0x00100000
_READ_ONLY = 0x1 | 0x2 | 0x4  # read-only, no set-user-id, no devices
_MS_READ_ONLY, _MS_NOSUID, _MS_NODEV, _MS_BIND = 0x1, 0x2, 0x4, 0x1000
_MS_BIND_READ_ONLY = 0x1000 | 0x20 | 0x1 | _MS_NOSUID | _MS_NODEV  # bind, remount, read-only
# A directory that every machine has and that no launcher needs; covered in our namespace only.
_STAGE = "/sys"
_LOWERS, _EMPTY = f"{_STAGE}/lowers", f"{_STAGE}/empty"
# An id that no file has.
_NO_ONE = 2**32 - 10


class Stage:
    """A thread with mounts of its own, from which sandboxes are started.

    The kernel keeps mount namespaces per thread, so the caller's own view never changes. What is
    staged lies below `/sys` of that view, where a launcher that has lost root's rights can still
    reach it although the original lies in a directory closed to others, such as `/root`.
    """

    # A directory that everybody reaches and nothing is in.
    empty = _EMPTY

    def __init__(self) -> None:
        from redoma.base.cores import SimpleQueue  # `queue` itself costs a cold start a millisecond

        self._jobs: SimpleQueue[Any] = SimpleQueue()
        self._staged: dict[tuple[object, ...], str] = {}
        self._maps: dict[tuple[int, int], int] = {}
        self._lowers = 0
        self._mounted = mount_points()
        self._turn = allocate_lock()  # runs side by side may need the same thing, or two at once
        self._over = allocate_lock()
        self._over.acquire()
        start_new_thread(self._work, ())  # `threading` costs a cold start two milliseconds
        self.call(self._leave)

    def call(self, job: Callable[[], Any]) -> Any:
        """What `job` returns when run where the staged mounts are."""
        done = allocate_lock()
        done.acquire()
        answer: list[Any] = [None, None]
        self._jobs.put((job, answer, done))
        done.acquire()
        if answer[1] is not None:
            raise answer[1]
        return answer[0]

    def start(self, job: Callable[[], int]) -> int:
        """What `job` returns when run as nobody, where the staged mounts are; it starts a process.

        The kernel keeps identities per thread too. The saved one stays root's, so that the thread
        comes back; a started program does not inherit it.
        """

        def as_nobody() -> int:
            self._forget_lowers()
            syscalls.set_groups_of_thread()
            syscalls.set_ids_of_thread(NOBODYS_UID)
            try:
                return job()
            finally:
                syscalls.set_ids_of_thread(0)

        answer: int = self.call(as_nobody)
        return answer

    def close(self) -> None:
        """Ends the thread, and with it whatever it started and is still running."""
        self._jobs.put(None)
        self._over.acquire(timeout=5)
        for fd in self._maps.values():
            os.close(fd)
        self._maps.clear()

    def shown(self, path: str) -> str:
        """Where `path` is found, to be read as everybody may read it.

        Attack: a read-only mount stops nobody from connecting to a socket in it, or from writing
        into a named pipe or reading from one. Through an overlay both lead nowhere; and where the
        owner of a file has no name at all, nobody may write it.
        """
        status = os.stat(path)
        if status.st_mode & 0o005 != 0o005:
            return self._staged_by(self._way(path), path, status.st_uid, status.st_gid)
        return self._staged_by(self._way(path), path, _NO_ONE, _NO_ONE)

    def nobodys(self) -> int:
        """The map in which no owner has a name."""
        return self._map(_NO_ONE, _NO_ONE)

    def staged(self, path: str, uid: int, gid: int) -> str:
        """Where `path` is found on the stage, files of `uid` appearing as the sandbox's own."""
        return self._staged_by(self._put, path, uid, gid)

    def _staged_by(
        self, put: Callable[[int, str, int], None], path: str, uid: int, gid: int
    ) -> str:
        found = os.stat(path)
        # What is there now: a directory may have been replaced, or something mounted on it.
        key = (path, uid, gid, found.st_dev, found.st_ino, put.__name__)
        with self._turn:
            if key not in self._staged:
                place = f"{_STAGE}/{len(self._staged)}"
                # Taken here: what was mounted on the machine since is not on the stage.
                taken = _taken(path)
                id_map = self._map(uid, gid)
                try:
                    self.call(lambda: put(taken, place, id_map))
                except OSError as error:
                    if error.errno != errno.EINVAL:
                        raise
                    # Something below is of a kind whose owners cannot be renamed, such as /proc.
                    parts = apart(path)
                    how = 0 if put.__name__ == self._put.__name__ else _READ_ONLY
                    self.call(lambda: self._put_apart(parts, place, id_map, how))
                self._staged[key] = place
            return self._staged[key]

    def program(self, path: str) -> str:
        """Where a program is found that may lie in a directory closed to others."""
        if path.startswith(("/usr/", "/bin/")):
            return path
        package = os.path.dirname(os.path.dirname(path))
        shared = [place for place in (package, f"{package}.libs") if os.path.isdir(place)]
        beside = os.path.dirname(package)
        root = self.root(tuple((p, p.removeprefix(beside)) for p in shared), (), ())
        return root + path.removeprefix(beside)

    def root(
        self,
        binds: tuple[tuple[str, str], ...],
        links: tuple[tuple[str, str], ...],
        directories: tuple[str, ...],
    ) -> str:
        """Where a root stands that is put together once, and mounted by each run in one step."""
        key = (repr((binds, links, directories)), -1, -1)
        with self._turn:
            if key not in self._staged:
                place = f"{_STAGE}/{len(self._staged)}"
                nobodys = self.nobodys()
                self.call(lambda: self._build(place, binds, links, directories, nobodys))
                self._staged[key] = place
            return self._staged[key]

    def _build(
        self,
        place: str,
        binds: tuple[tuple[str, str], ...],
        links: tuple[tuple[str, str], ...],
        directories: tuple[str, ...],
        id_map: int,
    ) -> None:
        os.mkdir(place, 0o755)
        syscalls.mount("redoma", place, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=755,size=1m")
        for directory in directories:
            if os.path.isfile(directory):  # a single file was granted, and is laid over one
                os.makedirs(os.path.dirname(place + directory), 0o755, exist_ok=True)
                with open(place + directory, "ab"):
                    continue
            os.makedirs(place + directory, 0o755, exist_ok=True)
        for target, link in links:
            os.symlink(target, place + link)
        for source, target in binds:
            os.makedirs(os.path.dirname(place + target), 0o755, exist_ok=True)
            self._way(source)(_taken(source), place + target, id_map)
        syscalls.mount("none", place, "", _MS_BIND_READ_ONLY)

    def _map(self, uid: int, gid: int) -> int:
        if (uid, gid) not in self._maps:
            self._maps[uid, gid] = user_namespace(
                f"{uid} {NOBODYS_UID} 1", f"{gid} {NOBODYS_UID} 1"
            )
        return self._maps[uid, gid]

    def _work(self) -> None:
        while (item := self._jobs.get()) is not None:
            job, answer, done = item
            try:
                answer[0] = job()
            except BaseException as error:
                answer[1] = error
            done.release()
        self._over.release()

    @staticmethod
    def _leave() -> None:
        syscalls.unshare(syscalls.CLONE_NEWNS)
        syscalls.mount("none", "/", "", _MS_REC | _MS_PRIVATE)
        # Each mount costs every launcher a line to copy and to read: none but what it needs.
        with suppress(OSError):
            syscalls.detach(_STAGE)
        syscalls.mount("redoma", _STAGE, "tmpfs", 0, "mode=755,size=64k")
        os.mkdir(_EMPTY, 0o755)
        os.mkdir(_LOWERS, 0o755)

    def _way(self, path: str) -> Callable[[int, str, int], None]:
        """How what is only read is put: an overlay shows nothing that is mounted below."""
        return self._put_to_read if has_mounts(path, self._mounted) else self._show

    def _put_to_read(self, tree: int, place: str, id_map: int) -> None:
        self._put(tree, place, id_map, _READ_ONLY)

    def _show(self, tree: int, place: str, id_map: int) -> None:
        """Puts what is only read: a directory through an overlay, where one can be made of it."""
        if not stat.S_ISDIR(os.fstat(tree).st_mode):
            self._put(tree, place, id_map, _READ_ONLY)
            return
        if not self._lowers:
            syscalls.mount("redoma", _LOWERS, "tmpfs", 0, "mode=755,size=64k")
        self._lowers += 1
        lower = f"{_LOWERS}/{self._lowers}"
        self._put(tree, lower, id_map, _READ_ONLY)
        os.mkdir(place)
        try:
            flags = _MS_READ_ONLY | _MS_NOSUID | _MS_NODEV
            syscalls.mount("overlay", place, "overlay", flags, f"lowerdir={lower}:{_EMPTY}")
        except OSError:  # an older kernel, or a file system that is no part of an overlay
            syscalls.mount(lower, place, "", _MS_BIND | _MS_REC)

    def _forget_lowers(self) -> None:
        """Overlays hold what they are made of; all at once, since the kernel waits at each end."""
        if self._lowers:
            syscalls.detach(_LOWERS)
            self._lowers = 0

    def _put_apart(
        self, parts: list[tuple[int, str]], place: str, id_map: int, attributes: int
    ) -> None:
        """Every mount of a tree by itself; what cannot be shown as another's is covered."""
        covered: list[str] = []
        try:
            while parts:
                tree, below = parts.pop(0)
                if below.startswith(tuple(covered)) or (
                    below and not os.path.exists(place + below)
                ):
                    os.close(tree)
                    continue
                try:
                    self._put(tree, place + below, id_map, attributes, recursive=False)
                except OSError as error:
                    if error.errno != errno.EINVAL or not below:
                        raise
                    _cover(place + below)
                    covered.append(f"{below}/")
        finally:
            for tree, _ in parts:
                os.close(tree)

    @staticmethod
    def _put(
        tree: int, place: str, id_map: int, attributes: int = 0, *, recursive: bool = True
    ) -> None:
        try:
            change = struct.pack("QQQQ", _MOUNT_ATTR_IDMAP | attributes, 0, 0, id_map)
            syscalls.syscall(
                syscalls.MOUNT_SETATTR,
                tree,
                b"",
                _AT_EMPTY_PATH | (_AT_RECURSIVE if recursive else 0),
                change,
                len(change),
            )
            if os.path.lexists(place):
                pass  # a part of a tree, on its own place in it
            elif stat.S_ISDIR(os.fstat(tree).st_mode):
                os.mkdir(place)
            else:
                os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o644))
            syscalls.syscall(
                syscalls.MOVE_MOUNT,
                tree,
                b"",
                _AT_FDCWD,
                os.fsencode(place),
                _MOVE_MOUNT_F_EMPTY_PATH,
            )
        finally:
            os.close(tree)


def _taken(path: str, *, recursive: bool = True) -> int:
    """A copy of what is mounted at `path` and below it, which is nowhere yet."""
    # Attack: the last part of the path becomes a symbolic link to somewhere else.
    source = os.open(path, os.O_PATH | os.O_NOFOLLOW)
    try:
        return syscalls.syscall(
            syscalls.OPEN_TREE,
            source,
            b"",
            _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_EMPTY_PATH | (_AT_RECURSIVE if recursive else 0),
        )
    finally:
        os.close(source)


def apart(path: str) -> list[tuple[int, str]]:
    """The same as a copy of each mount by itself, with its place below `path`, outer ones first."""
    found = [(_taken(path, recursive=False), "")]
    try:
        for point in _mounted_below(path):
            with suppress(OSError):  # gone meanwhile, or not ours to see
                found.append((_taken(point, recursive=False), point[len(path.rstrip("/")) :]))
    except BaseException:
        for tree, _ in found:
            os.close(tree)
        raise
    return found


def _mounted_below(path: str) -> list[str]:
    """The points below a path on which something is mounted, each once, outer ones first."""
    start = path.rstrip("/") + "/"
    points: dict[str, None] = {}
    with open("/proc/self/mountinfo", "rb") as mounts:
        for line in mounts:
            escaped = line.split()[4]
            point = os.fsdecode(escaped.decode("unicode_escape").encode("latin-1"))
            if point.startswith(start):
                points[point] = None
    return sorted(points, key=lambda each: each.count("/"))


def _cover(place: str) -> None:
    """An empty directory, or an empty file, over what is not shown: not what lies beneath it."""
    if os.path.isdir(place):
        syscalls.mount("redoma", place, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=755,size=4k")
        syscalls.mount("none", place, "", _MS_BIND_READ_ONLY)
    else:
        syscalls.mount("/dev/null", place, "", _MS_BIND)


def user_namespace(uid_map: str, gid_map: str) -> int:
    """A descriptor of a new user namespace with these maps, for mounts; nobody ever enters it."""
    sleeper = syscalls.Sleeper(syscalls.CLONE_NEWUSER)
    try:
        for name, text in (("uid_map", uid_map), ("gid_map", gid_map)):
            with open(f"/proc/{sleeper.pid}/{name}", "w") as file:
                file.write(text)
        return os.open(f"/proc/{sleeper.pid}/ns/user", os.O_RDONLY)
    finally:
        sleeper.end()
