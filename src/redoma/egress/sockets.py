"""Whom a socket was meant for, and how many more of them there may be."""

from __future__ import annotations

import os
from socket import AF_INET, AF_INET6, IPPROTO_IP, IPPROTO_IPV6, inet_ntop, socket

SPARE_DESCRIPTORS = 64
_ORIGINAL = 80


def original(client: socket, *, redirected: bool) -> tuple[str, int] | None:
    """Whom a connection was meant for; None for one that was made to the gate's own port."""
    try:
        if not redirected:
            address, port = client.getsockname()[:2]
            return address, port
        if client.family == AF_INET:
            raw = client.getsockopt(IPPROTO_IP, _ORIGINAL, 16)
            return inet_ntop(AF_INET, raw[4:8]), int.from_bytes(raw[2:4], "big")
        raw = client.getsockopt(IPPROTO_IPV6, _ORIGINAL, 28)
        return inet_ntop(AF_INET6, raw[8:24]), int.from_bytes(raw[2:4], "big")
    except OSError:
        return None


def own(client: socket) -> str:
    """The address of our own end, which a loopback connection was made to."""
    try:
        return str(client.getsockname()[0])
    except OSError:
        return ""


def descriptors_left() -> int:
    """How many connections a process may have besides what it has open."""
    from resource import RLIMIT_NOFILE, getrlimit

    most = getrlimit(RLIMIT_NOFILE)[0]
    return max(4, most - len(os.listdir("/proc/self/fd")) - SPARE_DESCRIPTORS)
