"""Which process, of which boot: the kernel gives a pid away again, a start time it does not."""

from __future__ import annotations

from functools import lru_cache

_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_STATE, _START_TIME = 0, 19  # of /proc/PID/stat, counted behind the name in parentheses


@lru_cache(maxsize=1)
def boot_id() -> str:
    """The kernel's name for this boot; nothing where it does not say."""
    try:
        with open(_BOOT_ID, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return ""


def start_time(pid: int) -> str:
    """When a process started, in the kernel's ticks; nothing where it has ended.

    A zombie has ended: only its exit status is left.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # Attack: the name of a process may hold spaces and parentheses.
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return ""
    if len(fields) <= _START_TIME or fields[_STATE] in (b"Z", b"X"):
        return ""
    return fields[_START_TIME].decode("ascii")


def identity(pid: int) -> str:
    """`PID-START`, which names one process of this boot for good."""
    return f"{pid}-{start_time(pid)}"


def is_running(name: str) -> bool:
    """Whether the process in `PID-START` or `PID-START-…` still runs."""
    pid, _, rest = name.partition("-")
    started = rest.partition("-")[0]
    return pid.isdigit() and started != "" and start_time(int(pid)) == started
