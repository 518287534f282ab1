"""Forks this interpreter straight into namespaces of its own."""

from __future__ import annotations

import os
from _ctypes import FUNCFLAG_CDECL, FUNCFLAG_PYTHONAPI, FUNCFLAG_USE_ERRNO, CFuncPtr, dlopen, dlsym

from redoma.jail.kernel.calls import Long, checked
from redoma.jail.kernel.syscall_numbers import number

NEW_MOUNTS = 0x00020000
NEW_HOSTNAME = 0x04000000
NEW_IPC = 0x08000000
NEW_USERS = 0x10000000
NEW_PROCESSES = 0x20000000
NEW_NETWORK = 0x40000000
# The new process is a child of our parent, who alone waits for it.
SIBLING = 0x8000
_SIGCHLD = 17


class _Held(CFuncPtr):
    """A function that is called without letting another thread run meanwhile."""

    _flags_ = FUNCFLAG_CDECL | FUNCFLAG_USE_ERRNO | FUNCFLAG_PYTHONAPI
    _restype_ = Long


_LIBRARY = dlopen("", 0)
_syscall = _Held(dlsym(_LIBRARY, "syscall"))
# The interpreter's own steps around a fork, since this one is not made by it.
_before, _in_parent, _in_child = (
    _Held(dlsym(_LIBRARY, f"PyOS_{name}"))
    for name in ("BeforeFork", "AfterFork_Parent", "AfterFork_Child")
)


def fork_into(namespaces: int) -> int:
    """0 in the new process, its number in the old one; for a process with one thread only."""
    call = number("clone", os.uname().machine)
    assert call is not None
    _before()
    answer = _syscall(Long(call), Long(namespaces | _SIGCHLD), *(Long(0) for _ in range(4)))
    if answer == 0:
        _in_child()
        return 0
    _in_parent()
    return checked(answer)
