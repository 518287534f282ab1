"""Closes by system call what Landlock leaves open, where it is the only layer.

Landlock stands on paths that are opened. Attributes of files are changed without opening them,
sockets have no path rule, and neither queues, shared memory nor other processes' limits are files.
"""

from __future__ import annotations

import errno
import os

from redoma.jail.kernel import seccomp
from redoma.jail.kernel.syscall_numbers import MACHINES
from redoma.model.access import Syscalls

_LOAD, _EQUAL, _AND, _RETURN = 0x20, 0x15, 0x54, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_AF_UNIX = 1
_SOCK_KIND, _SOCK_DGRAM = 0xF, 2

# Numbers on x86_64 and on aarch64. Refused: memory and queues that are shared by number with every
# process of the same user, and news of directories that may not be read.
_SHARED_BY_NUMBER = {
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190),
    "semop": (65, 193), "semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186),
    "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187), "mq_open": (240, 180),
    "mq_unlink": (241, 181), "inotify_add_watch": (254, 27), "ioprio_set": (251, 30),
    "truncate": (76, 45),
}  # fmt: skip
# Attributes of a file by its path are read without opening it.
_READS_BY_PATH = {
    "getxattr": (191, 8), "lgetxattr": (192, 9), "listxattr": (194, 11), "llistxattr": (195, 12),
    "getxattrat": (464, 464), "listxattrat": (465, 465),
}  # fmt: skip
# Only for the caller itself (0): any other number may be a process outside.
_OF_A_PROCESS = {
    "prlimit64": (302, 261), "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274),
}  # fmt: skip
_SETPRIORITY = (141, 140)
_SOCKET, _SOCKETPAIR, _CONNECT, _BIND = (41, 198), (53, 199), (42, 203), (49, 200)


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
    column = MACHINES[machine][1]
    made = seccomp.Filter(machine)
    made.put(_LOAD, 0)
    for numbers in _SHARED_BY_NUMBER.values():
        _refuse(made, numbers[column], errno.EPERM)
    for numbers in _READS_BY_PATH.values():
        _refuse(made, numbers[column], errno.EOPNOTSUPP)
    for numbers in _OF_A_PROCESS.values():
        _only_zero(made, numbers[column], 0)
    _only_zero(made, _SETPRIORITY[column], 0)
    _only_zero(made, _SETPRIORITY[column], 1)
    if network:
        # Attack: a socket by path leads to whatever listens there: docker, the session bus, an
        # agent with keys. Landlock has no rule for it.
        made.put(_EQUAL, _SOCKET[column], no=4)
        made.put(_LOAD, 16)
        made.put(_EQUAL, _AF_UNIX, no=1)
        made.put(_RETURN, _ERROR | errno.EAFNOSUPPORT)
        made.put(_LOAD, 0)
    else:
        for numbers in (_SOCKET, _CONNECT, _BIND):
            _refuse(made, numbers[column], errno.EACCES)
    # Attack: one half of a pair that keeps no connection can be connected anew, to any path.
    made.put(_EQUAL, _SOCKETPAIR[column], no=5)
    made.put(_LOAD, 24)
    made.put(_AND, _SOCK_KIND)
    made.put(_EQUAL, _SOCK_DGRAM, no=1)
    made.put(_RETURN, _ERROR | errno.EPERM)
    made.put(_LOAD, 0)
    made.put(_RETURN, _ALLOW)
    return b"".join(made.code)


def _refuse(made: seccomp.Filter, number: int, error: int) -> None:
    made.put(_EQUAL, number, no=1)
    made.put(_RETURN, _ERROR | error)


def _only_zero(made: seccomp.Filter, number: int, argument: int) -> None:
    made.put(_EQUAL, number, no=4)
    made.put(_LOAD, 16 + 8 * argument)
    made.put(_EQUAL, 0, yes=1)
    made.put(_RETURN, _ERROR | errno.EPERM)
    made.put(_LOAD, 0)
