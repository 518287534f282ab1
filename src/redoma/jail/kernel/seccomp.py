"""Filters of system calls, assembled by hand: no library, a tenth of a millisecond.

A refused call answers as on a kernel that lacks it (ENOSYS) where programs know how to go on
without it, and as forbidden (EPERM) elsewhere.
"""

from __future__ import annotations

import errno
import os
from struct import pack

from redoma.jail.kernel.syscall_numbers import MACHINES, number
from redoma.model.access import Syscalls
from redoma.model.enums import Enum

_LOAD, _EQUAL, _GREATER, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x35, 0x45, 0x06
_GO_TO = 0x05
_IN_A_ROW = 4  # rules that are looked at one after the other
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_REPORT = 0x7FC00000  # weaker than an error: what another filter refuses stays refused
_NUMBER, _ARCH = 0, 4

_FORBIDDEN = """
    acct add_key afs_syscall bpf chroot clock_adjtime clock_settime create_module delete_module
    fanotify_init fanotify_mark finit_module get_kernel_syms init_module ioperm iopl kcmp
    kexec_file_load kexec_load keyctl lookup_dcookie memfd_secret migrate_pages modify_ldt mount
    move_pages name_to_handle_at nfsservctl open_by_handle_at perf_event_open pidfd_getfd
    pivot_root process_madvise process_mrelease process_vm_readv process_vm_writev ptrace
    query_module quotactl quotactl_fd reboot request_key setdomainname sethostname setns
    settimeofday swapoff swapon sysfs _sysctl syslog umount2 unshare uselib userfaultfd ustat
    vhangup vmsplice
""".split()
# openat2 takes its mode in memory, where a filter cannot see a set-user-id bit; clone3 its flags.
_ABSENT = """
    clone3 fchmodat2 fsconfig fsmount fsopen fspick io_uring_enter io_uring_register
    io_uring_setup listmount listns mount_setattr move_mount open_tree open_tree_attr openat2
    statmount
""".split()
_STRICTEST = """
    execveat memfd_create mq_open msgget personality sched_setaffinity sched_setattr
    sched_setscheduler semget shmget
""".split()
# Landlock as the one layer leaves attributes of files outside to everyone: they are closed here.
_UNCOVERED_BY_LANDLOCK = """
    chown fchown fchownat fremovexattr fsetxattr futimesat lchown lremovexattr lsetxattr
    removexattr removexattrat setxattr setxattrat utime utimensat utimes file_setattr
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
        self._rules: list[tuple[int, int]] = []  # (call, where its rule begins)

    def put(self, operation: int, value: int, *, yes: int = 0, no: int = 0) -> None:
        self.code.append(pack("HBBI", operation, yes, no, value))

    def rule(self, call: int, *, no: int) -> None:
        """Begins a rule about one call, `no` instructions long; it ends as it began or answers."""
        self._rules.append((call, len(self.code)))
        self.put(_EQUAL, call, no=no)

    def in_a_row(self) -> bytes:
        """Every rule after the other, and whatever met none is allowed."""
        return b"".join(self.code) + pack("HBBI", _RETURN, 0, 0, _ALLOW)

    def as_tree(self) -> bytes:
        """The same answers, each found in a few steps.

        The kernel tries a filter with every number there is when it is loaded, and programs pay for
        each rule that is looked at: in a row that costs a launch a fifth of a millisecond.
        """
        ends = [start for _, start in self._rules[1:]] + [len(self.code)]
        of_call: dict[int, bytes] = {}
        for (call, start), end in zip(self._rules, ends, strict=True):
            of_call[call] = of_call.get(call, b"") + b"".join(self.code[start:end])
        head = b"".join(self.code[: self._rules[0][1]])
        return head + _branch(sorted(of_call.items()))

    def refuse(self, name: str, error: int) -> None:
        """Answers a call with an error, whatever its arguments."""
        call = number(name, self.machine)
        if call is not None:
            self.rule(call, no=1)
            self.put(_RETURN, _ERROR | error)

    def refuse_bits(self, name: str, argument: int, bits: int, error: int = errno.EPERM) -> None:
        """Answers a call with an error where an argument has any of these bits."""
        call = number(name, self.machine)
        if call is not None:
            self.rule(call, no=4)
            self.put(_LOAD, _argument(argument))
            self.put(_ANY_BIT, bits, no=1)
            self.put(_RETURN, _ERROR | error)
            self.put(_LOAD, _NUMBER)

    def refuse_above(self, name: str, argument: int, limit: int) -> None:
        """Answers ENOMEM where an argument, all of its 64 bits, is greater than `limit`."""
        call = number(name, self.machine)
        if call is not None:
            self.rule(call, no=6)
            self.put(_LOAD, _argument(argument) + 4)
            self.put(_EQUAL, 0, no=2)
            self.put(_LOAD, _argument(argument))
            self.put(_GREATER, limit, no=1)
            self.put(_RETURN, _ERROR | errno.ENOMEM)
            self.put(_LOAD, _NUMBER)

    def refuse_creation_bits(self, name: str, flags: int, mode: int) -> None:
        """Refuses to create a file with a set-id bit; without O_CREAT the mode has no meaning."""
        call = number(name, self.machine)
        if call is not None:
            self.rule(call, no=6)
            self.put(_LOAD, _argument(flags))
            self.put(_ANY_BIT, os.O_CREAT | _TMPFILE, no=3)
            self.put(_LOAD, _argument(mode))
            self.put(_ANY_BIT, _SET_ID_BITS, no=1)
            self.put(_RETURN, _ERROR | errno.EPERM)
            self.put(_LOAD, _NUMBER)

    def refuse_values(self, name: str, argument: int, values: tuple[int, ...]) -> None:
        """Answers EPERM where an argument is one of `values`."""
        call = number(name, self.machine)
        if call is not None:
            self.rule(call, no=2 * len(values) + 2)
            self.put(_LOAD, _argument(argument))
            for value in values:
                self.put(_EQUAL, value, no=1)
                self.put(_RETURN, _ERROR | errno.EPERM)
            self.put(_LOAD, _NUMBER)

    def allow_only(self, name: str, argument: int, values: tuple[int, ...], error: int) -> None:
        """Answers with an error unless an argument is one of `values`."""
        call = number(name, self.machine)
        if call is not None:
            self.rule(call, no=len(values) + 3)
            self.put(_LOAD, _argument(argument))
            for left in range(len(values), 0, -1):
                self.put(_EQUAL, values[-left], yes=left)
            self.put(_RETURN, _ERROR | error)
            self.put(_LOAD, _NUMBER)

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
    return rules(
        syscalls,
        machine=machine,
        sockets=sockets,
        refuse_preallocation=refuse_preallocation,
        refuse_uncounted_memory=refuse_uncounted_memory,
        landlock_only=landlock_only,
    ).as_tree()


def alone(machine: str = "") -> bytes:
    """A filter under which a process makes threads of its own, and no process beside itself."""
    machine = machine or os.uname().machine
    made = _begun(machine)
    for name in ("fork", "vfork", "execve", "execveat"):
        made.refuse(name, errno.EPERM)
    made.refuse("clone3", errno.ENOSYS)  # its flags are in memory; C libraries then use clone
    call = number("clone", machine)
    assert call is not None
    made.rule(call, no=4)
    made.put(_LOAD, _argument(0))
    made.put(_ANY_BIT, _THREAD, yes=1)
    made.put(_RETURN, _ERROR | errno.EPERM)
    made.put(_LOAD, _NUMBER)
    return made.in_a_row()


def rules(
    syscalls: Syscalls,
    *,
    machine: str,
    sockets: Sockets,
    refuse_preallocation: bool,
    refuse_uncounted_memory: bool,
    landlock_only: bool,
) -> Filter:
    """What is refused, call by call."""
    made = _begun(machine or os.uname().machine)
    for name in _FORBIDDEN:
        made.refuse(name, errno.EPERM)
    for name in _ABSENT:
        made.refuse(name, errno.ENOSYS)
    if refuse_preallocation:
        # Attack: space taken without writing a byte, which no count of written bytes shows.
        # C libraries then write zeroes instead, and those are counted.
        made.refuse("fallocate", errno.EOPNOTSUPP)
    if refuse_uncounted_memory:
        # Attack: memory that is in no process's own pages, where only those are counted: files
        # without a name, and large segments that nobody is attached to.
        made.refuse("memfd_create", errno.ENOSYS)
        made.refuse_above("shmget", 1, _SMALL_SEGMENT)
    if syscalls is Syscalls.STRICTEST:
        for name in _STRICTEST:
            made.refuse(name, errno.EPERM)
    if landlock_only:
        for name in _UNCOVERED_BY_LANDLOCK:
            made.refuse(name, errno.EPERM)
    made.refuse_bits("clone", 0, _NEW_NAMESPACES)
    # Attack: a set-user-id program left in the workspace belongs to the workspace's owner, and
    # runs with the owner's rights for whoever finds it.
    for name, mode in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("creat", 1), ("mknod", 1)):
        made.refuse_bits(name, mode, _SET_ID_BITS)
    made.refuse_bits("mknodat", 2, _SET_ID_BITS)
    made.refuse_creation_bits("open", 1, 2)
    made.refuse_creation_bits("openat", 2, 3)
    made.refuse_values("ioctl", 1, _TERMINAL_INJECTIONS)
    if syscalls is Syscalls.USUAL:
        made.allow_only("personality", 0, _PERSONALITIES, errno.EPERM)
    _sockets(made, sockets)
    return made


def _begun(machine: str) -> Filter:
    audit, _, second_table = MACHINES[machine]
    made = Filter(machine)
    made.put(_LOAD, _ARCH)
    # Attack: the same calls under another architecture's numbers (int 0x80 on x86_64).
    made.put(_EQUAL, audit, yes=1)
    made.put(_RETURN, _KILL)
    made.put(_LOAD, _NUMBER)
    if second_table:
        made.put(_AT_LEAST, 0x40000000, no=1)
        made.put(_RETURN, _ERROR | errno.ENOSYS)
    return made


def _branch(rules: list[tuple[int, bytes]]) -> bytes:
    if len(rules) <= _IN_A_ROW:
        return b"".join(code for _, code in rules) + pack("HBBI", _RETURN, 0, 0, _ALLOW)
    middle = len(rules) // 2
    low, high = _branch(rules[:middle]), _branch(rules[middle:])
    # Jumps by a test are short ones; only `_GO_TO` leads anywhere.
    test = pack("HBBI", _AT_LEAST, 0, 1, rules[middle][0])
    return test + pack("HBBI", _GO_TO, 0, 0, len(low) // 8) + low + high


def _sockets(made: Filter, sockets: Sockets) -> None:
    # Netlink only for routes and addresses (protocol 0), which name resolution asks for.
    call = number("socket", made.machine)
    assert call is not None
    families = sockets.value
    made.rule(call, no=len(families) + 6)
    made.put(_LOAD, _argument(0))
    for left in range(len(families), 0, -1):
        made.put(_EQUAL, families[-left], yes=left + 3)
    made.put(_EQUAL, _AF_NETLINK, no=2)
    made.put(_LOAD, _argument(2))
    made.put(_EQUAL, 0, yes=1)
    made.put(_RETURN, _ERROR | errno.EAFNOSUPPORT)
    made.put(_RETURN, _ALLOW)


def _argument(index: int) -> int:
    # The low half: the kernel itself cuts commands, families and modes to 32 bits.
    return 16 + 8 * index
