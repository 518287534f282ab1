"""First messages of TLS clients: real ones, by the library, and ones that no library writes."""

from __future__ import annotations

import ssl
from contextlib import suppress
from struct import pack


def real(name: str | None) -> bytes:
    """What OpenSSL says to a host."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(received, sent, server_hostname=name)
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


def hello(*extensions: tuple[int, bytes]) -> bytes:
    """A hello with these extensions, in one record."""
    listed = b"".join(pack("!HH", kind, len(value)) + value for kind, value in extensions)
    body = b"\3\3" + b"\0" * 32 + b"\0" + b"\0\2\x13\1" + b"\1\0" + pack("!H", len(listed)) + listed
    return records(b"\1" + len(body).to_bytes(3, "big") + body, 1 << 14)


def name_of(host: bytes) -> tuple[int, bytes]:
    """The extension that names a host."""
    return 0, pack("!HBH", len(host) + 3, 0, len(host)) + host


def records(message: bytes, size: int) -> bytes:
    """A handshake message in records of at most `size` bytes."""
    parts = [message[at : at + size] for at in range(0, len(message), size)]
    return b"".join(b"\x16\3\1" + pack("!H", len(part)) + part for part in parts)
