"""Gives up privileges for good: capabilities, system calls, and the chance to gain any again."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from contextlib import suppress

from redoma.jail.kernel import syscalls
from redoma.jail.kernel.syscall_table import number

_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_PR_SET_SECUREBITS = 28
_NOROOT_FOR_GOOD = 0x2F  # no rights for uid 0 by itself, none kept over setuid; both locked
_SECCOMP_MODE_FILTER = 2
_SET_FILTER, _NEW_LISTENER, _WAIT_KILLABLE = 1, 8, 32
_CAPABILITY_VERSION_3 = 0x20080522


def enter_user_namespace(processes: int | None = None) -> None:
    """A user namespace of this process's own, in which its user has the same number.

    `processes` is a descriptor of /proc, where it may not be found by its name.
    """
    uid, gid = os.geteuid(), os.getegid()
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    keep_name(uid, gid, processes)


def keep_name(uid: int, gid: int, processes: int | None = None) -> None:
    """In the user namespace that this process is now in, its user has the number from before."""
    place = "/proc/self" if processes is None else "self"
    maps = (("setgroups", b"deny"), ("uid_map", b"%d %d 1" % (uid, uid)),
            ("gid_map", b"%d %d 1" % (gid, gid)))  # fmt: skip
    for name, text in maps:
        file = os.open(f"{place}/{name}", os.O_WRONLY | os.O_CLOEXEC, dir_fd=processes)
        try:
            os.write(file, text)
        finally:
            os.close(file)


def drop_capabilities() -> None:
    """No capability now, and none from any program that is started later."""
    gain_no_capabilities()
    hold_no_capabilities()


def gain_no_capabilities() -> None:
    """None from any program that is started later; what this process has it keeps."""
    for capability in range(64):
        if not syscalls.drop_bound(capability):
            break  # past the last one that this kernel knows, or not ours to drop
    with suppress(OSError):  # without the right to set them there is nothing to keep either
        syscalls.prctl(_PR_SET_SECUREBITS, _NOROOT_FOR_GOOD)
    syscalls.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)


def hold_no_capabilities() -> None:
    """No capability now."""
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    nothing = struct.pack("IIIIII", 0, 0, 0, 0, 0, 0)
    syscalls.set_capabilities(header, nothing)


def gain_only(kept: tuple[int, ...]) -> None:
    """None but these from any program that is started later."""
    for capability in range(64):
        if capability not in kept and not syscalls.drop_bound(capability):
            break
    syscalls.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)


def hold_only(kept: tuple[int, ...]) -> None:
    """None but these now; all of them are among the first 32."""
    bits = sum(1 << each for each in kept)
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    syscalls.set_capabilities(header, struct.pack("IIIIII", bits, bits, 0, 0, 0, 0))


def no_new_privileges() -> None:
    """No program started from here gains anything by being set-user-id."""
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)


def keep_out_others() -> None:
    """Nobody of the same user can read or write this process's memory, or its descriptors."""
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)


def lets_in_others() -> bool:
    """Whether programs of the same user can look into this process."""
    return syscalls.prctl(syscalls.PR_GET_DUMPABLE) == 1


def let_in_others() -> None:
    """Takes back `keep_out_others`."""
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)


def collect_orphans() -> None:
    """Every process below that loses its parent becomes a child of this one."""
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def load_filter(code: bytes) -> None:
    """Puts a filter of system calls on this process and its heirs."""
    kept = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(kept))
    syscalls.prctl(syscalls.PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program))


def load_reporting_filter(code: bytes) -> int:
    """Puts a filter on this process and its heirs; the descriptor on which it reports calls."""
    kept = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(kept))
    call = number("seccomp", os.uname().machine)
    assert call is not None
    try:
        # Since Linux 5.19 a signal does not make a waiting call start anew.
        flags = _NEW_LISTENER | _WAIT_KILLABLE
        return syscalls.syscall(call, _SET_FILTER, flags, ctypes.byref(program))
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    return syscalls.syscall(call, _SET_FILTER, _NEW_LISTENER, ctypes.byref(program))
