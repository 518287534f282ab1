"""Makes user namespaces, which takes a process that stands in one."""

from __future__ import annotations

import os

from redoma.jail.kernel import calls


def user_namespace(uid_map: str, gid_map: str) -> int:
    """A descriptor of a new user namespace with these maps, for mounts; nobody ever enters it."""
    sleeper = calls.Sleeper(calls.CLONE_NEWUSER)
    try:
        for name, text in (("uid_map", uid_map), ("gid_map", gid_map)):
            with open(f"/proc/{sleeper.pid}/{name}", "w") as file:
                file.write(text)
        return os.open(f"/proc/{sleeper.pid}/ns/user", os.O_RDONLY)
    finally:
        sleeper.end()
