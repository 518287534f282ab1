"""Keeps what became of each connection, within bounds whatever a command tries."""

from __future__ import annotations

from _thread import allocate_lock

from redoma.model.network import Connection
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    # Hears of each connection as it happens; it is called by the gate's own thread and never waits.
    Tell: TypeAlias = Callable[[Connection], None]

_MOST = 2000
# So many are told as they happen; all of them are listed at the end.
_MOST_TOLD = 200


class Ledger:
    """What was let through, in order; what was refused, each thing once with how often."""

    def __init__(self, tell: Tell | None = None, *, listed: bool = False) -> None:
        self._allowed: list[Connection] = []
        self._refused: dict[tuple[str, str, int, str, str], Connection] = {}
        self._tell = tell
        self._told = 0
        self._listed = listed
        self.refusals = 0
        self.requests = 0
        self.questions = 0
        self.left_out = 0
        # The gate and its inspector are two threads.
        self._lock = allocate_lock()

    def begun(self, connection: Connection) -> None:
        """Tells of a connection that is open now."""
        if self._tell is not None and self._told < _MOST_TOLD:
            self._told += 1
            self._tell(connection)

    def allow(self, connection: Connection) -> None:
        """Notes a connection that has ended, or goes on at the end of the run."""
        with self._lock:
            if len(self._allowed) < _MOST:
                self._allowed.append(connection)
            else:
                self.left_out += 1

    def refuse(self, connection: Connection) -> None:
        """Notes something that was refused, and counts it against the run."""
        with self._lock:
            self.refusals += 1
        self.drop(connection)

    def drop(self, connection: Connection) -> None:
        """Notes something that came to nothing by itself."""
        host = connection.name or connection.address
        asked = f"{connection.method} {connection.path}"
        key = (connection.kind, host, connection.port, connection.why, asked)
        noted = replace(connection, listed=True) if self._listed else connection
        with self._lock:
            known = self._refused.get(key)
            if known is not None:
                self._refused[key] = replace(known, times=known.times + 1)
                return
            if len(self._refused) >= _MOST:
                self.left_out += 1
                return
            self._refused[key] = noted
        self.begun(noted)

    def request(self) -> None:
        """Counts a connection, or a request on one that is read."""
        with self._lock:
            self.requests += 1

    def all(self) -> tuple[Connection, ...]:
        """Everything that is known: what was let through first."""
        return (*self._allowed, *self._refused.values())
