"""Mounts: those that the sandbox init makes, and the table in which the kernel lists them all."""

from __future__ import annotations

import os
import struct

from redoma.jail.kernel import syscalls
from redoma.jail.kernel.syscall_table import number

_BIND, _REC = 0x1000, 0x4000
_RDONLY, _NOSUID, _NODEV, _NOEXEC = 0x1, 0x2, 0x4, 0x8
_PRIVATE, _SLAVE = 0x40000, 0x80000
_ATTR_READ_ONLY, _ATTR_NOSUID, _ATTR_NODEV = 0x1, 0x2, 0x4
_AT_RECURSIVE, _AT_EMPTY_PATH = 0x8000, 0x1000
_OPEN_TREE_CLONE, _AT_FDCWD, _MOVE_EMPTY_PATH, _MOVE = 1, -100, 4, 0x2000


def only_receive(place: str) -> None:
    """What is mounted here is seen by nobody else; what is unmounted elsewhere goes here too."""
    syscalls.mount("none", place, "", _REC | _SLAVE)


def bind(source: str, target: str) -> None:
    """Shows `source` at `target`, with everything mounted below it."""
    syscalls.mount(source, target, "", _BIND | _REC)


def memory(target: str, *, size: int | None, mode: int, owner: tuple[int, int]) -> None:
    """An empty file system in memory."""
    data = f"mode={mode:o},uid={owner[0]},gid={owner[1]}"
    if size is not None:
        data += f",size={size}"
    syscalls.mount("tmpfs", target, "tmpfs", _NOSUID | _NODEV, data)


def processes(target: str, options: str = "") -> None:
    """The process file system of this process namespace."""
    syscalls.mount("proc", target, "proc", _NOSUID | _NODEV | _NOEXEC, options)


def terminals(target: str) -> None:
    """Pseudo-terminals of their own."""
    data = "newinstance,ptmxmode=0666,mode=620"
    syscalls.mount("devpts", target, "devpts", _NOSUID | _NOEXEC, data)


def overlay(target: str, *, lower: list[str], changes: tuple[str, str] | None = None) -> None:
    """The directories of `lower`, the topmost first, as one at `target`.

    What is written goes to the first directory of `changes`, the second is the kernel's own; with
    none, nothing can be written.
    """
    below = ":".join(_escaped(path).replace(":", "\\:") for path in lower)
    # In a user namespace the kernel lets layers be marked by ordinary attributes only.
    data = f"lowerdir={below},userxattr"
    if changes is not None:
        data += f",upperdir={_escaped(changes[0])},workdir={_escaped(changes[1])}"
    flags = _NOSUID | _NODEV | (0 if changes is not None else _RDONLY)
    syscalls.mount("overlay", target, "overlay", flags, data)


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace(",", "\\,")


def restrict(fd: int, *, read_only: bool, devices: bool, below: bool) -> None:
    """Takes rights from a mount: writing, set-user-id, devices; `below` from all beneath it too."""
    attributes = _ATTR_NOSUID
    attributes |= _ATTR_READ_ONLY if read_only else 0
    attributes |= 0 if devices else _ATTR_NODEV
    # Attack: something mounted on the machine later would appear inside as well.
    change = struct.pack("QQQQ", attributes, 0, _PRIVATE, 0)
    flags = _AT_EMPTY_PATH | (_AT_RECURSIVE if below else 0)
    syscalls.syscall(syscalls.MOUNT_SETATTR, fd, b"", flags, change, len(change))


def pivot(new_root: str, old_place: str) -> None:
    """Makes `new_root` the root; the old one is then found at `old_place`."""
    call = number("pivot_root", os.uname().machine)
    assert call is not None
    syscalls.syscall(call, os.fsencode(new_root), os.fsencode(old_place))


def taken(place: str) -> int:
    """A descriptor of a copy of what is mounted here and below, which is mounted nowhere."""
    flags = _OPEN_TREE_CLONE | _AT_RECURSIVE | os.O_CLOEXEC
    return syscalls.syscall(syscalls.OPEN_TREE, _AT_FDCWD, os.fsencode(place), flags)


def attach(tree: int, place: str) -> None:
    """Mounts what a descriptor holds; it may come from another mount namespace."""
    where = (_AT_FDCWD, os.fsencode(place))
    syscalls.syscall(syscalls.MOVE_MOUNT, tree, b"", *where, _MOVE_EMPTY_PATH)


def move(source: str, target: str) -> None:
    """Moves a mount with all that is mounted below it."""
    syscalls.mount(source, target, "", _MOVE)


def mount_points() -> list[str]:
    """Where something is mounted; spaces, line ends and backslashes as the kernel writes them."""
    with open("/proc/thread-self/mountinfo", errors="surrogateescape") as file:
        return [line.split(" ", 5)[4] for line in file]


def has_mounts(path: str, mounted: list[str] | None = None) -> bool:
    """Whether something is mounted below a directory; `mounted` is what was looked up before."""
    below = path.rstrip("/") + "/"
    for sign in "\\ \t\n":
        below = below.replace(sign, f"\\{ord(sign):03o}")
    return any(
        place.startswith(below) for place in (mount_points() if mounted is None else mounted)
    )
