"""Lists the datagrams that a command sent in vain: QUIC, NTP and whatever else is no connection."""

from __future__ import annotations

from struct import error as too_short

from redoma.jail.kernel.network import datagram_destination
from redoma.model.network import DATAGRAM, Connection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

    from redoma.egress.directory import Directory
    from redoma.egress.ledger import Ledger

_AT_ONCE = 64
# Attack: a flood of them would keep us busy with our own time. From here on nobody listens.
_MOST = 1000


class Datagrams:
    """What is heard of the datagrams of one family; the kernel has refused them already."""

    def __init__(
        self, sock: socket, directory: Directory, ledger: Ledger, enough: Callable[[], None]
    ) -> None:
        self._sock = sock
        self._directory = directory
        self._ledger = ledger
        self._enough = enough
        self._heard = 0

    def ready(self) -> None:
        """Notes what has come."""
        for _ in range(_AT_ONCE):
            try:
                address, port = datagram_destination(self._sock)
            except (OSError, IndexError, too_short):
                break
            self._heard += 1
            name = self._directory.name(address)
            self._ledger.drop(
                Connection(
                    allowed=False,
                    kind="udp",
                    name=name,
                    address="" if name else address,
                    port=port,
                    why=DATAGRAM,
                )
            )
        if self._heard > _MOST:
            self._enough()
