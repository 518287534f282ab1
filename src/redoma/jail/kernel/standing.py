"""Who the calling thread is for the kernel, and which machine it sees."""

from __future__ import annotations

import os

# From the first of each pair up to the second: ids, groups, and what may be done at all.
_RIGHTS = ((b"\nUid:", b"\nFDSize"), (b"\nGroups:", b"\n"), (b"\nCapInh:", b"\nSpeculation"))
_SPACES = ("mnt", "net", "user")
_CHUNK = 1 << 14


def is_machines_root() -> bool:
    """Whether this process is root to every file of the machine.

    Root in a user namespace of an ordinary user's (`unshare -Ur`, a rootless container) is that
    user to the kernel. What belongs to the kernel itself has its owner's number only where the
    machine's root has one.
    """
    if os.geteuid() != 0:
        return False
    try:
        return os.stat("/proc/filesystems").st_uid == 0
    except OSError:
        return True  # nobody can tell: as strict as can be


def standing() -> tuple[object, ...]:
    """A value that is another one as soon as rights, namespaces or the root directory are."""
    root = os.stat("/")
    found: tuple[object, ...] = (root.st_dev, root.st_ino)
    try:
        fd = os.open("/proc/thread-self/status", os.O_RDONLY | os.O_CLOEXEC)
        try:
            text = b""
            while b"\nSpeculation" not in text and (more := os.read(fd, _CHUNK)):
                text += more  # a thread may be in very many groups
        finally:
            os.close(fd)
        found += tuple(text.partition(at)[2].partition(end)[0] for at, end in _RIGHTS)
        return found + tuple(os.readlink(f"/proc/thread-self/ns/{name}") for name in _SPACES)
    except OSError:  # a root without /proc: nothing that was made before is for it
        return (*found, *os.getresuid(), *os.getresgid(), *os.getgroups())
