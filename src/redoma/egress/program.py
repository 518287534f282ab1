"""Finds which program inside an enclosure holds the other end of a connection."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from socket import AF_INET, AF_INET6, inet_pton

from redoma.jail.kernel.network import inode_of
from redoma.jail.supervisor.limiter import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket

# Looking is for the telling only: where it would take long, nothing is told.
_MOST_PROCESSES = 32
_MOST_DESCRIPTORS = 512
# Attack: a thousand descriptors in each of many processes, and every connection looked for in all.
_SHARE_OF_TIME = 0.1
_CREDIT = 0.2
# A program that opens one connection after the other gets the next numbers for them.
_NEXT_ONES = 3


class Programs:
    """The programs of one enclosure, below its first process."""

    def __init__(self, first: int, kernel: socket | None) -> None:
        self._first = first
        self._kernel = kernel
        # Who asked last asks again, more often than not, by the same descriptor or the next.
        self._last = 0
        self._number = 0
        self._credit = _CREDIT
        self._since = time.monotonic()

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
        for number in range(self._number, self._number + _NEXT_ONES) if self._last else ():
            if _is(self._last, number, wanted):
                self._number = number
                return _name(self._last)
        began = time.monotonic()
        self._credit = min(_CREDIT, self._credit + (began - self._since) * _SHARE_OF_TIME)
        self._since = began
        if self._credit <= 0:
            return ""
        try:
            return self._searched(wanted)
        finally:
            self._credit -= time.monotonic() - began

    def _searched(self, wanted: str) -> str:
        known = [self._last] if self._last else []
        pids = tree(self._first)
        if len(pids) > _MOST_PROCESSES:
            pids = known
        for pid in (*known, *reversed(pids)):
            number = _number_of(pid, wanted)
            if number >= 0:
                self._last, self._number = pid, number
                return _name(pid)
        return ""


def _number_of(pid: int, wanted: str) -> int:
    """Which descriptor of a process this is; -1 for none of them."""
    with suppress(OSError):
        numbers = os.listdir(f"/proc/{pid}/fd")
        if len(numbers) > _MOST_DESCRIPTORS:
            return -1
        for number in reversed(numbers):  # the newest first
            if _is(pid, int(number), wanted):
                return int(number)
    return -1


def _is(pid: int, number: int, wanted: str) -> bool:
    with suppress(OSError):
        return os.readlink(f"/proc/{pid}/fd/{number}") == wanted
    return False


def _name(pid: int) -> str:
    with suppress(OSError), open(f"/proc/{pid}/comm") as file:
        return file.read().strip()
    return ""
