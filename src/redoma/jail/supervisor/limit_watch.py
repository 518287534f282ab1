"""Looks at a running tree now and then, for limits that no kernel mechanism here holds.

A process's size has every page that it can see: eight workers that share an array of their parent
seem to have it eight times. The kernel knows better (`Pss` in smaps_rollup), by walking all their
pages: it is asked only where what can have come since the last answer could pass the limit.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from redoma.base import signals
from redoma.jail.kernel.process import process_tree
from redoma.jail.supervisor.limiter import Limiter, free_on, full, opened_below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.jail.supervisor.run import Supervisor

TICK = 0.02
_FULL_LOOK = 0.25
_SHORT_LOOK = 0.05
_SHORTEST_LOOK = 0.002
_SOON = 1.0
# What lies unread in a socket is the kernel's memory. As much as one holds by default, for each
# above a number that ordinary programs stay below.
_SOCKET = 256 << 10  # the usual buffer, and the piece that may go over it
_FREE_SOCKETS = 256
# What is only watched gives way to whoever watches: else a tree with many processes has taken
# everything before we are on a processor again.
_GIVES_WAY = 5
_SIZES = frozenset({"memory", "processes", "cpu_seconds"})
_DESCRIPTORS = frozenset({"memory", "open_files"})
_PAGE = os.sysconf("SC_PAGE_SIZE")
# Above this many it would be asked for longer than a look may take; then sizes are added up.
_MOST_ASKED = 512


class LimitWatch:
    """Counts memory, processes, CPU time, open files and written bytes of one tree."""

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
        self._limits = limiter.limits
        self._watched = limiter.watched
        self._root = root
        self._roots = (f"/proc/{root}/root", f"/proc/self/fd/{inside}")
        self._directory = directory
        self._written = WrittenBytes()
        self._free = free_on(self._directory)
        # A disk that was nearly full before is not the command's doing: half of the rest is its.
        self.keep = min(self._limits.keep_free or 0, self._free // 2)
        self._next_full = 0.0
        self._paces = {
            "memory": Pace(self._limits.memory if "memory" in self._watched else None),
            "disk": Pace(self._limits.total_written),
            "free": Pace(self._free - self.keep if self._limits.keep_free else None),
        }
        self._memory = TreeMemory()
        # File systems of their own that can run full, held open beyond their namespace.
        self.sized: list[int] = []
        self.bytes_written = 0
        self.peak_memory = 0
        self.seen: set[str] = set()

    @classmethod
    def of(cls, run: Supervisor) -> LimitWatch:
        """The watch over a run that has begun."""
        made = cls(
            run.limiter,
            run.first or run.pid,
            run.directory,
            in_memory=run.launch.in_memory,
            temporary=run.launch.temporary,
            before=run.launch.in_memory_before,
            inside=run.root,
        )
        if not run.temporary:
            # When the run began, its root may not have stood yet.
            run.temporary += opened_below(made._roots, run.launch.temporary)
        made.sized = run.temporary
        if "memory" in made._watched:
            made._give_way()
        return made

    def _give_way(self) -> None:
        """Lowers the priority of the tree, and so of all that it starts."""
        for pid in process_tree(self._root):
            with suppress(OSError):
                os.setpriority(
                    os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, 0) + _GIVES_WAY
                )

    @property
    def patience(self) -> float:
        """Seconds after which it should be asked to look again at the latest."""
        return min(TICK, *(pace.patience for pace in self._paces.values()))

    def look(self) -> str:
        """The name of a limit that the tree is past, or nothing."""
        now = time.monotonic()
        total, keep = self._limits.total_written, self._limits.keep_free
        # One call tells whether the disk filled at all; only then, or seldom, is each process read.
        free = free_on(self._directory) if total is not None or keep is not None else self._free
        filled = self._free - free
        if keep is not None:
            self._paces["free"].saw(filled, now)
            if free < self.keep:
                return "keep_free"
        urgent = total is not None and (filled > total // 8 or bool(self._in_memory))
        if not urgent and now < self._next_full:
            return ""
        # By the processor's clock: on a busy machine the next look must not be later still.
        began = time.thread_time()
        verdict = self._full(total)
        spent = time.thread_time() - began
        pause = _SHORT_LOOK if "memory" in self._watched else _FULL_LOOK
        self._next_full = now + pause + 10 * spent
        for pace in (self._paces["memory"], self._paces["disk"]):
            # However dear a look is, the next one is not put off while it could come too late.
            if pace.left < _SOON:
                self._next_full = min(self._next_full, now + pace.patience)
        return verdict

    def _full(self, total: int | None) -> str:
        limits = self._limits
        processes = cpu = descriptors = 0
        written: dict[int, int] = {}
        pids = process_tree(self._root)
        self._memory.begin()
        for pid in pids:
            with suppress(OSError, ValueError, IndexError):
                if self._watched & _SIZES:
                    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
                    cpu += sum(int(field) for field in fields[11:15])
                    processes += int(fields[17])  # its threads
                    pages, faults = int(fields[21]), int(fields[7])
                    self._memory.add(pid, state=fields[0], pages=pages, faults=faults)
                if total is not None:
                    written[pid] = _written_by(pid)
                if self._watched & _DESCRIPTORS:
                    # Since Linux 6.2 the size is the number of entries; before it is nought.
                    open_ones = f"/proc/{pid}/fd"
                    count = os.stat(open_ones).st_size or len(os.listdir(open_ones))
                    descriptors += count
                    if limits.open_files is not None and count >= limits.open_files:
                        self.seen.add("open_files")
        self.seen.update(full(self.sized))
        held = max(0, self._held(self._in_memory) - self._before)
        self.bytes_written = self._written.total(written) + held
        now = time.monotonic()
        self._paces["disk"].saw(self.bytes_written, now)
        # One of them is the sandbox's own. At the limit the kernel refuses the next one, and
        # there is nothing to end; a limit of one is always met, and says nothing.
        most = limits.processes or 0
        if "processes" in self._watched and most > 1 and processes - 1 >= most:
            self.seen.add("processes")
        if "memory" in self._watched and limits.memory is not None:
            beside = held + self._held(self._temporary)
            memory = self._memory.bytes(limits.memory - beside) + beside
            sockets = self._in_sockets(pids, descriptors, limits.memory - memory)
            self.peak_memory = max(self.peak_memory, memory)
            self._paces["memory"].saw(memory + sockets, time.monotonic())
            if memory + sockets > limits.memory:
                return "memory"
        if total is not None and self.bytes_written > total:
            return "total_written"
        if limits.cpu_seconds is not None and cpu / os.sysconf("SC_CLK_TCK") > limits.cpu_seconds:
            return "cpu_seconds"
        return ""

    def _in_sockets(self, pids: list[int], descriptors: int, left: int) -> int:
        """What may lie in the buffers of sockets: counted only where that could pass what is left.

        Attack: buffers of sockets that nobody reads are in no process's size, and are filled
        faster than all descriptors are looked at. So the tree stands still meanwhile.
        """
        likely = max(0, descriptors - _FREE_SOCKETS) * _SOCKET
        if likely <= left or left < 0:
            return likely
        return self._memory.standing_still(
            lambda: max(0, self._sockets(pids) - _FREE_SOCKETS) * _SOCKET, left
        )

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
                # Before the sandbox has a root of its own, this is the machine's disk.
                if _device(root + path) in (None, outside):
                    continue
                with suppress(OSError):
                    status = os.statvfs(root + path)
                    held += (status.f_blocks - status.f_bfree) * status.f_frsize
                    break
        return held


class WrittenBytes:
    """What a tree wrote, each byte once.

    A process that was waited for is in the count of whoever waited. One that nobody waits for (its
    parent ignores SIGCHLD) is in none: so a sum that stays smaller shows how much left with it.
    """

    def __init__(self) -> None:
        self._most = self._left = 0
        self._smaller: int | None = None

    def total(self, alive: dict[int, int]) -> int:
        """The bytes of all, by what each living process says of itself."""
        now = sum(alive.values())
        if now >= self._most:
            self._most, self._smaller = now, None
        elif self._smaller is None:
            # It may be between two: its parent was read before it waited, and it itself too late.
            self._smaller = now
        else:
            rest = max(now, self._smaller)
            self._left += self._most - rest
            self._most, self._smaller = rest, None
        return self._most + self._left


class Pace:
    """How soon something has to be looked at again, by how fast it grows.

    Attack: everything is taken at once, between one look and the next.
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._before: tuple[int, float] | None = None
        self._rate = 0.0  # bytes a second, as it was of late
        self.left = float("inf")  # seconds, at that rate
        self.patience = _SHORT_LOOK

    def saw(self, amount: int, now: float) -> None:
        """So much was there at that time: the next look comes before a third of the way is gone."""
        before, self._before = self._before, (amount, now)
        self.patience = _SHORT_LOOK
        if before is None or self._most is None:
            return
        grown, took = amount - before[0], now - before[1]
        # Counting exactly what was estimated before looks like less: it goes on growing all the
        # same, and is believed to be slower only little by little.
        rate = grown / took if took > 0 else 0.0
        self._rate = max(rate, self._rate * 0.75)
        if self._rate > 0:
            self.left = (self._most - amount) / self._rate
            self.patience = max(_SHORTEST_LOOK, min(_SHORT_LOOK, self.left / 3))


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


