"""Moments: how long something still holds, whatever happens to the clock on the wall.

Attack: somebody, or a time server, sets the clock back, and a question that was over an hour ago
waits for its answer again. What ends is counted by the time since the machine was started, which
only goes forward and is the same for every process; another start of the machine ends it all.
"""

from __future__ import annotations

import time

from redoma.base.ids import uuid
from redoma.base.process_identity import boot_id
from redoma.model.value import Value


class Until(Value):
    """A moment of one start of the machine."""

    boot: str
    seconds: float

    def left(self) -> float:
        """Seconds until then; 0 when it is over."""
        return max(0.0, self.seconds - uptime()) if self.boot == boot() else 0.0


def uptime() -> float:
    """Seconds since the machine was started, sleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot() -> str:
    """The name of this start of the machine."""
    if not _boots:
        # Without a name for it no moment of another process can be trusted to be of this start.
        _boots.append(boot_id() or uuid())
    return _boots[0]


def after(seconds: float) -> Until:
    """The moment so many seconds from now."""
    return Until(boot=boot(), seconds=uptime() + seconds)


def now() -> str:
    """The time of day as people write it: ISO 8601, UTC, to the millisecond."""
    nanoseconds = time.time_ns()
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{stamp}.{rest // 1_000_000:03}Z"


_boots: list[str] = []
