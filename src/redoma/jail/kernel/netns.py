"""Network namespaces from inside: netlink for routes, addresses and packet rules; a raw socket
that gets a copy of every datagram that leads nowhere.

The messages are made by hand: a library for this costs a cold start more than a whole sandbox.
"""

from __future__ import annotations

import ctypes  # now: a forked child that gave up its rights can import nothing
import os
import socket
from struct import pack, unpack_from

IPV4, IPV6 = 2, 10
ROUTE, SOCKETS, PACKET_RULES = 0, 4, 12  # protocols of AF_NETLINK
_LOOPBACK = 1  # the first interface of every network namespace
_REQUEST, _ACKNOWLEDGE, _EXCLUSIVE, _CREATE, _APPEND = 0x1, 0x4, 0x200, 0x400, 0x800
_ERROR = 2
_NEW_ADDRESS, _NEW_ROUTE, _GET_ROUTE = 20, 24, 26
_TYPE_UNICAST = 1
_TABLE_LOCAL, _PROTOCOL_BOOT, _SCOPE_HOST, _TYPE_LOCAL = 255, 3, 254, 2
_NESTED = 0x8000
_SOCKET_BY_FAMILY = 20
_NO_COOKIE = (0xFFFFFFFF, 0xFFFFFFFF)
_BATCH_BEGIN, _BATCH_END = 16, 17
_NFTABLES = 10 << 8
_NEW_TABLE, _NEW_CHAIN, _NEW_RULE = 0, 3, 6
_OUTPUT_HOOK, _DESTINATION_NAT = 3, -100
_REGISTER, _VERDICT_FREE = 1, 1
_PROTOCOL_OF_TRANSPORT, _TCP = 16, b"\6"
_EQUAL, _UNEQUAL = 0, 1
_NETWORK_HEADER = 1
_PORT_SPECIFIED = 2
# Where the destination stands in a packet, and how loopback looks there.
_DESTINATION = {IPV4: (16, b"\x7f"), IPV6: (24, b"\0" * 15 + b"\1")}


def own_address(channel: socket.socket, family: int, address: bytes) -> None:
    """Gives the loopback interface one more address."""
    body = pack("BBBBI", family, len(address) * 8, 0, 0, _LOOPBACK)
    body += _attribute(2, address) + _attribute(1, address)
    _talk(channel, [_message(_NEW_ADDRESS, _CREATE | _EXCLUSIVE, 1, body)], 1)


def every_address_is_here(channel: socket.socket, family: int) -> None:
    """Delivers packets to any address within this namespace."""
    body = pack(
        "BBBBBBBBI",
        family,
        0,
        0,
        0,
        _TABLE_LOCAL,
        _PROTOCOL_BOOT,
        _SCOPE_HOST,
        _TYPE_LOCAL,
        0,
    )
    body += _attribute(4, pack("I", _LOOPBACK))
    _talk(channel, [_message(_NEW_ROUTE, _CREATE | _EXCLUSIVE, 1, body)], 1)


def redirect_connections(channel: socket.socket, family: int, port: int) -> None:
    """Leads every TCP connection that is not to loopback to one port here."""
    offset, loopback = _DESTINATION[family]
    steps = (
        _step("meta", _attribute(2, _big(_PROTOCOL_OF_TRANSPORT)), _attribute(1, _big(_REGISTER))),
        _compare(_EQUAL, _TCP),
        _step(
            "payload",
            _attribute(1, _big(_REGISTER)),
            _attribute(2, _big(_NETWORK_HEADER)),
            _attribute(3, _big(offset)),
            _attribute(4, _big(len(loopback))),
        ),
        _compare(_UNEQUAL, loopback),
        _step(
            "immediate",
            _attribute(1, _big(_REGISTER)),
            _nest(2, _attribute(1, pack("!H", port))),
        ),
        _step("redir", _attribute(1, _big(_REGISTER)), _attribute(3, _big(_PORT_SPECIFIED))),
    )
    table, chain = _attribute(1, b"redoma\0"), b"out\0"
    hook = _nest(4, _attribute(1, _big(_OUTPUT_HOOK)), _attribute(2, pack("!i", _DESTINATION_NAT)))
    messages = [
        _message(_BATCH_BEGIN, 0, 1, pack("!BBH", 0, 0, 10), acknowledge=0),
        _rules(_NEW_TABLE, _CREATE, 2, family, table),
        _rules(
            _NEW_CHAIN,
            _CREATE,
            3,
            family,
            table + _attribute(3, chain) + hook,
            _attribute(7, b"nat\0"),
        ),
        _rules(
            _NEW_RULE,
            _CREATE | _APPEND,
            4,
            family,
            table + _attribute(2, chain) + _nest(4, *steps),
        ),
        _message(_BATCH_END, 0, 5, pack("!BBH", 0, 0, 10), acknowledge=0),
    ]
    _talk(channel, messages, 3)


