"""Reads the host that a TLS client names in its first message; decrypts nothing."""

from __future__ import annotations

from redoma.model.value import Value

_HANDSHAKE, _CLIENT_HELLO = 22, 1
_SERVER_NAME, _PROTOCOLS, _ENCRYPTED_HELLO = 0, 16, 0xFE0D
_LARGEST_RECORD = 1 << 14
# With keys of the newest kind and every extension in use a hello has about four thousand bytes.
LARGEST = 1 << 16
# Attack: one byte in each record, and each record read again for each that comes.
_MOST_RECORDS = 1024
# What a server says to a name that it does not have: fatal, unrecognised name.
UNRECOGNISED_NAME = b"\x15\x03\x01\x00\x02\x02\x70"


class ClientHello(Value):
    """What a client says of whom it wants."""

    complete: bool = False
    # It is not TLS, or not as anybody would write it.
    unreadable: bool = False
    name: str = ""
    # What it offers to speak inside, such as "h2".
    protocols: tuple[str, ...] = ()
    # A second name may stand in a part that only the server can read.
    hidden_name: bool = False


MORE = ClientHello()
UNREADABLE = ClientHello(complete=True, unreadable=True)


def read(data: bytes | bytearray) -> ClientHello:
    """What is known of a client's hello from the bytes so far."""
    message = bytearray()
    at = records = 0
    while at + 5 <= len(data):
        records += 1
        kind, major = data[at], data[at + 1]
        size = int.from_bytes(data[at + 3 : at + 5], "big")
        if kind != _HANDSHAKE or major != 3 or not 0 < size <= _LARGEST_RECORD:
            return UNREADABLE
        if records > _MOST_RECORDS:
            return UNREADABLE
        if at + 5 + size > len(data) and at:
            break
        message += data[at + 5 : at + 5 + size]
        at += 5 + size
        if message and message[0] != _CLIENT_HELLO:
            return UNREADABLE
        if len(message) >= 4:
            whole = 4 + int.from_bytes(message[1:4], "big")
            if whole > LARGEST:
                return UNREADABLE
            if len(message) >= whole:
                return _hello(bytes(message[4:whole]))
    if data[:1] not in (b"", b"\x16") or data[1:2] not in (b"", b"\x03") or len(data) > LARGEST:
        return UNREADABLE
    return MORE


class _HelloReader:
    """Takes parts off a message; what is not there makes the whole unreadable."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        if self.at + size > len(self.data):
            raise ValueError
        self.at += size
        return self.data[self.at - size : self.at]

    def sized(self, width: int) -> bytes:
        return self.take(int.from_bytes(self.take(width), "big"))

    def more(self) -> bool:
        return self.at < len(self.data)


def _hello(body: bytes) -> ClientHello:
    try:
        reader = _HelloReader(body)
        reader.take(2 + 32)
        reader.sized(1)
        reader.sized(2)
        reader.sized(1)
        if not reader.more():
            return ClientHello(complete=True)
        extensions = _HelloReader(reader.sized(2))
        if reader.more():
            return UNREADABLE
        return _extensions(extensions)
    except (ValueError, UnicodeDecodeError):
        return UNREADABLE


def _extensions(reader: _HelloReader) -> ClientHello:
    name, hidden = "", False
    protocols: list[str] = []
    seen: set[int] = set()
    while reader.more():
        kind = int.from_bytes(reader.take(2), "big")
        value = reader.sized(2)
        # Attack: two names, of which we read the one and the server the other.
        if kind in seen:
            return UNREADABLE
        seen.add(kind)
        if kind == _ENCRYPTED_HELLO:
            hidden = True
        elif kind == _PROTOCOLS:
            offered = _HelloReader(_HelloReader(value).sized(2))
            while offered.more():
                protocols.append(offered.sized(1).decode("latin-1"))
        elif kind == _SERVER_NAME:
            entries = _HelloReader(_HelloReader(value).sized(2))
            if int.from_bytes(entries.take(1), "big") != 0:
                return UNREADABLE
            name = entries.sized(2).decode("ascii")
            if entries.more() or not name:
                return UNREADABLE
    return ClientHello(complete=True, name=name, protocols=tuple(protocols), hidden_name=hidden)
