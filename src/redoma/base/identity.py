"""Names that stand for one thing alone: a process of this boot, and whatever happens next.

The kernel gives a pid away again, a start time it does not. The names that are drawn here are
unguessable, and made without importing anything.
"""

from __future__ import annotations

import os
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


_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that is read as another: no i, l, o, 0, 1


def short_id() -> str:
    """A name that a person can type: ten letters and digits, about fifty bits."""
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in os.urandom(10))


def uuid() -> str:
    """A random UUID (version 4) in its usual spelling."""
    drawn = bytearray(os.urandom(16))
    drawn[6] = drawn[6] & 0x0F | 0x40
    drawn[8] = drawn[8] & 0x3F | 0x80
    text = drawn.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
