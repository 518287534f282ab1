"""Processes for the kernel: whose this one is, whether it adopts orphans, its rlimits and heirs."""

from __future__ import annotations

import os
import resource
from _thread import allocate_lock
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.grant import Limits

# From the first of each pair up to the second: ids, groups, and what may be done at all.
_RIGHTS = ((b"\nUid:", b"\nFDSize"), (b"\nGroups:", b"\n"), (b"\nCapInh:", b"\nSpeculation"))
_SPACES = ("mnt", "net", "user")
_CHUNK = 1 << 14


def is_machines_root() -> bool:
    """Whether this process is root to every file of the machine.

    Root in a user namespace of an ordinary user's (`unshare -Ur`, a rootless container) is that
    user to the kernel. What belongs to the kernel itself has its owner's number only where the
    machine's root has one.
    """
    if os.geteuid() != 0:
        return False
    try:
        return os.stat("/proc/filesystems").st_uid == 0
    except OSError:
        return True  # nobody can tell: as strict as can be


def standing() -> tuple[object, ...]:
    """A value that is another one as soon as rights, namespaces or the root directory are."""
    root = os.stat("/")
    found: tuple[object, ...] = (root.st_dev, root.st_ino)
    try:
        fd = os.open("/proc/thread-self/status", os.O_RDONLY | os.O_CLOEXEC)
        try:
            text = b""
            while b"\nSpeculation" not in text and (more := os.read(fd, _CHUNK)):
                text += more  # a thread may be in very many groups
        finally:
            os.close(fd)
        found += tuple(text.partition(at)[2].partition(end)[0] for at, end in _RIGHTS)
        return found + tuple(os.readlink(f"/proc/thread-self/ns/{name}") for name in _SPACES)
    except OSError:  # a root without /proc: nothing that was made before is for it
        return (*found, *os.getresuid(), *os.getresgid(), *os.getgroups())


_PR_SET_CHILD_SUBREAPER = 36


class Reaper:
    """Whether this process takes in orphans: only while a run goes on."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._runs = 0
        self._prctl = 0

    def begin(self) -> None:
        """One more run goes on."""
        with self._lock:
            self._runs += 1
            if self._runs == 1:
                self._set(1)

    def end(self) -> None:
        """One run less; with the last one, orphans of this program go where they always went."""
        with self._lock:
            self._runs -= 1
            if self._runs == 0:
                self._set(0)

    def _set(self, value: int) -> None:
        # `ctypes` itself would cost a cold start as much as a sandbox; its core does not.
        import _ctypes

        if not self._prctl:
            self._prctl = _ctypes.dlsym(_ctypes.dlopen("", 0), "prctl")
        _ctypes.call_function(self._prctl, (_PR_SET_CHILD_SUBREAPER, value, 0, 0, 0))


reaper = Reaper()


def process_tree(root: int) -> list[int]:
    """A process and all that descend from it, as far as they live."""
    found, pending = [], [root]
    while pending:
        pid = pending.pop()
        found.append(pid)
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/children") as file:
                    pending += [int(child) for child in file.read().split()]
    return found


def rlimits_of(limits: Limits) -> list[tuple[int, int]]:
    """The kind and the value of each limit that the kernel holds for every process by itself."""
    wanted = (
        (resource.RLIMIT_CORE, 1),  # not 0: then a crash starts the machine's own handler, outside
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_FSIZE, limits.file_size),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_AS, limits.address_space),
    )
    return [(kind, value) for kind, value in wanted if value is not None]


def soft_and_hard(kind: int, value: int) -> tuple[int, int]:
    """The pair that `setrlimit` takes; never above what this process may have itself."""
    most = resource.getrlimit(kind)[1]
    soft = value if most == resource.RLIM_INFINITY else min(value, most)
    # At the hard limit of CPU time the kernel kills without a word; before it, it says why.
    return soft, soft + 1 if kind == resource.RLIMIT_CPU else soft


def packed_rlimits(limits: Limits) -> str:
    """`kind:value` pairs for a process that limits itself."""
    pairs = rlimits_of(limits)
    if limits.memory is not None:
        pairs.append((resource.RLIMIT_DATA, limits.memory))
    return ",".join(f"{kind}:{value}" for kind, value in pairs)


def limit_this_process(packed: str) -> None:
    """Sets what `packed_rlimits` says on this process."""
    for pair in filter(None, packed.split(",")):
        kind, _, value = pair.partition(":")
        resource.setrlimit(int(kind), soft_and_hard(int(kind), int(value)))
