"""The filter of system calls, assembled by hand: no library, a tenth of a millisecond.

It is a list of what is allowed (`syscall_table`): whatever else there is, or will be, answers as
on a kernel that lacks it (ENOSYS), and what is denied on purpose as forbidden (EPERM).
"""

from __future__ import annotations

import errno
import os
from enum import Enum
from struct import pack

from redoma.jail.kernel.syscall_table import ALLOWED, DENIED, MACHINES, NUMBERS, names, number
from redoma.model.grant import Syscalls

_LOAD, _EQUAL, _GREATER, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x35, 0x45, 0x06
_GO_TO = 0x05
_LONGEST_JUMP = 255  # of a test; `_GO_TO` leads anywhere
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_REPORT = 0x7FC00000  # weaker than an error: what another filter refuses stays refused
_NUMBER, _ARCH = 0, 4

_STRICTEST = """
    execveat memfd_create mq_open msgget personality sched_setaffinity sched_setattr
    sched_setscheduler semget shmget
""".split()
# Landlock as the one layer leaves attributes of files outside to everyone: they are closed here.
_UNCOVERED_BY_LANDLOCK = """
    chown fchown fchownat fremovexattr fsetxattr futimesat lchown lremovexattr lsetxattr
    removexattr removexattrat setxattr setxattrat utime utimensat utimes
    chmod fchmod fchmodat
""".split()

_NEW_NAMESPACES = 0x7E020080
_THREAD = 0x00010000
_SET_ID_BITS = 0o6000
_TMPFILE = 0o20000000
_SMALL_SEGMENT = 64 << 10
_TERMINAL_INJECTIONS = (0x5412, 0x541C, 0x5423)  # TIOCSTI, TIOCLINUX, TIOCSETD
_PERSONALITIES = (0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)  # the native ones, and the question
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16


class Sockets(Enum):
    """Which address families a command may open."""

    USUAL = (_AF_UNIX, _AF_INET, _AF_INET6)
    LOCAL_ONLY = (_AF_UNIX,)


class Filter:
    """Instructions in the making: each rule falls through to the next when it does not match."""

    def __init__(self, machine: str) -> None:
        self.machine = machine
        self.code: list[bytes] = []

    def put(self, operation: int, value: int, *, yes: int = 0, no: int = 0) -> None:
        self.code.append(pack("HBBI", operation, yes, no, value))

    def refuse(self, name: str, error: int) -> None:
        """Answers a call with an error, whatever its arguments."""
        call = number(name, self.machine)
        if call is not None:
            self.put(_EQUAL, call, no=1)
            self.put(_RETURN, _ERROR | error)

    def report_only(self, names: list[str], audit: int) -> None:
        """Reports calls to whoever listens; another architecture's calls are another filter's."""
        self.put(_LOAD, _ARCH)
        self.put(_EQUAL, audit, no=2 * len(names) + 1)
        self.put(_LOAD, _NUMBER)
        for name in names:
            call = number(name, self.machine)
            assert call is not None
            self.put(_EQUAL, call, no=1)
            self.put(_RETURN, _REPORT)
        self.put(_RETURN, _ALLOW)


def supported(machine: str) -> bool:
    """Whether filters are known for this kind of machine."""
    return machine in MACHINES


def assemble(
    syscalls: Syscalls,
    *,
    machine: str = "",
    sockets: Sockets = Sockets.USUAL,
    refuse_preallocation: bool = False,
    refuse_uncounted_memory: bool = False,
    landlock_only: bool = False,
) -> bytes:
    """The filter as the kernel reads it."""
    machine = machine or os.uname().machine
    answers = _answers(
        syscalls,
        sockets=sockets,
        refuse_preallocation=refuse_preallocation,
        refuse_uncounted_memory=refuse_uncounted_memory,
        landlock_only=landlock_only,
    )
    column = MACHINES[machine][1]
    of_number = {
        call: code for name, code in answers.items() if (call := NUMBERS[name][column]) is not None
    }
    return b"".join(_begun(machine).code) + _tree(_ranges(of_number))


