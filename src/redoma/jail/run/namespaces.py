"""Makes user namespaces, which takes a process that steps into one and says so."""

from __future__ import annotations

import os
import warnings

from redoma.jail.kernel import calls


def user_namespace(uid_map: str, gid_map: str) -> int:
    """A descriptor of a new user namespace with these maps, in which no further one can be made."""
    told, tell = os.pipe()
    heard, hear = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child makes system calls only
        child = os.fork()
    if child == 0:
        try:
            os.close(hear)  # so that the parent's end is the only one, and its end is ours
            calls.unshare(calls.CLONE_NEWUSER)
            os.write(tell, b"m")
            os.read(heard, 1)
            # Attack: in a user namespace of its own a command has every capability again.
            limit = os.open("/proc/sys/user/max_user_namespaces", os.O_WRONLY)
            os.write(limit, b"0")
            os.write(tell, b"l")
            os.read(heard, 1)
        finally:
            os._exit(0)
    try:
        os.close(tell)
        if os.read(told, 1) != b"m":
            raise OSError("this machine does not let root make user namespaces")
        for name, text in (("uid_map", uid_map), ("gid_map", gid_map)):
            with open(f"/proc/{child}/{name}", "w") as file:
                file.write(text)
        os.write(hear, b"g")
        if os.read(told, 1) != b"l":
            raise OSError("the number of nested user namespaces cannot be limited")
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY)
    finally:
        for fd in (told, heard, hear):
            os.close(fd)
        os.waitpid(child, 0)
