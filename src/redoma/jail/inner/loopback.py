"""The one network interface of an enclosure."""

from __future__ import annotations

import fcntl
import struct

_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_UP = 0x1


def bring_up() -> None:
    """A new network namespace has a loopback that is down; where it is up nothing changes."""
    import _socket  # `socket` itself costs more than the whole step

    with_name = struct.pack("16sH22x", b"lo", 0)
    handle = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    try:
        answer = fcntl.ioctl(handle.fileno(), _SIOCGIFFLAGS, with_name)
        flags = struct.unpack("16sH22x", answer)[1]
        if not flags & _UP:
            fcntl.ioctl(handle.fileno(), _SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", flags | _UP))
    finally:
        handle.close()