def alone(machine: str = "") -> bytes:
    """A filter under which a process makes threads of its own, and no process beside itself.

    It comes on top of the other one, so what it does not name is that one's to answer.
    """
    machine = machine or os.uname().machine
    made = _begun(machine)
    for name in ("fork", "vfork", "execve", "execveat"):
        made.refuse(name, errno.EPERM)
    made.refuse("clone3", errno.ENOSYS)  # its flags are in memory; C libraries then use clone
    call = number("clone", machine)
    assert call is not None
    made.put(_EQUAL, call, no=4)
    made.put(_LOAD, _argument(0))
    made.put(_ANY_BIT, _THREAD, yes=1)
    made.put(_RETURN, _ERROR | errno.EPERM)
    made.put(_LOAD, _NUMBER)
    made.put(_RETURN, _ALLOW)
    return b"".join(made.code)


def _answers(
    syscalls: Syscalls,
    *,
    sockets: Sockets,
    refuse_preallocation: bool,
    refuse_uncounted_memory: bool,
    landlock_only: bool,
) -> dict[str, bytes]:
    """By call, the instructions that answer it; a later answer takes the place of an earlier."""
    made = dict.fromkeys(names(ALLOWED), _YES)
    made.update(dict.fromkeys(names(DENIED), _error(errno.EPERM)))
    made["clone"] = _without_bits(0, _NEW_NAMESPACES)
    # Attack: a set-user-id program left in the workspace belongs to the workspace's owner, and
    # runs with the owner's rights for whoever finds it.
    made["chmod"] = made["fchmod"] = made["creat"] = made["mknod"] = _without_bits(1, _SET_ID_BITS)
    made["fchmodat"] = made["mknodat"] = _without_bits(2, _SET_ID_BITS)
    made["open"], made["openat"] = _without_creation_bits(1, 2), _without_creation_bits(2, 3)
    made["ioctl"] = _without_values(1, _TERMINAL_INJECTIONS)
    made["personality"] = _only_values(0, _PERSONALITIES, errno.EPERM)
    made["socket"] = _of_families(sockets.value)
    if refuse_preallocation:
        # Attack: space taken without writing a byte, which no count of written bytes shows.
        # C libraries then write zeroes instead, and those are counted.
        made["fallocate"] = _error(errno.EOPNOTSUPP)
    if refuse_uncounted_memory:
        # Attack: memory that is in no process's own pages, where only those are counted: files
        # without a name, and large segments that nobody is attached to.
        made["memfd_create"] = _error(errno.ENOSYS)
        made["shmget"] = _not_above(1, _SMALL_SEGMENT)
    if landlock_only:
        made.update(dict.fromkeys(_UNCOVERED_BY_LANDLOCK, _error(errno.EPERM)))
    if syscalls is Syscalls.STRICTEST:
        made.update(dict.fromkeys(_STRICTEST, _error(errno.EPERM)))
    return made


def _begun(machine: str) -> Filter:
    audit, _, second_table = MACHINES[machine]
    made = Filter(machine)
    made.put(_LOAD, _ARCH)
    # Attack: the same calls under another architecture's numbers (int 0x80 on x86_64).
    made.put(_EQUAL, audit, yes=1)
    made.put(_RETURN, _ERROR | errno.ENOSYS)
    made.put(_LOAD, _NUMBER)
    if second_table:
        made.put(_AT_LEAST, 0x40000000, no=1)
        made.put(_RETURN, _ERROR | errno.ENOSYS)
    return made


def _ranges(of_number: dict[int, bytes]) -> list[tuple[int, bytes]]:
    """(first number, answer) of each run of numbers with one answer; between them is nothing."""
    found: list[tuple[int, bytes]] = []
    following, last = 0, b""
    for call in sorted(of_number):
        code = of_number[call]
        if call != following and last != _NO:
            found.append((following, _NO))
            last = _NO
        if code != last:
            found.append((call, code))
            last = code
        following = call + 1
    found.append((following, _NO))
    return found


