"""Gives each name an address that stands for it inside the enclosure.

A command never learns where a host really is, so whom a connection is for is never in doubt, and
no address that it knows from elsewhere leads anywhere.
"""

from __future__ import annotations

from _socket import AF_INET, AF_INET6, inet_ntop, inet_pton

# 198.18.0.0/15 is set aside for tests of devices; the other is a private prefix that says whose.
_V4 = int.from_bytes(inet_pton(AF_INET, "198.18.0.0"), "big")
_V6 = int.from_bytes(inet_pton(AF_INET6, "fd72:6564:6f6d:6100::"), "big")
_FIRST = 16
MOST_NAMES = 4096


class Directory:
    """Names, and the addresses that stand for them."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._names: dict[str, str] = {}

    def addresses(self, name: str) -> tuple[bytes, bytes] | None:
        """The two addresses of a name; None where too many names have been asked for."""
        number = self._numbers.get(name)
        if number is None:
            if len(self._numbers) >= MOST_NAMES:
                return None
            number = self._numbers[name] = _FIRST + len(self._numbers)
            self._names[inet_ntop(AF_INET, (_V4 + number).to_bytes(4, "big"))] = name
            self._names[inet_ntop(AF_INET6, (_V6 + number).to_bytes(16, "big"))] = name
        return (_V4 + number).to_bytes(4, "big"), (_V6 + number).to_bytes(16, "big")

    def name(self, address: str) -> str:
        """Whom an address stands for, or nothing."""
        return self._names.get(address, "")
