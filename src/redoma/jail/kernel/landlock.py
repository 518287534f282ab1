"""Landlock: a process gives up every path and port that is not named, for itself and its heirs.

What a kernel knows is asked by its version of Landlock and used as far as it goes; what a version
lacks is in `covers`, so that whoever builds on it can say so or close it in another way.

Landlock stands on paths that are opened. Attributes of files are changed without opening them,
sockets have no path rule, and neither queues, shared memory nor other processes' limits are files:
`filters` closes these by system call, where Landlock is the only barrier.
"""

from __future__ import annotations

import errno
import os
import struct

from redoma.jail.kernel import seccomp, syscalls
from redoma.jail.kernel.syscall_table import number
from redoma.model.grant import Syscalls

_NAMES = """EXECUTE WRITE_FILE READ_FILE READ_DIR REMOVE_DIR REMOVE_FILE MAKE_CHAR MAKE_DIR MAKE_REG
    MAKE_SOCK MAKE_FIFO MAKE_BLOCK MAKE_SYM REFER TRUNCATE IOCTL_DEV""".split()
_RIGHTS = {name: 1 << index for index, name in enumerate(_NAMES)}
_RIGHTS_OF_ABI = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_READ = _RIGHTS["EXECUTE"] | _RIGHTS["READ_FILE"] | _RIGHTS["READ_DIR"]
_ON_FILES = (
    _RIGHTS["EXECUTE"]
    | _RIGHTS["WRITE_FILE"]
    | _RIGHTS["READ_FILE"]
    | _RIGHTS["TRUNCATE"]
    | _RIGHTS["IOCTL_DEV"]
)
# A device or a pipe that the workspace did not have before has no honest use there.
_NEVER_IN_A_WORKSPACE = _RIGHTS["MAKE_CHAR"] | _RIGHTS["MAKE_BLOCK"]
_PATH_RULE = 1
_BIND_AND_CONNECT_TCP = 3
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2
_FIRST_WITH_NETWORK, _FIRST_WITH_SCOPES = 4, 6


def abi() -> int:
    """The version of Landlock here; 0 where there is none."""
    try:
        return syscalls.syscall(syscalls.LANDLOCK_CREATE_RULESET, None, 0, 1)
    except OSError:
        return 0


def covers_signals(version: int) -> bool:
    """Whether processes outside can be kept from being signalled."""
    return version >= _FIRST_WITH_SCOPES


def contain_signals(version: int) -> None:
    """From here on this process and its heirs signal only each other."""
    _restrict(_ruleset(0, 0, _SIGNALS | _ABSTRACT_SOCKETS, version))


def restrict(*, readable: list[str], writable: list[str], network: bool, version: int) -> None:
    """Gives up every other path, TCP unless `network`, and every process but its own kin."""
    everything = (1 << _RIGHTS_OF_ABI[min(version, 5)]) - 1
    ports = 0 if network else _BIND_AND_CONNECT_TCP
    rules = _ruleset(everything, ports, _SIGNALS | _ABSTRACT_SOCKETS, version)
    for paths, rights in ((readable, _READ), (writable, everything & ~_NEVER_IN_A_WORKSPACE)):
        for path in paths:
            _allow(rules, path, rights & everything)
    _restrict(rules)


def _ruleset(files: int, ports: int, scopes: int, version: int) -> int:
    if version < 1:
        raise OSError("this kernel has no Landlock")
    attributes = struct.pack("QQQ", files, ports, scopes)
    size = 8 if version < _FIRST_WITH_NETWORK else 16 if version < _FIRST_WITH_SCOPES else 24
    return syscalls.syscall(syscalls.LANDLOCK_CREATE_RULESET, attributes[:size], size, 0)


def _restrict(rules: int) -> None:
    try:
        syscalls.syscall(syscalls.LANDLOCK_RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no right
    try:
        if not os.path.isdir(path):
            rights &= _ON_FILES
        rule = struct.pack("=Qi", rights, place)
        syscalls.syscall(syscalls.LANDLOCK_ADD_RULE, rules, _PATH_RULE, rule, 0)
    finally:
        os.close(place)


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


def filters(syscalls: Syscalls, *, network: bool, memory_counted: bool) -> list[bytes]:
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
