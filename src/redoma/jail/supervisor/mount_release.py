"""Lets a run's mounts go beside the work, not before its result is given.

When an overlay is unmounted the kernel writes the whole file system below it to disk, whoever else
filled it, and the last process of the run would wait for that. So its mounts are held from outside
until it is gone, and given up a little later by a thread that nobody waits for: several at once,
since for all but the first there is nothing left to write.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock, start_new_thread
from contextlib import suppress

LATER = 0.25
_lock = allocate_lock()
_waiting: list[int] = []


class MountHold:
    """The mount namespace of one run."""

    def __init__(self, pid: int) -> None:
        self._fd = -1
        with suppress(OSError):  # then it ends as any run does, only later
            self._fd = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)

    def let_go(self) -> None:
        """Gives the mounts up; the kernel takes them away when it has the time."""
        if self._fd < 0:
            return
        with _lock:
            _waiting.append(self._fd)
            alone = len(_waiting) == 1
        self._fd = -1
        if alone:
            start_new_thread(_later, ())


def _later() -> None:
    time.sleep(LATER)
    with _lock:
        fds = list(_waiting)
        _waiting.clear()
    for fd in fds:
        os.close(fd)


def _in_a_child() -> None:
    """A forked child has no such thread, nor anyone who holds the lock."""
    global _lock  # noqa: PLW0603 — the parent's may be held for ever
    _lock = allocate_lock()
    while _waiting:
        os.close(_waiting.pop())


os.register_at_fork(after_in_child=_in_a_child)
