"""System calls that Python has no name for, and their numbers on each machine.

By the core of `ctypes` alone: the package around it costs a cold start two milliseconds.
"""

from __future__ import annotations

import os
from _ctypes import (
    FUNCFLAG_CDECL,
    FUNCFLAG_PYTHONAPI,
    FUNCFLAG_USE_ERRNO,
    Array,
    CFuncPtr,
    _SimpleCData,
    addressof,
    call_function,
    dlopen,
    dlsym,
    get_errno,
)


class Long(_SimpleCData):  # type: ignore[type-arg]
    """A register's worth of number."""

    _type_ = "l"


class _Byte(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "b"


class _Stack(Array):  # type: ignore[type-arg]
    _type_ = _Byte
    _length_ = 1 << 16


class _Function(CFuncPtr):
    _flags_ = FUNCFLAG_CDECL | FUNCFLAG_USE_ERRNO
    _restype_ = Long


class _Locked(CFuncPtr):
    """A function that is called without letting another thread run meanwhile."""

    _flags_ = FUNCFLAG_CDECL | FUNCFLAG_USE_ERRNO | FUNCFLAG_PYTHONAPI
    _restype_ = Long


_LIBRARY = dlopen("", 0)
_syscall = _Function(dlsym(_LIBRARY, "syscall"))
_prctl = dlsym(_LIBRARY, "prctl")

# The calls added since 2019 have one number everywhere.
OPEN_TREE = 428
MOVE_MOUNT = 429
MOUNT_SETATTR = 442
LANDLOCK_CREATE_RULESET = 444
LANDLOCK_ADD_RULE = 445
LANDLOCK_RESTRICT_SELF = 446

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
# The new process is a child of our parent, who alone waits for it.
CLONE_PARENT = 0x8000

_PR_CAPBSET_DROP = 24
PR_SET_PDEATHSIG = 1
PR_GET_DUMPABLE = 3
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38


def syscall(number: int, *arguments: object) -> int:
    """The kernel's answer to one call; an error is an OSError."""
    given = [Long(a) if isinstance(a, int) else a for a in arguments]
    return checked(_syscall(Long(number), *given))


def prctl(option: int, value: int = 0, extra: object = 0) -> int:
    """Changes or tells one attribute of this process."""
    return syscall(_NUMBERS["prctl"], option, value, extra, 0, 0)


def drop_bound(capability: int) -> bool:
    """Takes one capability from what this process could ever gain; False where it cannot."""
    # Forty times for each run: without making objects of the arguments.
    answer: int = call_function(_prctl, (_PR_CAPBSET_DROP, capability, 0, 0, 0))
    return answer == 0


def unshare(flags: int) -> None:
    """Leaves the namespaces named by `flags` for new ones."""
    syscall(_NUMBERS["unshare"], flags)


def enter(namespace: int, kind: int) -> None:
    """Moves this process into the namespace behind a descriptor."""
    syscall(_NUMBERS["setns"], namespace, kind)


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Mounts `source` on `target`."""
    syscall(
        _NUMBERS["mount"],
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() or None,
        flags,
        data.encode() or None,
    )


def detach(target: str) -> None:
    """Takes away what is mounted on `target`, with everything mounted below it."""
    syscall(_NUMBERS["umount2"], os.fsencode(target), 2)


def set_capabilities(header: bytes, sets: bytes) -> None:
    """The capabilities of this process."""
    syscall(_NUMBERS["capset"], header, sets)


class Sleeper:
    """A process that does nothing, in namespaces of its own, until it is ended.

    It is not forked: it shares our memory, since copying that would cost more than all else here,
    and does nothing in it but wait.
    """

    def __init__(self, flags: int) -> None:
        self._stack = _Stack()
        top = addressof(self._stack) + _Stack._length_
        clone, pause = dlsym(_LIBRARY, "clone"), dlsym(_LIBRARY, "pause")
        self.pid = checked(
            _Function(clone)(Long(pause), Long(top), Long(_CLONE_VM | _SIGCHLD | flags), None)
        )

    def end(self) -> None:
        """Nothing of it is left."""
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


def fork_into(namespaces: int) -> int:
    """Forks this interpreter straight into new namespaces; for a process with one thread only.

    0 in the new process, its number in the old one.
    """
    from redoma.jail.kernel.syscall_table import number

    call = number("clone", os.uname().machine)
    assert call is not None
    fork = _Locked(dlsym(_LIBRARY, "syscall"))
    # The interpreter's own steps around a fork, since this one is not made by it.
    before, in_parent, in_child = (
        _Locked(dlsym(_LIBRARY, f"PyOS_{name}"))
        for name in ("BeforeFork", "AfterFork_Parent", "AfterFork_Child")
    )
    arguments = (Long(call), Long(namespaces | _SIGCHLD), *(Long(0) for _ in range(4)))
    before()
    answer = fork(*arguments)
    if answer == 0:
        in_child()
        return 0
    in_parent()
    return checked(answer)


def set_ids_of_thread(number: int) -> None:
    """The real and effective user and group of this thread alone; the saved ones stay root's.

    The C library's functions would change every thread of the process.
    """
    user, group = _NUMBERS["setresuid"], _NUMBERS["setresgid"]
    if number:
        syscall(group, number, number, 0)
        syscall(user, number, number, 0)
    else:
        syscall(user, 0, 0, 0)
        syscall(group, 0, 0, 0)


def set_groups_of_thread() -> None:
    """This thread alone has no supplementary groups from here on."""
    syscall(_NUMBERS["setgroups"], 0, None)


_CLONE_VM, _SIGCHLD = 0x100, 17
_NAMES = tuple("prctl unshare mount umount2 capset setresuid setresgid setgroups setns".split())
_OF_MACHINE = {
    "x86_64": (157, 272, 165, 166, 126, 117, 119, 116, 308),
    "aarch64": (167, 97, 40, 39, 91, 147, 149, 159, 268),
}
# On a machine that is not known no sandbox is built; asking for one is an error that says so.
_NUMBERS = dict(zip(_NAMES, _OF_MACHINE.get(os.uname().machine, ()), strict=False))


def checked(answer: int) -> int:
    """The answer of a system call, or its error."""
    if answer < 0:
        number = get_errno()
        raise OSError(number, os.strerror(number))
    return answer
