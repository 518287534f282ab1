"""Finds which program inside an enclosure holds the other end of a connection."""

from __future__ import annotations

import os
from contextlib import suppress
from socket import AF_INET6

from redoma.jail.run.limiter import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket

# Looking is for the telling only: where it would take long, nothing is told.
_MOST_PROCESSES = 48
_MOST_BYTES = 1 << 17


def program_of(first: int, client: socket, port: int) -> str:
    """The name of the program that made this connection, or nothing."""
    try:
        number = client.getpeername()[1]
        inode = _inode(first, number, port, v6=client.family == AF_INET6)
        return _holder(first, inode) if inode else ""
    except (OSError, ValueError, IndexError):
        return ""


def _inode(first: int, local: int, remote: int, *, v6: bool) -> str:
    ends = (f":{local:04X}", f":{remote:04X}")
    # A socket of the newer kind may speak the older protocol.
    for name in ("tcp6",) if v6 else ("tcp", "tcp6"):
        with open(f"/proc/{first}/net/{name}") as file:
            for line in file.read(_MOST_BYTES).splitlines()[1:]:
                fields = line.split()
                if fields[1].endswith(ends[0]) and fields[2].endswith(ends[1]):
                    return fields[9]
    return ""


def _holder(first: int, inode: str) -> str:
    wanted = f"socket:[{inode}]"
    pids = tree(first)
    if len(pids) > _MOST_PROCESSES:
        return ""
    for pid in reversed(pids):
        with suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with suppress(OSError):
                    if os.readlink(f"/proc/{pid}/fd/{fd}") == wanted:
                        with open(f"/proc/{pid}/comm") as file:
                            return file.read().strip()
    return ""
