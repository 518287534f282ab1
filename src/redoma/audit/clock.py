"""A clock that only goes forward, kept over restarts, for limits that count time.

The wall clock can be set: back, and a limit that counts by it would hold for years; forward, and
it would open. Within one boot the kernel's own count is taken. Across a reboot at least the time
since the boot has passed, whatever the wall clock says.
"""

from __future__ import annotations

import time

from redoma.base.process_identity import boot_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.audit.chain import Head

_MICRO = 1000
MINUTE = 60_000_000
DAY = 24 * 60 * MINUTE


def boot() -> str:
    """The name of this boot of the machine."""
    return boot_id() or "unknown"


class Now:
    """This moment: the boot, microseconds since it (sleep included), and since 1970."""

    __slots__ = ("boot", "uptime", "wall")

    def __init__(self) -> None:
        self.boot = boot()
        self.uptime = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // _MICRO
        self.wall = time.time_ns() // _MICRO


def passed(head: Head, now: Now) -> int:
    """How much time has passed since the head was written; never less than none."""
    if not head.boot:
        return 0
    if head.boot == now.boot:
        return max(0, now.uptime - head.uptime)
    return max(now.uptime, now.wall - head.wall)
