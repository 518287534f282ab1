"""While a run goes on, its first process becomes our child when its launcher ends.

Only a parent is told what a process used. The launcher ends before the first process does, so
without this the whole tree's use of time, memory and disk would go to the machine's init.
"""

from __future__ import annotations

from _thread import allocate_lock

_PR_SET_CHILD_SUBREAPER = 36
_lock = allocate_lock()
_runs = 0


def begin() -> None:
    """One more run goes on."""
    global _runs
    with _lock:
        _runs += 1
        if _runs == 1:
            _set(1)


def end() -> None:
    """One run less; with the last one, orphans of this program go where they always went."""
    global _runs
    with _lock:
        _runs -= 1
        if _runs == 0:
            _set(0)


_address = 0


def _set(value: int) -> None:
    global _address
    # `ctypes` itself would cost a cold start as much as an enclosure; its core does not.
    import _ctypes

    if not _address:
        _address = _ctypes.dlsym(_ctypes.dlopen("", 0), "prctl")
    _ctypes.call_function(_address, (_PR_SET_CHILD_SUBREAPER, value, 0, 0, 0))
