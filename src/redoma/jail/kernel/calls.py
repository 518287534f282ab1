"""System calls that Python has no name for, and their numbers on each machine."""

from __future__ import annotations

import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)

# The calls added since 2019 have one number everywhere.
OPEN_TREE = 428
MOVE_MOUNT = 429
MOUNT_SETATTR = 442
LANDLOCK_CREATE_RULESET = 444
LANDLOCK_ADD_RULE = 445
LANDLOCK_RESTRICT_SELF = 446

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38


def syscall(number: int, *arguments: object) -> int:
    """The kernel's answer to one call; an error is an OSError."""
    given = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    answer: int = LIBC.syscall(ctypes.c_long(number), *given)
    return _checked(answer)


def prctl(option: int, value: int, extra: object = 0) -> None:
    """Changes one attribute of this process."""
    third = ctypes.c_ulong(extra) if isinstance(extra, int) else extra
    _checked(LIBC.prctl(option, ctypes.c_ulong(value), third, ctypes.c_ulong(0), ctypes.c_ulong(0)))


def unshare(flags: int) -> None:
    """Leaves the namespaces named by `flags` for new ones."""
    _checked(LIBC.unshare(flags))


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Mounts `source` on `target`."""
    _checked(
        LIBC.mount(
            os.fsencode(source),
            os.fsencode(target),
            kind.encode() or None,
            ctypes.c_ulong(flags),
            data.encode() or None,
        )
    )


def detach(target: str) -> None:
    """Takes away what is mounted on `target`, with everything mounted below it."""
    _checked(LIBC.umount2(os.fsencode(target), 2))


def set_ids_of_thread(number: int) -> None:
    """The real and effective user and group of this thread alone; the saved ones stay root's.

    The C library's functions would change every thread of the process.
    """
    user, group = _SET_IDS[os.uname().machine]
    if number:
        syscall(group, number, number, 0)
        syscall(user, number, number, 0)
    else:
        syscall(user, 0, 0, 0)
        syscall(group, 0, 0, 0)


def set_groups_of_thread() -> None:
    """This thread alone has no supplementary groups from here on."""
    syscall(_SET_GROUPS[os.uname().machine], 0, None)


# By machine: the numbers of setresuid and of setresgid.
_SET_IDS = {"x86_64": (117, 119), "aarch64": (147, 149)}
_SET_GROUPS = {"x86_64": 116, "aarch64": 159}


def _checked(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer
