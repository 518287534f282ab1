"""While a run goes on, its first process becomes our child when its launcher ends.

Only a parent is told what a process used. The launcher ends before the first process does, so
without this the whole tree's use of time, memory and disk would go to the machine's init.
"""

from __future__ import annotations

from _thread import allocate_lock

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
        # `ctypes` itself would cost a cold start as much as an enclosure; its core does not.
        import _ctypes

        if not self._prctl:
            self._prctl = _ctypes.dlsym(_ctypes.dlopen("", 0), "prctl")
        _ctypes.call_function(self._prctl, (_PR_SET_CHILD_SUBREAPER, value, 0, 0, 0))


reaper = Reaper()
