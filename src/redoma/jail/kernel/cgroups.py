"""Control groups: one per run, version 1 or 2, wherever this process may make them.

Names carry the process that made them, so that whoever comes next can remove what a killed
supervisor left.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from contextlib import suppress
from itertools import count

from redoma.base.identity import identity, is_running
from redoma.model.grant import Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PERIOD = 100_000
_WRITE = os.O_WRONLY | os.O_CLOEXEC
_CONTROLLERS: tuple[str, ...] = ("memory", "pids", "cpu")
# One count for the process: two that stand differently for the kernel have groups side by side.
_numbers = count(1)


class Group:
    """A control group for one run at a time, in every hierarchy that has a part in it."""

    def __init__(self, name: str, places: dict[str, str], version: int) -> None:
        self.name = name
        self.version = version
        self.places = {key: f"{parent}/{name}" for key, parent in places.items()}
        self.limits: Limits | None = None
        self._procs_files: tuple[list[int], list[int]] | None = None
        self._held: frozenset[str] = frozenset()
        self._ooms = self._refusals = self._usage = 0
        for path in dict.fromkeys(self.places.values()):
            os.mkdir(path)

    def limit(self, limits: Limits) -> frozenset[str]:
        """Sets what can be set; returns the names of the limits that now hold."""
        if self.limits != limits:
            held = set()
            for name, pairs in self._settings(limits).items():
                with suppress(OSError):
                    for controller, file, value in pairs:
                        self._write(controller, file, value)
                    held.add(name)
            self.limits, self._held = limits, frozenset(held)
        self._start()
        return self._held

    def _settings(self, limits: Limits) -> dict[str, list[tuple[str, str, str]]]:
        found: dict[str, list[tuple[str, str, str]]] = {}
        old = self.version == 1
        if limits.memory is not None and "memory" in self.places:
            key = "memory.limit_in_bytes" if old else "memory.max"
            found["memory"] = [("memory", key, str(limits.memory))]
            swap = "memory.memsw.limit_in_bytes" if old else "memory.swap.max"
            if os.path.exists(f"{self.places['memory']}/{swap}"):
                # Attack: memory that goes to swap is not counted and slows the whole machine.
                also = limits.swap or 0
                both = str(limits.memory + also) if old else str(also)
                found["memory"].append(("memory", swap, both))
        if limits.processes is not None and "pids" in self.places:
            # The sandbox's launcher and its first process count too.
            found["processes"] = [("pids", "pids.max", str(limits.processes + 2))]
        if limits.cpu_percent is not None and "cpu" in self.places:
            quota = max(1000, limits.cpu_percent * _PERIOD // 100)
            if old:
                found["cpu_percent"] = [
                    ("cpu", "cpu.cfs_period_us", str(_PERIOD)),
                    ("cpu", "cpu.cfs_quota_us", str(quota)),
                ]
            else:
                found["cpu_percent"] = [("cpu", "cpu.max", f"{quota} {_PERIOD}")]
        return found

    def enter(self, pid: int) -> None:
        """Moves one process, whose children will follow it."""
        # Version 1: `tasks` moves one thread in a hundredth of the time of `cgroup.procs`.
        file = "tasks" if self.version == 1 else "cgroup.procs"
        for path in dict.fromkeys(self.places.values()):
            _put(f"{path}/{file}", str(pid))

    def procs_files(self) -> tuple[list[int], list[int]]:
        """Descriptors that move the thread which writes `0` to them in, and out again.

        Only version 1 has groups of threads; with version 2 a whole process goes in, and does not
        come out. A thread that moves itself waits for nobody; moving
        another process waits until every processor has been idle once, some milliseconds.
        Descriptors, since that thread has mounts of its own and may not see these files.
        """
        if not self._procs_files:
            file = "tasks" if self.version == 1 else "cgroup.procs"
            places = list(dict.fromkeys(self.places.values()))
            inside = [os.open(f"{p}/{file}", _WRITE) for p in places]
            above = [p.rpartition("/")[0] for p in places] if self.version == 1 else []
            self._procs_files = (inside, [os.open(f"{p}/{file}", _WRITE) for p in above])
        return self._procs_files

    def out_of_memory(self) -> bool:
        """Whether the kernel killed something here for memory since this was last asked."""
        before, self._ooms = self._ooms, self._oom_kills()
        return self._ooms > before

    def too_many_processes(self) -> bool:
        """Whether a fork was refused here since this was last asked."""
        before, self._refusals = self._refusals, self._fork_refusals()
        return self._refusals > before

    def peak_memory(self) -> int:
        file = "memory.max_usage_in_bytes" if self.version == 1 else "memory.peak"
        return max(0, self._number("memory", file) - self._usage)

    def kill(self) -> None:
        """Ends everything in the group."""
        if self.version == 2:
            with suppress(OSError):
                _put(f"{next(iter(self.places.values()))}/cgroup.kill", "1")

    def empty(self) -> bool:
        key = "pids" if "pids" in self.places else next(iter(self.places))
        file = "tasks" if self.version == 1 else "cgroup.procs"
        return not _get(f"{self.places[key]}/{file}")

    def remove(self) -> bool:
        """Whether nothing of the group is left."""
        gone = True
        for files in self._procs_files or ():
            for fd in files:
                os.close(fd)
        self._procs_files = None
        for path in dict.fromkeys(self.places.values()):
            try:
                os.rmdir(path)
            except FileNotFoundError:
                continue
            except OSError:
                gone = False
        return gone

    def _start(self) -> None:
        if self.version == 1 and "memory" in self.places:
            with suppress(OSError):
                self._write("memory", "memory.max_usage_in_bytes", "0")
        file = "memory.usage_in_bytes" if self.version == 1 else "memory.current"
        self._usage = self._number("memory", file)

    def _oom_kills(self) -> int:
        if self.version == 1:
            return _field(self._read("memory", "memory.oom_control"), "oom_kill")
        found = self._read("memory", "memory.events")
        # An allocation that fails without a kill is counted as well, where the kernel tells it.
        return max(_field(found, "oom_kill"), _field(found, "oom"))

    def _fork_refusals(self) -> int:
        return _field(self._read("pids", "pids.events"), "max")

    def _number(self, controller: str, file: str) -> int:
        text = self._read(controller, file)
        return int(text) if text.strip().isdigit() else 0

    def _read(self, controller: str, file: str) -> str:
        place = self.places.get(controller)
        return _get(f"{place}/{file}") if place else ""

    def _write(self, controller: str, file: str, value: str) -> None:
        _put(f"{self.places[controller]}/{file}", value)


class Groups:
    """Groups of this process: made where it may, used again, removed at the end."""

    def __init__(self, places: dict[str, str], version: int) -> None:
        self.places = places
        self.version = version
        self._lock = allocate_lock()
        self._free: list[Group] = []
        self._made: list[Group] = []

    @property
    def controllers(self) -> frozenset[str]:
        return frozenset(self.places)

    @property
    def words(self) -> str:
        return f"cgroup v{self.version}"

    def take(self, limits: Limits) -> Group:
        """An empty group that nobody else uses, fresh or last used with the same limits."""
        with self._lock:
            for index, group in enumerate(self._free):
                if group.limits == limits:
                    return self._free.pop(index)
        pid = os.getpid()
        # Entering a hierarchy costs a tenth of a millisecond: only those that limit something.
        wanted = {
            "memory": limits.memory is not None,
            "pids": limits.processes is not None,
            "cpu": limits.cpu_percent is not None,
        }
        places = {key: place for key, place in self.places.items() if wanted[key]} or self.places
        group = Group(f"redoma-{identity(pid)}-{next(_numbers)}", places, self.version)
        self._made.append(group)
        return group

    def give_back(self, group: Group) -> None:
        """Keeps a group for the next run, or removes it if its counters cannot start again."""
        if self.version == 1 and len(self._free) < 4 and group.empty():
            self._free.append(group)
        elif group.remove():
            self._made.remove(group)

    def close(self) -> None:
        """Removes every group that this process made."""
        self._free.clear()
        self._made = [group for group in self._made if not group.remove()]

    def clean(self) -> int:
        """Removes groups whose maker is gone; returns how many directories went."""
        gone = 0
        for parent in dict.fromkeys(self.places.values()):
            for name in _names(parent):
                if name.startswith("redoma-") and not is_running(name.removeprefix("redoma-")):
                    with suppress(OSError):
                        os.rmdir(f"{parent}/{name}")
                        gone += 1
        return gone


def find(works: Callable[[Group], bool]) -> Groups | None:
    """The groups this process may make, found by making one; `works` says if it can be entered."""
    own = dict[str, str]()
    for line in _get("/proc/self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            own[name] = path
    mounts = mounted()
    return _find_two(own, mounts, works) or _find_one(own, mounts, works)


def _find_one(
    own: dict[str, str], mounts: dict[str, str], works: Callable[[Group], bool]
) -> Groups | None:
    places = {}
    for controller in _CONTROLLERS:
        if controller in own and controller in mounts:
            parent = (mounts[controller] + own[controller]).rstrip("/")
            if os.access(parent, os.W_OK):
                places[controller] = parent
    return _tried(Groups(places, 1), works) if places else None


def _find_two(
    own: dict[str, str], mounts: dict[str, str], works: Callable[[Group], bool]
) -> Groups | None:
    if "" not in own or "cgroup2" not in mounts:
        return None
    top = mounts["cgroup2"]
    path = own[""].rstrip("/")
    # A group with processes of its own cannot share out controllers: begin one above ours.
    while path:
        path = path.rpartition("/")[0]
        parent = top + path
        shared = _get(f"{parent}/cgroup.subtree_control").split()
        places = {name: parent for name in _CONTROLLERS if name in shared}
        if places and os.access(parent, os.W_OK):
            groups = _tried(Groups(places, 2), works)
            if groups is not None:
                return groups
    shared = _get(f"{top}/cgroup.subtree_control").split()
    places = {name: top for name in _CONTROLLERS if name in shared}
    return _tried(Groups(places, 2), works) if places and os.access(top, os.W_OK) else None


def _tried(groups: Groups, works: Callable[[Group], bool]) -> Groups | None:
    """The same groups if one of them can be made and entered."""
    try:
        group = groups.take(Limits())
    except OSError:
        return None
    if not works(group):
        group.remove()
        return None
    groups.give_back(group)
    return groups


def mounted() -> dict[str, str]:
    """Where each hierarchy is mounted: by controller, and `cgroup2` for the second version's."""
    found: dict[str, str] = {}
    for line in _get("/proc/self/mounts").splitlines():
        _, place, kind, options, *_ = line.split(" ")
        if kind == "cgroup2":
            found.setdefault("cgroup2", place)
        elif kind == "cgroup":
            for option in options.split(","):
                if option in _CONTROLLERS:
                    found.setdefault(option, place)
    return found


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _field(text: str, name: str) -> int:
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.strip().isdigit():
            return int(value)
    return 0


def _get(path: str) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        data = b""
        while chunk := os.read(fd, 65536):
            data += chunk
        return data.decode(errors="replace")
    except OSError:
        return ""
    finally:
        os.close(fd)


def _put(path: str, value: str) -> None:
    fd = os.open(path, _WRITE)
    try:
        os.write(fd, value.encode())
    finally:
        os.close(fd)


def can_enter(group: Group) -> bool:
    """Whether a process of ours can be moved into a control group."""
    silent = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in (1, 2)]
    read, write = os.pipe()
    pid = os.posix_spawn(
        "/bin/sh",
        ["sh", "-c", "read _"],
        {},
        file_actions=[(os.POSIX_SPAWN_DUP2, read, 0), *silent],
    )
    try:
        group.enter(pid)
    except OSError:
        return False
    finally:
        os.close(read)
        os.close(write)
        os.waitpid(pid, 0)
    return True
