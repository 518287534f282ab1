"""Keeps what became of each connection, within bounds whatever a command tries.

Attack: thousands of cheap connections fill the list, and the one that matters is not on it. So the
same is noted once, with how often and when. Where requests differ too often to name each, their
host, port and reason are; where there are too many hosts, the domain of their owner is (a flood of
refusals ends the run long before that). Nothing is left uncounted.
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

# Rows that say everything; then rows of a host, a port and a reason; then rows of a domain.
MOST_ROWS = 2000
MOST_HOSTS = 20_000
MOST_DOMAINS = 1000
# So many that pass, and as many that do not, are told as they happen; all are listed at the end.
_MOST_TOLD = 200
_AT_ONCE = 64
# Attack: a flood of them would keep us busy with our own time. From here on nobody listens.
_MOST = 1000


class Rows:
    """Connections of one verdict: each thing once, then each host, then each domain."""

    def __init__(self) -> None:
        self._rows: dict[Hashable, Connection] = {}
        self._since: dict[Hashable, float] = {}
        self._room = [MOST_ROWS, MOST_HOSTS, MOST_DOMAINS]
        self.folded = 0

    def note(self, connection: Connection) -> bool:
        """Counts a connection; whether it is the first of its kind."""
        key, connection = self._row_of(connection)
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

    def _row_of(self, connection: Connection) -> tuple[Hashable, Connection]:
        """The row that a connection belongs to, and how it is named there."""
        for level, (key_of, named) in enumerate(_LEVELS):
            made = named(connection)
            key = (level, key_of(made))
            if key not in self._rows:
                if not self._room[level]:
                    continue
                self._room[level] -= 1
            self.folded += level == len(_LEVELS) - 1
            return key, made
        self.folded += 1
        return "others", replace(_of_domain(connection), name="*", port=0, kind="tcp")

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
        # Whoever asks for all of it is another thread than the gate.
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


def _whole_key(one: Connection) -> Hashable:
    """What makes two connections the same thing, done twice."""
    asked = (one.method, one.path, one.status, one.by, one.body_digest)
    return (*_host_key(one), one.rule, one.program, asked)


def _host_key(one: Connection) -> tuple[Hashable, ...]:
    return one.kind, one.name or one.address, one.port, one.why


def _as_it_is(connection: Connection) -> Connection:
    return connection


def _of_host(connection: Connection) -> Connection:
    """The same without what was asked of the host."""
    return replace(
        connection, method="", path="", status=0, by="", headers=(), body_size=0, body_digest=""
    )


def _of_domain(connection: Connection) -> Connection:
    """One of many hosts of a domain; addresses have none."""
    name = connection.name
    if name:
        from redoma.egress.public_suffixes import registrable_domain

        name = f"*.{registrable_domain(name)}"
    return Connection(
        allowed=connection.allowed,
        kind=connection.kind,
        name=name or "*",
        port=connection.port,
        why="" if connection.allowed else ONE_OF_MANY,
        rule=connection.rule,
        times=connection.times,
        sent=connection.sent,
        received=connection.received,
        seconds=connection.seconds,
    )


_LEVELS = ((_whole_key, _as_it_is), (_host_key, _of_host), (_host_key, _of_domain))


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
