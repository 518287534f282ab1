"""A process that does nothing, for trying out what can be done to one."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.kernel.cgroups import Group


def can_enter(group: Group) -> bool:
    """Whether a process of ours can be moved into a control group."""
    silent = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in (1, 2)]
    read, write = os.pipe()
    pid = os.posix_spawn(
        "/bin/sh",
        ["sh", "-c", "read _"],
        {},
        file_actions=[(os.POSIX_SPAWN_DUP2, read, 0), *silent],
    )
    try:
        group.enter(pid)
    except OSError:
        return False
    finally:
        os.close(read)
        os.close(write)
        os.waitpid(pid, 0)
    return True
