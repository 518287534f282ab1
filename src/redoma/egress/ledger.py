"""Keeps what became of each connection, within bounds whatever a command tries.

Attack: thousands of cheap connections fill the list, and the one that matters is not on it. So the
same is noted once, with how often and when; what was refused has room of its own; and where there
are too many to name each, they are named together by their domain. Nothing is left uncounted.
"""

from __future__ import annotations

from _thread import allocate_lock
from struct import error as too_short
from time import time

from redoma.jail.kernel.netns import datagram_destination
from redoma.model.network import DATAGRAM, ONE_OF_MANY, Connection
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from typing import TypeAlias

    # Hears of each connection as it happens; it is called by the gate's own thread and never waits.
    Tell: TypeAlias = Callable[[Connection], None]
    from collections.abc import Callable
    from socket import socket

    from redoma.egress.dns import NameDirectory

MOST_ROWS = 2000
MOST_DOMAINS = 200
# So many that pass, and as many that do not, are told as they happen; all are listed at the end.
_MOST_TOLD = 200
_AT_ONCE = 64
# Attack: a flood of them would keep us busy with our own time. From here on nobody listens.
_MOST = 1000


class Rows:
    """Connections of one verdict: each once, then each domain once, then all others together."""

    def __init__(self) -> None:
        self._rows: dict[Hashable, Connection] = {}
        self._since: dict[Hashable, float] = {}
        self._domains = 0
        self.folded = 0

    def note(self, connection: Connection) -> bool:
        """Counts a connection; whether it is the first of its kind."""
        key: Hashable = _named(connection)
        if key not in self._rows and len(self._rows) - self._domains >= MOST_ROWS:
            self.folded += 1
            connection = _folded(connection, _domain(connection))
            key = ("domain", connection.kind, connection.name, connection.port)
            if key not in self._rows and self._domains >= MOST_DOMAINS:
                connection = replace(connection, name="*", port=0, kind="tcp")
                key = "others"
            self._domains += key not in self._rows
        known = self._rows.get(key)
        now = round(time(), 3)
        if known is None:
            self._rows[key] = connection
            self._since[key] = now
            return True
        self._rows[key] = replace(
            known,
            times=known.times + connection.times,
            sent=known.sent + connection.sent,
            received=known.received + connection.received,
            seconds=known.seconds + connection.seconds,
            first=self._since[key],
            last=now,
        )
        return False

    def all(self) -> tuple[Connection, ...]:
        """Every row, in the order in which each was noted first."""
        return tuple(self._rows.values())


class Ledger:
    """What was let through and what was refused, each thing once with how often."""

    def __init__(self, tell: Tell | None = None, *, listed: bool = False) -> None:
        self._allowed = Rows()
        self._refused = Rows()
        self._tell = tell
        self._told = {True: 0, False: 0}
        self._listed = listed
        self.refusals = 0
        self.requests = 0
        self.questions = 0
        # The gate and its inspector are two threads.
        self._lock = allocate_lock()

    @property
    def left_out(self) -> int:
        """How many are counted with others, and not listed by their own name."""
        return self._allowed.folded + self._refused.folded

    def begun(self, connection: Connection) -> None:
        """Tells of a connection that is open now."""
        if self._tell is not None and self._told[connection.allowed] < _MOST_TOLD:
            self._told[connection.allowed] += 1
            self._tell(connection)

    def allow(self, connection: Connection) -> None:
        """Notes a connection that has ended, or goes on at the end of the run."""
        with self._lock:
            self._allowed.note(connection)

    def refuse(self, connection: Connection) -> None:
        """Notes something that was refused, and counts it against the run."""
        with self._lock:
            self.refusals += 1
        self.drop(connection)

    def drop(self, connection: Connection) -> None:
        """Notes something that came to nothing by itself."""
        noted = replace(connection, listed=True) if self._listed else connection
        with self._lock:
            first = self._refused.note(noted)
        if first:
            self.begun(noted)

    def request(self) -> None:
        """Counts a connection, or a request on one that is read."""
        with self._lock:
            self.requests += 1

    def all(self) -> tuple[Connection, ...]:
        """Everything that is known: what was let through first."""
        return (*self._allowed.all(), *self._refused.all())


def _named(connection: Connection) -> Hashable:
    """What makes two connections the same thing, done twice."""
    one = connection
    asked = (one.method, one.path, one.status, one.by, one.body_digest)
    return one.kind, one.name or one.address, one.port, one.rule, one.why, one.program, asked


def _domain(connection: Connection) -> str:
    """The domain that many hosts are named by; addresses have none."""
    _, dot, above = connection.name.partition(".")
    return f"*.{'.'.join(above.split('.')[-2:])}" if dot else connection.name or "*"


def _folded(connection: Connection, domain: str) -> Connection:
    return Connection(
        allowed=connection.allowed,
        kind=connection.kind,
        name=domain,
        port=connection.port,
        why="" if connection.allowed else ONE_OF_MANY,
        rule=connection.rule,
        times=connection.times,
        sent=connection.sent,
        received=connection.received,
        seconds=connection.seconds,
    )


class Datagrams:
    """What is heard of the datagrams of one family; the kernel has refused them already."""

    def __init__(
        self, sock: socket, directory: NameDirectory, ledger: Ledger, enough: Callable[[], None]
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