def _written_by(pid: int) -> int:
    """What a process and all that it waited for wrote; nothing where it lets nobody look."""
    with suppress(OSError):
        for line in _read(f"/proc/{pid}/io").splitlines():
            if line.startswith("write_bytes:"):
                return int(line.split()[1])
    return 0


def _device(path: str) -> int | None:
    try:
        return os.stat(path).st_dev
    except OSError:
        return None


def _read(path: str) -> str:
    with open(path) as file:
        return file.read()


class TreeMemory:
    """Sizes and page faults at each look, and what the kernel said when it was last asked."""

    def __init__(self) -> None:
        self._pids: list[int] = []
        self._running: list[int] = []
        self._pages = self._faults = 0
        # What was really there, and the pages and faults that there had been by then.
        self._known: tuple[int, int, int] | None = None

    def begin(self) -> None:
        """A new look begins."""
        self._pids, self._running, self._pages, self._faults = [], [], 0, 0

    def add(self, pid: int, *, state: str, pages: int, faults: int) -> None:
        """One process, parents first: its size in pages, and how often it got a page so far."""
        # The first one is the sandbox's own; who was stopped by another stays so.
        if self._pids and state not in "TtZX":
            self._running.append(pid)
        self._pids.append(pid)
        self._pages += pages
        self._faults += faults

    def bytes(self, limit: int) -> int:
        """What they have together; exact where it matters for `limit`, else never too little."""
        sizes = self._pages * _PAGE
        if sizes <= limit:
            self._known = None
            return sizes
        if self._known is not None:
            known, pages, faults = self._known
            # A page that is written while shared is copied: the sizes stay, and a fault is counted.
            more = max(0, self._pages - pages) + max(0, self._faults - faults)
            if self._faults >= faults and known + more * _PAGE <= limit:
                return known + more * _PAGE
        if len(self._pids) > _MOST_ASKED:
            return sizes
        # Attack: while all their pages are walked, they take the rest and are gone. So they stand
        # still for these milliseconds; parents stop first and go on last, so that none sees it.
        known = self.standing_still(lambda: sum(map(_share, self._pids)), limit)
        self._known = (known, self._pages, self._faults)
        return known

    def standing_still(self, count: Callable[[], int], limit: int) -> int:
        """What `count` finds while nobody moves; above the limit they stay so until they end."""
        running = [pid for pid in self._running if _signalled(pid, signals.SIGSTOP)]
        found = 0
        try:
            found = count()
        finally:
            for pid in reversed(running if found <= limit else []):
                _signalled(pid, signals.SIGCONT)
        return found


def _signalled(pid: int, number: int) -> bool:
    with suppress(OSError):
        os.kill(pid, number)
        return True
    return False


def _share(pid: int) -> int:
    """A process's share of what it sees, without pages of files, which the kernel can let go."""
    with suppress(OSError, ValueError):
        with open(f"/proc/{pid}/smaps_rollup") as file:
            rows = {row[0]: int(row[1]) << 10 for row in map(str.split, file) if row[-1] == "kB"}
        return rows["Pss:"] - rows.get("Pss_File:", 0) + rows.get("SwapPss:", 0)
    # It lets nobody look: then all that it sees is its own.
    with suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * _PAGE
    return 0
