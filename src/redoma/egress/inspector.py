"""Inspects connections request by request, beside the gate, in one thread of its own."""

from __future__ import annotations

import asyncio
from _thread import allocate_lock, start_new_thread
from contextlib import suppress
from hashlib import sha256
from socket import IPPROTO_TCP, TCP_NODELAY

from redoma.egress.exchange import RequestRefused
from redoma.egress.inspected_connection import InspectedConnection
from redoma.egress.relayed_connection import cut
from redoma.model.network import TOO_MUCH, UNREACHABLE
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from socket import socket

    from redoma.egress.certificates import Authority
    from redoma.egress.exchange import Handler
    from redoma.egress.gate import EgressGate
    from redoma.egress.ledger import Ledger
    from redoma.model.grant import Secret
    from redoma.model.network import Connection, HostRule, Reach

_PATIENCE = 5.0


def inspector(gate: EgressGate, authority: object, secrets: tuple[Secret, ...]) -> Inspector:
    """The reader of a gate's connections, with everybody who stands between it and the hosts."""
    from redoma.egress.certificates import Authority

    assert isinstance(authority, Authority)
    return Inspector(
        gate.reach,
        authority,
        gate.ledger,
        handlers=handlers(gate.reach, secrets),
        spend=gate.count,
        lost=gate.lost,
    )


class Inspector:
    """The reader of one gate's connections."""

    def __init__(
        self,
        reach: Reach,
        authority: Authority,
        ledger: Ledger,
        *,
        handlers: tuple[Handler, ...] = (),
        spend: Callable[[int], bool],
        lost: Callable[[], None],
    ) -> None:
        """`spend` adds to what went through and says whether that was too much; `lost` is called
        when this thread can do its work no more."""
        self.authority = authority
        self.ledger = ledger
        self.handlers = handlers
        # Whether everything is answered here, so that there is no host to be heard first.
        self.mocks = reach.mock
        # Whether a policy's list says what is granted, and no flag adds to it.
        self.listed = reach.listed
        self._only_over_tls = frozenset(each.host for each in reach.credentials)
        self._spend = spend
        self._lost = lost
        self._trust: ssl.SSLContext | None = None
        self._loop = asyncio.new_event_loop()
        self._open: set[socket] = set()
        self._talks: set[asyncio.Task[None]] = set()
        self._over = allocate_lock()

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._open)

    def start(self) -> None:
        """Begins to serve."""
        self._over.acquire()
        start_new_thread(self._serve, ())

    def stop(self) -> None:
        """Ends every connection, and the thread."""
        with suppress(RuntimeError):  # it has ended by itself
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._over.acquire()
        for sock in self._open:
            cut(sock)
        self._open.clear()

    def take(
        self,
        client: socket,
        about: Connection,
        rules: list[HostRule],
        places: list[tuple[str, int]],
        *,
        web_only: bool,
    ) -> None:
        """Reads a connection from here on; called from the gate's own thread."""
        if not places and not self.mocks:
            cut(client)
            self.note(replace(about, allowed=False, why=UNREACHABLE))
            return
        self._open.add(client)
        with suppress(OSError):
            client.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)

        def begin() -> None:
            talk = InspectedConnection(self, client, about, rules, places, web_only=web_only)
            task = self._loop.create_task(talk.serve())
            self._talks.add(task)
            task.add_done_callback(lambda done: self._ended(done, client))

        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(begin)

    def _ended(self, task: asyncio.Task[None], client: socket) -> None:
        self._talks.discard(task)
        self._open.discard(client)
        client.close()
        if not task.cancelled() and task.exception() is not None:
            self._loop.stop()  # whatever it was, nothing is passed on any more
            self._lost()

    def _serve(self) -> None:
        loop = self._loop
        try:
            asyncio.set_event_loop(loop)
            loop.run_forever()
            for task in self._talks:
                task.cancel()
            if self._talks:
                loop.run_until_complete(asyncio.wait(self._talks, timeout=_PATIENCE))
            loop.run_until_complete(loop.shutdown_asyncgens())
        except BaseException:  # as above
            self._lost()
        finally:
            asyncio.set_event_loop(None)
            loop.close()
            self._over.release()

    def trust(self) -> ssl.SSLContext:
        """Whom we trust ourselves; read once, when it is first needed."""
        if self._trust is None:
            from redoma.egress.upstream import trust

            self._trust = trust()
        return self._trust

    def has_credential(self, name: str) -> bool:
        """Whether requests to a host get a secret added."""
        return name in self._only_over_tls

    def count(self, size: int) -> None:
        """Notes bytes that pass; more than are granted end the connection."""
        if self._spend(size):
            raise RequestRefused(TOO_MUCH)

    def note(self, about: Connection) -> None:
        """Keeps what became of a request or a connection."""
        if about.allowed:
            self.ledger.allow(about)
            self.ledger.begun(about)
        else:
            self.ledger.refuse(about)


def handlers(reach: Reach, secrets: tuple[Secret, ...] = ()) -> tuple[Handler, ...]:
    """The handlers of one gate; a mock stands alone, since nothing is behind it."""
    if reach.mock:
        from redoma.egress.exchange import MockHandler

        return (MockHandler(reach.mocks),)
    row: list[Handler] = []
    if reach.cache:
        from redoma.base import own_directories
        from redoma.egress.cache import ResponseCache
        from redoma.egress.cache_store import CacheStore

        row.append(
            ResponseCache(reach, CacheStore(own_directories.made_cache()), private(reach, secrets))
        )
    if reach.credentials:
        from redoma.egress.credentials import CredentialHandler

        # The last before the host: nobody else in the row sees what it adds.
        row.append(CredentialHandler(tuple(zip(reach.credentials, secrets, strict=True))))
    return tuple(row)


def private(reach: Reach, secrets: tuple[Secret, ...]) -> dict[str, str]:
    """For each host one name for all that is added to its requests, and how."""
    found: dict[str, str] = {}
    for each, secret in zip(reach.credentials, secrets, strict=True):
        told = (found.get(each.host, ""), str(each.port), each.header, each.form, secret.reveal())
        found[each.host] = sha256("\0".join(told).encode()).hexdigest()
    return found
