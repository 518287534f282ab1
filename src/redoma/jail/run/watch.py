"""Looks at a running tree now and then, for limits that no kernel mechanism here holds."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from redoma.jail.run.limiter import Limiter, tree

TICK = 0.02
_PAGE = os.sysconf("SC_PAGE_SIZE")
_FULL_LOOK = 0.25
_SHORT_LOOK = 0.05
_SHORTEST_LOOK = 0.002
# What lies unread in a socket is the kernel's memory. As much as one holds by default, for each
# above a number that ordinary programs stay below.
_SOCKET = 256 << 10  # the usual buffer, and the piece that may go over it
_FREE_SOCKETS = 256


class Watch:
    """Counts memory, processes, CPU time and written bytes of one tree."""

    def __init__(
        self,
        limiter: Limiter,
        root: int,
        directory: str,
        *,
        in_memory: tuple[str, ...] = (),
        temporary: tuple[str, ...] = (),
        before: int = 0,
        inside: int = -1,
    ) -> None:
        """`inside` is the root that the tree has; it may no longer let anyone look by itself."""
        self._before = before
        self._in_memory = [(path, _device(path)) for path in in_memory]
        self._temporary = [(path, _device(path)) for path in temporary]
        self._limiter = limiter
        self._limits = limiter.limits
        self._watched = limiter.watched
        self._root = root
        self._roots = (f"/proc/{root}/root", f"/proc/self/fd/{inside}")
        self._directory = directory
        self._written: dict[int, int] = {}
        self._free = self._free_now()
        self._next_full = 0.0
        self._many_sockets = False
        self._pace = Pace(limiter.limits.memory) if "memory" in limiter.watched else None
        self.bytes_written = 0
        self.peak_memory = 0
        self.seen: set[str] = set()

    @property
    def needed(self) -> bool:
        return bool(self._watched)

    @property
    def patience(self) -> float:
        """Seconds after which it should be asked to look again at the latest."""
        return TICK if self._pace is None else min(TICK, self._pace.patience)

    def look(self) -> str:
        """The name of a limit that the tree is past, or nothing."""
        now = time.monotonic()
        total = self._limits.total_written
        # One call tells whether the disk filled at all; only then, or seldom, is each process read.
        filled = self._free - self._free_now() if total is not None else 0
        urgent = total is not None and (filled > total // 8 or bool(self._in_memory))
        if not urgent and now < self._next_full:
            return ""
        # By the processor's clock: on a busy machine the next look must not be later still.
        began = time.thread_time()
        verdict = self._full(total)
        spent = time.thread_time() - began
        pause = _SHORT_LOOK if "memory" in self._watched else _FULL_LOOK
        # Attack: buffers are filled faster than a busy watcher comes round again.
        self._next_full = now if self._many_sockets else now + pause + 10 * spent
        if self._pace is not None and self._pace.patience < _SHORT_LOOK:
            self._next_full = min(self._next_full, now + self._pace.patience)
        return verdict

    def _full(self, total: int | None) -> str:
        memory = processes = cpu = descriptors = 0
        pids = tree(self._root)
        for pid in pids:
            with suppress(OSError, ValueError, IndexError):
                if self._watched & {"memory", "processes"}:
                    memory += int(_read(f"/proc/{pid}/statm").split()[1]) * _PAGE
                    processes += len(os.listdir(f"/proc/{pid}/task"))
                if "cpu_seconds" in self._watched:
                    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
                    cpu += sum(int(field) for field in fields[11:15])
                if total is not None:
                    for line in _read(f"/proc/{pid}/io").splitlines():
                        if line.startswith("write_bytes:"):
                            self._written[pid] = int(line.split()[1])
                if "memory" in self._watched:
                    # Since Linux 6.2 the size is the number of entries; before it is nought.
                    open_ones = f"/proc/{pid}/fd"
                    descriptors += os.stat(open_ones).st_size or len(os.listdir(open_ones))
        held = max(0, self._held(self._in_memory) - self._before)
        memory += held
        if "memory" in self._watched:
            memory += self._held(self._temporary)
            most_memory = self._limits.memory or 0
            # Attack: buffers of sockets that nobody reads are in no process's size. They are
            # counted only where all together could matter.
            self._many_sockets = (descriptors - _FREE_SOCKETS) * _SOCKET > most_memory // 4
            if self._many_sockets:
                memory += max(0, self._sockets(pids) - _FREE_SOCKETS) * _SOCKET
        self.bytes_written = sum(self._written.values()) + held
        self.peak_memory = max(self.peak_memory, memory)
        if self._pace is not None:
            self._pace.saw(memory, time.monotonic())
        limits = self._limits
        # One of them is the enclosure's own. At the limit the kernel refuses the next one, and
        # there is nothing to end; a limit of one is always met, and says nothing.
        most = limits.processes or 0
        if "processes" in self._watched and most > 1 and processes - 1 >= most:
            self.seen.add("processes")
        if "memory" in self._watched and limits.memory is not None and memory > limits.memory:
            return "memory"
        if total is not None and self.bytes_written > total:
            return "total_written"
        if limits.cpu_seconds is not None and cpu / os.sysconf("SC_CLK_TCK") > limits.cpu_seconds:
            return "cpu_seconds"
        return ""

    def _sockets(self, pids: list[int]) -> int:
        """How many sockets there are: by the network's own count, where it is the tree's own."""
        own, ours = f"/proc/{self._root}/ns/net", "/proc/self/ns/net"
        with suppress(OSError, ValueError, IndexError):
            if os.stat(own).st_ino != os.stat(ours).st_ino:
                rows = _read(f"/proc/{self._root}/net/protocols").splitlines()[1:]
                return sum(int(row.split()[2]) for row in rows)
        return _open_sockets(pids)

    def _held(self, places: list[tuple[str, int | None]]) -> int:
        """Bytes of files that are in memory and in no process's own pages."""
        held = 0
        for path, outside in places:
            for root in self._roots:
                # Before the enclosure has a root of its own, this is the machine's disk.
                if _device(root + path) in (None, outside):
                    continue
                with suppress(OSError):
                    status = os.statvfs(root + path)
                    held += (status.f_blocks - status.f_bfree) * status.f_frsize
                    break
        return held

    def _free_now(self) -> int:
        try:
            status = os.statvfs(self._directory)
        except OSError:
            return 0
        return status.f_bfree * status.f_frsize


class Pace:
    """How soon memory has to be looked at again, by how fast it grows.

    Attack: everything is taken at once, between one look and the next.
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._before: tuple[int, float] | None = None
        self.patience = _SHORT_LOOK

    def saw(self, memory: int, now: float) -> None:
        """So much was there at that time: the next look comes before half the way is gone."""
        before, self._before = self._before, (memory, now)
        self.patience = _SHORT_LOOK
        if before is None or self._most is None:
            return
        grown, took = memory - before[0], now - before[1]
        if grown > 0 and took > 0:
            left = (self._most - memory) * took / grown
            self.patience = max(_SHORTEST_LOOK, min(_SHORT_LOOK, left / 2))


def _open_sockets(pids: list[int]) -> int:
    """How many sockets some processes have open, each counted once."""
    found: set[str] = set()
    for pid in pids:
        with suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with suppress(OSError):
                    target = os.readlink(f"/proc/{pid}/fd/{fd}")
                    if target.startswith("socket:"):
                        found.add(target)
    return len(found)


def _device(path: str) -> int | None:
    try:
        return os.stat(path).st_dev
    except OSError:
        return None


def _read(path: str) -> str:
    with open(path) as file:
        return file.read()