def _tree(ranges: list[tuple[int, bytes]]) -> bytes:
    """Finds the range of a number in a few steps.

    The kernel tries a filter with every number there is when it is loaded, and programs pay for
    each test of a call whose arguments are looked at.
    """
    if len(ranges) == 1:
        return ranges[0][1]
    middle = len(ranges) // 2
    low, high = _tree(ranges[:middle]), _tree(ranges[middle:])
    first, over = ranges[middle][0], len(low) // 8
    if over <= _LONGEST_JUMP:
        return pack("HBBI", _AT_LEAST, over, 0, first) + low + high
    test = pack("HBBI", _AT_LEAST, 0, 1, first)
    return test + pack("HBBI", _GO_TO, 0, 0, over) + low + high


def _error(number: int) -> bytes:
    return pack("HBBI", _RETURN, 0, 0, _ERROR | number)


_YES = pack("HBBI", _RETURN, 0, 0, _ALLOW)
_NO = _error(errno.ENOSYS)


def _code(*instructions: tuple[int, int, int, int]) -> bytes:
    """(operation, value, how far where it holds, how far where it does not) each."""
    return b"".join([pack("HBBI", what, yes, no, value) for what, value, yes, no in instructions])


def _without_bits(argument: int, bits: int) -> bytes:
    """EPERM where an argument has any of these bits."""
    test = _code((_LOAD, _argument(argument), 0, 0), (_ANY_BIT, bits, 0, 1))
    return test + _error(errno.EPERM) + _YES


def _not_above(argument: int, limit: int) -> bytes:
    """ENOMEM where an argument, all of its 64 bits, is greater than `limit`."""
    test = _code(
        (_LOAD, _argument(argument) + 4, 0, 0),
        (_EQUAL, 0, 0, 2),
        (_LOAD, _argument(argument), 0, 0),
        (_GREATER, limit, 0, 1),
    )
    return test + _error(errno.ENOMEM) + _YES


def _without_creation_bits(flags: int, mode: int) -> bytes:
    """EPERM for a new file with a set-id bit; without O_CREAT the mode has no meaning."""
    test = _code(
        (_LOAD, _argument(flags), 0, 0),
        (_ANY_BIT, os.O_CREAT | _TMPFILE, 0, 3),
        (_LOAD, _argument(mode), 0, 0),
        (_ANY_BIT, _SET_ID_BITS, 0, 1),
    )
    return test + _error(errno.EPERM) + _YES


def _without_values(argument: int, values: tuple[int, ...]) -> bytes:
    """EPERM where an argument is one of `values`."""
    tests = [(_EQUAL, value, left, 0) for value, left in zip(values, _down(values), strict=True)]
    return _code((_LOAD, _argument(argument), 0, 0), *tests) + _YES + _error(errno.EPERM)


def _only_values(argument: int, values: tuple[int, ...], error: int) -> bytes:
    """An error unless an argument is one of `values`."""
    tests = [(_EQUAL, value, left, 0) for value, left in zip(values, _down(values), strict=True)]
    return _code((_LOAD, _argument(argument), 0, 0), *tests) + _error(error) + _YES


def _of_families(families: tuple[int, ...]) -> bytes:
    """Sockets of these; netlink only for routes and addresses, which name resolution asks for."""
    tests = [(_EQUAL, f, left + 3, 0) for f, left in zip(families, _down(families), strict=True)]
    netlink = _code((_EQUAL, _AF_NETLINK, 0, 2), (_LOAD, _argument(2), 0, 0), (_EQUAL, 0, 1, 0))
    head = _code((_LOAD, _argument(0), 0, 0), *tests)
    return head + netlink + _error(errno.EAFNOSUPPORT) + _YES


def _down(values: tuple[int, ...]) -> range:
    """For each of some tests, how many instructions lie between it and what follows them all."""
    return range(len(values), 0, -1)


def _argument(index: int) -> int:
    # The low half: the kernel itself cuts commands, families and modes to 32 bits.
    return 16 + 8 * index