def inode_of(
    channel: socket.socket, family: int, here: tuple[bytes, int], there: tuple[bytes, int]
) -> int:
    """The number of the one socket that is connected from here to there; 0 where there is none.

    The list of all sockets in /proc takes the kernel milliseconds, however few there are.
    """
    ends = pack("!HH16s16s", here[1], there[1], here[0], there[0])
    body = pack("BBBBI", family, _TCP[0], 0, 0, 0xFFFFFFFF) + ends + pack("III", 0, *_NO_COOKIE)
    channel.send(_message(_SOCKET_BY_FAMILY, 0, 1, body, acknowledge=0))
    heard = channel.recv(1 << 12)
    kind = unpack_from("H", heard, 4)[0]
    return int(unpack_from("I", heard, 16 + 68)[0]) if kind == _SOCKET_BY_FAMILY else 0


def leads_here(address: bytes) -> bool:
    """Whether packets to an address stay on this machine, or go to a whole network at once.

    The kernel's own routes are asked: they know every address of every interface.
    """
    family = IPV4 if len(address) == 4 else IPV6
    body = pack("BBBBBBBBI", family, len(address) * 8, 0, 0, 0, 0, 0, 0, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, ROUTE) as channel:
        channel.send(_message(_GET_ROUTE, 0, 1, body + _attribute(1, address), acknowledge=0))
        heard = channel.recv(1 << 12)
    # No route at all is an error: nothing would be reached.
    return unpack_from("H", heard, 4)[0] == _NEW_ROUTE and heard[16 + 7] != _TYPE_UNICAST


def _talk(channel: socket.socket, messages: list[bytes], answers: int) -> None:
    """Says something, and waits until the kernel has done it; what it refuses is an OSError."""
    channel.send(b"".join(messages))
    while answers:
        heard = channel.recv(1 << 16)
        at = 0
        while at + 16 <= len(heard):
            size, kind = unpack_from("IH", heard, at)
            if kind == _ERROR:
                error = -unpack_from("i", heard, at + 16)[0]
                if error:
                    raise OSError(error, os.strerror(error))
                answers -= 1
            at += max(16, (size + 3) & ~3)


def _message(kind: int, flags: int, number: int, body: bytes, *, acknowledge: int = 1) -> bytes:
    flags |= _REQUEST | (_ACKNOWLEDGE if acknowledge else 0)
    return pack("IHHII", 16 + len(body), kind, flags, number, 0) + body


def _rules(kind: int, flags: int, number: int, family: int, *parts: bytes) -> bytes:
    body = pack("!BBH", family, 0, 0) + b"".join(parts)
    return _message(_NFTABLES | kind, flags, number, body)


def _step(name: str, *attributes: bytes) -> bytes:
    return _nest(1, _attribute(1, name.encode() + b"\0"), _nest(2, *attributes))


def _compare(how: int, value: bytes) -> bytes:
    return _step(
        "cmp",
        _attribute(1, _big(_REGISTER)),
        _attribute(2, _big(how)),
        _nest(3, _attribute(1, value)),
    )


def _attribute(kind: int, value: bytes) -> bytes:
    made = pack("HH", 4 + len(value), kind) + value
    return made + b"\0" * (-len(made) % 4)


def _nest(kind: int, *inside: bytes) -> bytes:
    return _attribute(kind | _NESTED, b"".join(inside))


def _big(value: int) -> bytes:
    return pack("!I", value)


IPV6_RECVPKTINFO, IPV6_PKTINFO = 49, 50
_ATTACH_FILTER = 26
_IP_HEADER = -0x100000  # where the filter's offsets start when they are below zero
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
        (_WORD, 0, 0, _IP_HEADER + 24),
        (_IF_EQUAL, 0, 6, 0),
        (_WORD, 0, 0, _IP_HEADER + 28),
        (_IF_EQUAL, 0, 4, 0),
        (_WORD, 0, 0, _IP_HEADER + 32),
        (_IF_EQUAL, 0, 2, 0),
        (_WORD, 0, 0, _IP_HEADER + 36),
        (_IF_EQUAL, 5, 0, 1),
        (_HALF, 0, 0, 0),
        (_IF_EQUAL, 3, 0, _DNS),
        (_HALF, 0, 0, 2),
        (_IF_EQUAL, 1, 0, _DNS),
        (_GIVE, 0, 0, _KEPT),
        (_GIVE, 0, 0, 0),
    ),
}


def datagram_listener(family: int) -> socket.socket:
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


def datagram_destination(sock: socket.socket) -> tuple[str, int]:
    """Whom the next datagram was for; OSError where there is none."""
    data, extra, _, _ = sock.recvmsg(_KEPT, 256)
    if sock.family == socket.AF_INET:
        at = (data[0] & 0x0F) * 4
        return socket.inet_ntop(socket.AF_INET, data[16:20]), unpack_from("!H", data, at + 2)[0]
    address = next((told[:16] for _, kind, told in extra if kind == IPV6_PKTINFO), bytes(16))
    return socket.inet_ntop(socket.AF_INET6, address), unpack_from("!H", data, 2)[0]
