"""Finds which program inside an enclosure holds the other end of a connection."""

from __future__ import annotations

import os
from contextlib import suppress
from socket import AF_INET, AF_INET6, inet_pton

from redoma.jail.kernel.netlink import inode_of
from redoma.jail.run.limiter import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket

# Looking is for the telling only: where it would take long, nothing is told.
_MOST_PROCESSES = 32
_MOST_DESCRIPTORS = 512


class Programs:
    """The programs of one enclosure, below its first process."""

    def __init__(self, first: int, kernel: socket | None) -> None:
        self._first = first
        self._kernel = kernel
        # Who asked last asks again, more often than not.
        self._last = 0

    def behind(self, client: socket, place: tuple[str, int]) -> str:
        """The name of the program that connected to a place, or nothing."""
        if self._kernel is None:
            return ""
        try:
            address, port = client.getpeername()[:2]
            family = AF_INET6 if ":" in place[0] else AF_INET
            here = (inet_pton(family, address), port)
            inode = inode_of(self._kernel, family, here, (inet_pton(family, place[0]), place[1]))
            return self._holder(f"socket:[{inode}]") if inode else ""
        except (OSError, ValueError):
            return ""

    def _holder(self, wanted: str) -> str:
        if self._last and _holds(self._last, wanted):
            return _name(self._last)
        pids = tree(self._first)
        if len(pids) > _MOST_PROCESSES:
            return ""
        for pid in reversed(pids):
            if _holds(pid, wanted):
                self._last = pid
                return _name(pid)
        return ""


def _holds(pid: int, wanted: str) -> bool:
    with suppress(OSError):
        numbers = os.listdir(f"/proc/{pid}/fd")
        if len(numbers) > _MOST_DESCRIPTORS:
            return False
        for number in reversed(numbers):  # the newest first
            with suppress(OSError):
                if os.readlink(f"/proc/{pid}/fd/{number}") == wanted:
                    return True
    return False


def _name(pid: int) -> str:
    with suppress(OSError), open(f"/proc/{pid}/comm") as file:
        return file.read().strip()
    return ""
