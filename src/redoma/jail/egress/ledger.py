"""Keeps what became of each connection, within bounds whatever a command tries."""

from __future__ import annotations

from _thread import allocate_lock

from redoma.model.network import Connection
from redoma.model.value import replace

_MOST = 2000


class Ledger:
    """What was let through, in order; what was refused, each thing once with how often."""

    def __init__(self) -> None:
        self._allowed: list[Connection] = []
        self._refused: dict[tuple[str, str, int, str, str], Connection] = {}
        self.refusals = 0
        self.requests = 0
        self.questions = 0
        self.left_out = 0
        # The gate and its inspector are two threads.
        self._lock = allocate_lock()

    def allow(self, connection: Connection) -> None:
        """Notes a connection that has ended, or goes on at the end of the run."""
        with self._lock:
            if len(self._allowed) < _MOST:
                self._allowed.append(connection)
            else:
                self.left_out += 1

    def refuse(self, connection: Connection) -> None:
        """Notes something that was refused."""
        host = connection.name or connection.address
        asked = f"{connection.method} {connection.path}"
        key = (connection.kind, host, connection.port, connection.why, asked)
        with self._lock:
            self.refusals += 1
            known = self._refused.get(key)
            if known is not None:
                self._refused[key] = replace(known, times=known.times + 1)
            elif len(self._refused) < _MOST:
                self._refused[key] = connection
            else:
                self.left_out += 1

    def request(self) -> None:
        """Counts a connection, or a request on one that is read."""
        with self._lock:
            self.requests += 1

    def all(self) -> tuple[Connection, ...]:
        """Everything that is known: what was let through first."""
        return (*self._allowed, *self._refused.values())
