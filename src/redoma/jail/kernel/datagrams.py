"""Hears of datagrams that lead nowhere, by a socket that gets a copy of each and answers none.

The kernel itself answers them as unreachable, and at once; this is for the telling only.
"""

from __future__ import annotations

import ctypes
import socket
from struct import pack, unpack_from

IPV6_RECVPKTINFO, IPV6_PKTINFO = 49, 50
_ATTACH_FILTER = 26
_NETWORK_HEADER = -0x100000  # where the filter's offsets start when they are below zero
_DNS = 53
_KEPT = 96  # of each datagram: its head is enough
_BUFFER = 1 << 16
# Operations of a socket filter.
_BYTE, _HALF, _WORD = 0x30, 0x28, 0x20
_HALF_AFTER, _LENGTH_OF_HEAD, _IF_EQUAL, _GIVE = 0x48, 0xB1, 0x15, 0x06

# What goes to the command's own loopback is its own affair. Questions for names are answered, and
# no command can send from the port that the answers come from.
_FILTERS: dict[int, tuple[tuple[int, int, int, int], ...]] = {
    socket.AF_INET: (
        (_BYTE, 0, 0, 16),
        (_IF_EQUAL, 6, 0, 127),
        (_LENGTH_OF_HEAD, 0, 0, 0),
        (_HALF_AFTER, 0, 0, 0),
        (_IF_EQUAL, 3, 0, _DNS),
        (_HALF_AFTER, 0, 0, 2),
        (_IF_EQUAL, 1, 0, _DNS),
        (_GIVE, 0, 0, _KEPT),
        (_GIVE, 0, 0, 0),
    ),
    socket.AF_INET6: (
        (_WORD, 0, 0, _NETWORK_HEADER + 24),
        (_IF_EQUAL, 0, 6, 0),
        (_WORD, 0, 0, _NETWORK_HEADER + 28),
        (_IF_EQUAL, 0, 4, 0),
        (_WORD, 0, 0, _NETWORK_HEADER + 32),
        (_IF_EQUAL, 0, 2, 0),
        (_WORD, 0, 0, _NETWORK_HEADER + 36),
        (_IF_EQUAL, 5, 0, 1),
        (_HALF, 0, 0, 0),
        (_IF_EQUAL, 3, 0, _DNS),
        (_HALF, 0, 0, 2),
        (_IF_EQUAL, 1, 0, _DNS),
        (_GIVE, 0, 0, _KEPT),
        (_GIVE, 0, 0, 0),
    ),
}


def listener(family: int) -> socket.socket:
    """A socket that hears every datagram here but those to loopback and to a name server."""
    made = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_UDP)
    steps = b"".join(pack("HBBI", *step[:3], step[3] & 0xFFFFFFFF) for step in _FILTERS[family])
    held = ctypes.create_string_buffer(steps)
    program = pack("HxxxxxxP", len(steps) // 8, ctypes.addressof(held))
    made.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, program)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)
    return made


def destination(sock: socket.socket) -> tuple[str, int]:
    """Whom the next datagram was for; OSError where there is none."""
    data, extra, _, _ = sock.recvmsg(_KEPT, 256)
    if sock.family == socket.AF_INET:
        at = (data[0] & 0x0F) * 4
        return socket.inet_ntop(socket.AF_INET, data[16:20]), unpack_from("!H", data, at + 2)[0]
    address = next((told[:16] for _, kind, told in extra if kind == IPV6_PKTINFO), bytes(16))
    return socket.inet_ntop(socket.AF_INET6, address), unpack_from("!H", data, 2)[0]
