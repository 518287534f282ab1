"""What a run gets of this machine where a profile says `machine`: much, and never all of it."""

from __future__ import annotations

import os

_LEAST_MEMORY = 2 << 30
_PROCESSES = 4096
_PROCESSES_OF_A_CORE = 64
# A container's own limit counts before the machine's memory.
_OF_A_CONTAINER = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)
_NUMBERS = ("/proc/sys/kernel/threads-max", "/proc/sys/kernel/pid_max")


def of_machine(name: str) -> int | None:
    """The limit with this name, by the size of the machine; None where it takes the caller's."""
    if name in ("memory", "temporary"):
        return max(_LEAST_MEMORY, _memory() // 2)
    if name == "processes":
        # As much as systemd leaves to a service, and no more than real work has shown to need.
        shares = [number * 15 // 100 for number in map(_number, _NUMBERS) if number]
        return min([max(_PROCESSES, _PROCESSES_OF_A_CORE * (os.cpu_count() or 1)), *shares])
    return None


def _memory() -> int:
    found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([found, *(limit for limit in map(_number, _OF_A_CONTAINER) if limit)])


def _number(path: str) -> int:
    try:
        with open(path) as file:
            return int(file.read())
    except (OSError, ValueError):  # `max`, or another machine's file
        return 0
