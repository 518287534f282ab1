"""Another kernel identity for what root runs, with the workspace's owner kept on disk.

Attack: a command run by root inside a user namespace that maps uid 0 to uid 0 is still the
machine's root to every file it meets: it reads /etc/shadow and writes
/proc/sys/kernel/core_pattern. So the launcher itself is started under a uid that owns nothing,
as if an ordinary user had started it, and the workspace is mounted so that files of its owner
appear as that uid's.
"""

from __future__ import annotations

import os
import stat
import struct
from _thread import allocate_lock, start_new_thread

from redoma.jail.kernel import calls
from redoma.jail.run.namespaces import user_namespace
from redoma.model.access import NOBODYS_UID
from redoma.model.blocks import suppress

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
_MS_NOSUID, _MS_NODEV = 0x2, 0x4
_MS_BIND_READ_ONLY = 0x1000 | 0x20 | 0x1 | _MS_NOSUID | _MS_NODEV  # bind, remount, read-only
# A directory that every machine has and that no launcher needs; covered in our namespace only.
_STAGE = "/sys"
# An id that no file has.
_NO_ONE = 2**32 - 10


class Stage:
    """A thread with mounts of its own, from which enclosures are started.

    The kernel keeps mount namespaces per thread, so the caller's own view never changes. What is
    staged lies below `/sys` of that view, where a launcher that has lost root's rights can still
    reach it although the original lies in a directory closed to others, such as `/root`.
    """

    def __init__(self) -> None:
        from _queue import SimpleQueue  # `queue` itself costs a cold start a millisecond

        self._jobs: SimpleQueue[Any] = SimpleQueue()
        self._staged: dict[tuple[object, ...], str] = {}
        self._maps: dict[tuple[int, int], int] = {}
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
            calls.set_groups_of_thread()
            calls.set_ids_of_thread(NOBODYS_UID)
            try:
                return job()
            finally:
                calls.set_ids_of_thread(0)

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
        into a named pipe. Where the owner of a file has no name at all, nobody may write it.
        """
        status = os.stat(path)
        if status.st_mode & 0o005 != 0o005:
            return self.staged(path, status.st_uid, status.st_gid)
        return self.staged(path, _NO_ONE, _NO_ONE)

    def nobodys(self) -> int:
        """The map in which no owner has a name."""
        return self._map(_NO_ONE, _NO_ONE)

    def staged(self, path: str, uid: int, gid: int) -> str:
        """Where `path` is found on the stage, files of `uid` appearing as the enclosure's own."""
        found = os.stat(path)
        # What is there now: a directory may have been replaced, or something mounted on it.
        key = (path, uid, gid, found.st_dev, found.st_ino)
        with self._turn:
            if key not in self._staged:
                place = f"{_STAGE}/{len(self._staged)}"
                # Taken here: what was mounted on the machine since is not on the stage.
                taken = _taken(path)
                self.call(lambda: self._put(taken, place, self._map(uid, gid)))
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
        calls.mount("redoma", place, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=755,size=1m")
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
            self._put(_taken(source), place + target, id_map, _READ_ONLY)
        calls.mount("none", place, "", _MS_BIND_READ_ONLY)

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
        calls.unshare(calls.CLONE_NEWNS)
        calls.mount("none", "/", "", _MS_REC | _MS_PRIVATE)
        # Each mount costs every launcher a line to copy and to read: none but what it needs.
        with suppress(OSError):
            calls.detach(_STAGE)
        calls.mount("redoma", _STAGE, "tmpfs", 0, "mode=755,size=64k")

    @staticmethod
    def _put(tree: int, place: str, id_map: int, attributes: int = 0) -> None:
        try:
            change = struct.pack("QQQQ", _MOUNT_ATTR_IDMAP | attributes, 0, 0, id_map)
            calls.syscall(
                calls.MOUNT_SETATTR,
                tree,
                b"",
                _AT_EMPTY_PATH | _AT_RECURSIVE,
                change,
                len(change),
            )
            if stat.S_ISDIR(os.fstat(tree).st_mode):
                os.mkdir(place)
            else:
                os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o644))
            calls.syscall(
                calls.MOVE_MOUNT,
                tree,
                b"",
                _AT_FDCWD,
                os.fsencode(place),
                _MOVE_MOUNT_F_EMPTY_PATH,
            )
        finally:
            os.close(tree)


def _taken(path: str) -> int:
    """A copy of what is mounted at `path` and below it, which is nowhere yet."""
    # Attack: the last part of the path becomes a symbolic link to somewhere else.
    source = os.open(path, os.O_PATH | os.O_NOFOLLOW)
    try:
        return calls.syscall(
            calls.OPEN_TREE,
            source,
            b"",
            _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_EMPTY_PATH | _AT_RECURSIVE,
        )
    finally:
        os.close(source)
