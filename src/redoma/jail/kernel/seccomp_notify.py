"""Tells which files a process asks for, by a filter that only asks us to look on.

The kernel stops a process at each of these calls until we say "go on", and goes on with the call
that it has, under every other filter: nothing is allowed here that is refused elsewhere.
"""

from __future__ import annotations

import os
from fcntl import ioctl
from struct import pack, unpack_from

from redoma.jail.kernel import seccomp, syscalls
from redoma.jail.kernel.syscall_table import MACHINES, number

_RECEIVE, _ANSWER, _STILL_THERE = 0xC0502100, 0xC0182101, 0x40082102
_NOTICE_SIZE = 80
_GO_ON = 1
_RESOLVE_IN_ROOT = 0x10
_OPENAT2 = 437
_LONGEST_PATH = 4096

# By call: the arguments that hold the directory (None: the current one), the path, and the flags.
_WHERE: dict[str, tuple[int | None, int, int | None]] = {
    "open": (None, 0, 1),
    "openat": (0, 1, 2),
    "creat": (None, 0, None),
    "truncate": (None, 0, None),
    "execve": (None, 0, None),
    "execveat": (0, 1, 4),
    # What makes, moves or removes a name: the path that it would be at.
    "mkdir": (None, 0, None),
    "mkdirat": (0, 1, None),
    "mknod": (None, 0, None),
    "mknodat": (0, 1, None),
    "rmdir": (None, 0, None),
    "unlink": (None, 0, None),
    "unlinkat": (0, 1, None),
    "rename": (None, 1, None),
    "renameat": (2, 3, None),
    "renameat2": (2, 3, None),
    "link": (None, 1, None),
    "linkat": (2, 3, None),
    "symlink": (None, 1, None),
    "symlinkat": (1, 2, None),
    "chmod": (None, 0, None),
    "fchmodat": (0, 1, None),
    # An address in the place of a path.
    "connect": (None, 1, None),
}
_FAMILY_4, _FAMILY_6 = 2, 10
_LONGEST_ADDRESS = 28


class Notice:
    """One call that waits for our word."""

    __slots__ = ("call", "directory", "flags", "id", "length", "path_at", "thread")

    def __init__(self, data: bytes | bytearray, names: dict[int, str]) -> None:
        self.id, self.thread, call = unpack_from("=QI4xi", data)
        arguments = unpack_from("=6Q", data, 32)
        self.call = names[call]
        directory, path, flags = _WHERE[self.call]
        # A descriptor is an int: its upper half is whatever the register held.
        given = None if directory is None else arguments[directory] & 0xFFFFFFFF
        self.directory = None if given is None or given == 2**32 - 100 else given
        self.path_at = arguments[path]
        self.length = arguments[2] & 0xFFFFFFFF  # of an address, where that is what is given
        self.flags = 0 if flags is None else arguments[flags] & 0xFFFFFFFF


class Notices:
    """The end of the line where calls are reported."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        machine = os.uname().machine
        self._names = {found: n for n in _WHERE if (found := number(n, machine)) is not None}

    def receive(self) -> Notice | None:
        """The next call; None where its process is gone already."""
        data = bytearray(_NOTICE_SIZE)
        try:
            ioctl(self.fd, _RECEIVE, data)
        except OSError:
            return None
        return Notice(data, self._names)

    def go_on(self, notice: Notice) -> None:
        """Lets the kernel do what the process asked it for."""
        try:
            ioctl(self.fd, _ANSWER, bytearray(pack("=QqiI", notice.id, 0, 0, _GO_ON)))
        except OSError:
            return  # the process is gone, and with it the question

    def still_there(self, notice: Notice) -> bool:
        """Whether what was read of this thread was read of the one that asked."""
        try:
            ioctl(self.fd, _STILL_THERE, bytearray(pack("=Q", notice.id)))
        except OSError:
            return False
        return True


def filter_of_calls(machine: str = "") -> bytes:
    """Asks about calls that open, change or execute a file, or reach out; lets others pass."""
    machine = machine or os.uname().machine
    made = seccomp.Filter(machine)
    made.report_only([n for n in _WHERE if number(n, machine) is not None], MACHINES[machine][0])
    return b"".join(made.code)


def text_at(thread: int, address: int) -> bytes:
    """A path in a thread's memory."""
    found = b""
    memory = os.open(f"/proc/{thread}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        while len(found) < _LONGEST_PATH:
            # Up to the page's end: the next page may not be there.
            chunk = os.pread(memory, _LONGEST_PATH - address % _LONGEST_PATH, address)
            text, end, _ = chunk.partition(b"\0")
            found += text
            if end or not chunk:
                break
            address += len(chunk)
    finally:
        os.close(memory)
    return found


def address_at(notice: Notice) -> tuple[str, int] | None:
    """The internet address and the port that a process asks for; None for another family."""
    size = min(notice.length, _LONGEST_ADDRESS)
    memory = os.open(f"/proc/{notice.thread}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.pread(memory, size, notice.path_at)
    finally:
        os.close(memory)
    family = unpack_from("=H", data)[0] if len(data) >= 2 else 0
    from redoma.base.cores import inet_ntop

    if family == _FAMILY_4 and len(data) >= 8:
        return inet_ntop(family, data[4:8]), unpack_from(">H", data, 2)[0]
    if family == _FAMILY_6 and len(data) >= 24:
        return inet_ntop(family, data[8:24]), unpack_from(">H", data, 2)[0]
    return None


def open_in_root(root: int, path: bytes, flags: int) -> int:
    """A descriptor of `path` as a process with this root would find it; no link leads out of it."""
    how = pack("=QQQ", flags | os.O_PATH | os.O_CLOEXEC, 0, _RESOLVE_IN_ROOT)
    return syscalls.syscall(_OPENAT2, root, path, how, len(how))
