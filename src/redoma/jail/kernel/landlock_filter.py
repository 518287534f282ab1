"""Closes by system call what Landlock leaves open, where it is the only layer.

Landlock stands on paths that are opened. Attributes of files are changed without opening them,
sockets have no path rule, and neither queues, shared memory nor other processes' limits are files.
"""

from __future__ import annotations

import errno
import os

from redoma.jail.kernel import seccomp
from redoma.jail.kernel.syscall_numbers import number
from redoma.model.access import Syscalls

_LOAD, _EQUAL, _AND, _RETURN = 0x20, 0x15, 0x54, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_AF_UNIX = 1
_SOCK_KIND, _SOCK_DGRAM = 0xF, 2

# Refused: memory and queues that are shared by number with every process of the same user, and
# news of directories that may not be read.
_SHARED_BY_NUMBER = """
    shmget shmat shmctl semget semop semctl semtimedop msgget msgsnd msgrcv msgctl mq_open
    mq_unlink inotify_add_watch ioprio_set truncate
""".split()
# Attributes of a file by its path are read without opening it.
_READS_BY_PATH = "getxattr lgetxattr listxattr llistxattr getxattrat listxattrat".split()
# Only for the caller itself (0): any other number may be a process outside.
_OF_A_PROCESS = (
    "prlimit64 sched_setaffinity sched_setscheduler sched_setparam sched_setattr".split()
)


def assemble(syscalls: Syscalls, *, network: bool, memory_counted: bool) -> list[bytes]:
    """The filters to load, one after the other; each call has to pass them all."""
    usual = seccomp.assemble(
        syscalls,
        sockets=seccomp.Sockets.USUAL,
        refuse_preallocation=True,
        refuse_uncounted_memory=not memory_counted,
        landlock_only=True,
    )
    return [usual, _rest(network=network)]


def _rest(*, network: bool) -> bytes:
    machine = os.uname().machine
    made = seccomp.Filter(machine)
    made.put(_LOAD, 0)
    for name in _SHARED_BY_NUMBER:
        made.refuse(name, errno.EPERM)
    for name in _READS_BY_PATH:
        made.refuse(name, errno.EOPNOTSUPP)
    for name in _OF_A_PROCESS:
        _only_zero(made, name, 0)
    _only_zero(made, "setpriority", 0)
    _only_zero(made, "setpriority", 1)
    if network:
        # Attack: a socket by path leads to whatever listens there: docker, the session bus, an
        # agent with keys. Landlock has no rule for it.
        made.put(_EQUAL, _number("socket", machine), no=4)
        made.put(_LOAD, 16)
        made.put(_EQUAL, _AF_UNIX, no=1)
        made.put(_RETURN, _ERROR | errno.EAFNOSUPPORT)
        made.put(_LOAD, 0)
    else:
        for name in ("socket", "connect", "bind"):
            made.refuse(name, errno.EACCES)
    # Attack: one half of a pair that keeps no connection can be connected anew, to any path.
    made.put(_EQUAL, _number("socketpair", machine), no=5)
    made.put(_LOAD, 24)
    made.put(_AND, _SOCK_KIND)
    made.put(_EQUAL, _SOCK_DGRAM, no=1)
    made.put(_RETURN, _ERROR | errno.EPERM)
    made.put(_LOAD, 0)
    made.put(_RETURN, _ALLOW)
    return b"".join(made.code)


def _only_zero(made: seccomp.Filter, name: str, argument: int) -> None:
    made.put(_EQUAL, _number(name, made.machine), no=4)
    made.put(_LOAD, 16 + 8 * argument)
    made.put(_EQUAL, 0, yes=1)
    made.put(_RETURN, _ERROR | errno.EPERM)
    made.put(_LOAD, 0)


def _number(name: str, machine: str) -> int:
    call = number(name, machine)
    assert call is not None
    return call
