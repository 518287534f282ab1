"""The egress gate: accepts every connection of a sandbox, and decides, dials and relays each.

It stands outside: the sockets it listens on were made inside, and whatever it dials, it dials as
the machine itself. When it ends, for whatever reason, nothing leads out any more.
"""

from __future__ import annotations

import os
import select
import time
from _thread import allocate_lock, start_new_thread
from collections import deque
from contextlib import suppress
from functools import partial
from socket import AF_INET, AF_INET6, socket

from redoma.base.log import logger
from redoma.egress import destinations
from redoma.egress.destinations import ProgramLookup
from redoma.egress.dns import DnsConnection, NameDirectory, NameServer, Resolver
from redoma.egress.guard import ConnectionGuard
from redoma.egress.ledger import Datagrams, Ledger
from redoma.egress.relayed_connection import Pipes, RelayedConnection, cut
from redoma.model.network import TOO_MANY, Connection
from redoma.model.result import Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.egress.inspector import Inspector
    from redoma.egress.ledger import Tell
    from redoma.jail.kernel.netns_sockets import NetnsSockets
    from redoma.model.grant import Secret
    from redoma.model.network import Reach

log = logger(__name__)
_EVENTS = select.EPOLLIN | select.EPOLLOUT | select.EPOLLRDHUP | select.EPOLLET
_ACCEPT_AT_ONCE = 64
_DNS_PORT = 53
_TICK = 1.0
_PAUSE = 0.01
_QUESTIONS_FOR_A_REFUSAL = 20


class EgressGate:
    """The way out of one sandbox, served by a thread of its own."""

    def __init__(
        self,
        reach: Reach,
        netns: NetnsSockets,
        first: int,
        wake: Callable[[], None],
        tell: Tell | None = None,
        *,
        authority: object | None = None,
        secrets: tuple[Secret, ...] = (),
    ) -> None:
        self.reach = reach
        self._published = [destinations.published(port) for port in reach.publish]
        self.ledger = Ledger(tell, listed=reach.listed)
        self.pipes = Pipes()
        # Why the run has to end, where the gate says so.
        self.trouble: Outcome | None = None
        self.spent = False
        self._bytes = 0
        self._counting = allocate_lock()
        self._netns = netns
        self._programs = ProgramLookup(first, netns.kernel)
        self._tell = wake
        self._epoll = select.epoll()
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        # A thread that still asks for a name may ring when the bell is gone, or another's by now.
        self._ringing = allocate_lock()
        self._stopping = False
        self._over = allocate_lock()
        self._handlers: dict[int, Callable[[], None]] = {}
        self._relayed: set[RelayedConnection] = set()
        self._asking: set[socket] = set()
        self._again: deque[RelayedConnection] = deque()
        self._resolver = Resolver(self._ring)
        self._directory = NameDirectory()
        self._answers = NameServer(reach, self._directory, self._resolver, self.ledger)
        self._most = min(reach.max_connections, destinations.descriptors_left() // 2)
        self._inspector: Inspector | None = None
        if reach.opens_tls:
            from redoma.egress.inspector import inspector

            self._inspector = inspector(self, authority, secrets)

    def start(self) -> None:
        """Begins to serve; from here on connections are answered."""
        for name, sock in self._netns.sockets:
            kind, _, number = name.partition(":")
            if kind == "dns":
                self._listen(sock, partial(self._answers.datagrams, sock))
            elif kind == "udp":
                heard = Datagrams(sock, self._directory, self.ledger, partial(self.forget, sock))
                self._listen(sock, heard.ready)
            elif kind == "dns-tcp":
                self._listen(sock, partial(self._accept, sock, self._asked))
            elif kind == "local":
                begin = partial(self._to_this_machine, port=int(number))
                self._listen(sock, partial(self._accept, sock, begin))
            else:
                self._listen(sock, partial(self._accept, sock, self._out))
        for port, sock in zip(self.reach.publish, self._published, strict=True):
            begin = partial(self._to_the_command, port=port)
            self._listen(sock, partial(self._accept, sock, begin))
        self._epoll.register(self._bell, select.EPOLLIN)
        if self._inspector is not None:
            self._inspector.start()
        self._over.acquire()
        start_new_thread(self._serve, ())

    def stop(self) -> tuple[Connection, ...]:
        """Ends every connection; what became of all of them."""
        self._stopping = True
        self._ring()
        self._over.acquire()
        for relayed in list(self._relayed):
            relayed.finish(abrupt=True)
            self._note(relayed.about)
        self._relayed.clear()
        if self._inspector is not None:
            self._inspector.stop()
        self._resolver.close()
        self.pipes.close()
        self._epoll.close()
        for sock in (*self._published, *self._asking):
            sock.close()
        with self._ringing:
            os.close(self._bell)
            self._bell = -1
        return self.ledger.all()

    def watch(self, sock: socket, relayed: RelayedConnection) -> None:
        """Has a relayed connection served whenever something happens on a socket."""
        self._handlers[sock.fileno()] = relayed.ready
        self._epoll.register(sock.fileno(), _EVENTS)

    def forget(self, sock: socket) -> None:
        """Serves a socket no more."""
        number = sock.fileno()
        if self._handlers.pop(number, None) is not None:
            with suppress(OSError, ValueError):
                self._epoll.unregister(number)

    def again(self, relayed: RelayedConnection) -> None:
        """Serves a relayed connection in the next round too, after the others had their turn."""
        self._again.append(relayed)

    def count(self, moved: int) -> bool:
        """Adds to what went through in this run; whether that is more than may."""
        with self._counting:
            self._bytes += moved
            limit = self.reach.max_bytes
            self.spent = limit is not None and self._bytes > limit
            return self.spent

    def ended(self, relayed: RelayedConnection) -> None:
        """Notes a relayed connection that is over."""
        self._relayed.discard(relayed)
        self._note(relayed.about)

    def _note(self, about: Connection) -> None:
        log.info(
            "connection to %s port %d: %s",
            about.name or about.address,
            about.port,
            "let through" if about.allowed else "refused",
        )
        if about.allowed:
            self.ledger.allow(about)
        else:
            self._refuse(about)

    def _refuse(self, about: Connection) -> None:
        self.ledger.refuse(about)

    def _serve(self) -> None:
        try:
            while not self._stopping:
                self._round()
        except BaseException:  # whatever it was, nothing is relayed any more
            self.lost()
        finally:
            self._over.release()

    def _round(self) -> None:
        busy = bool(self._again)
        for number, _ in self._epoll.poll(0 if busy else _TICK):
            if number == self._bell:
                with suppress(BlockingIOError):
                    os.eventfd_read(self._bell)
                self._resolver.deliver()
                continue
            handler = self._handlers.get(number)
            if handler is not None:
                handler()
        for _ in range(len(self._again)):
            self._again.popleft().ready()
        now = time.monotonic()
        for relayed in [p for p in self._relayed if 0 < p.dialling_until < now]:
            relayed.refuse(destinations.UNREACHABLE)
        if self._flooded():
            self._end(Outcome.TOO_MANY_CONNECTIONS)

    def _flooded(self) -> bool:
        """Whether a command only keeps us busy, with our own time and not with its own."""
        seen, limit = self.ledger, self.reach.max_requests
        return (
            seen.refusals > self.reach.max_refusals
            or seen.questions > self.reach.max_refusals * _QUESTIONS_FOR_A_REFUSAL
            or (limit is not None and seen.requests > limit)
        )

    def lost(self) -> None:
        """Ends the run: whoever should look at its connections does so no more."""
        self._end(Outcome.GATE_LOST)

    def _end(self, why: Outcome) -> None:
        if self.trouble is None:
            self.trouble = why
            self._stopping = True
            self._tell()

    def _ring(self) -> None:
        with self._ringing:
            if self._bell >= 0:
                os.eventfd_write(self._bell, 1)

    def _listen(self, sock: socket, handler: Callable[[], None]) -> None:
        self._handlers[sock.fileno()] = handler
        self._epoll.register(sock.fileno(), select.EPOLLIN)

    def _accept(self, listener: socket, begin: Callable[[socket], None]) -> None:
        for _ in range(_ACCEPT_AT_ONCE):
            try:
                client, _ = listener.accept()
            except BlockingIOError:
                return
            except OSError:
                time.sleep(_PAUSE)  # there are no descriptors for now
                return
            client.setblocking(False)  # noqa: FBT003
            self.ledger.request()
            begin(client)

    def _out(self, client: socket) -> None:
        """A connection of the command's to anywhere."""
        place = destinations.original(client, redirected=self._netns.mode == "redirect")
        if place is None:
            cut(client)
            return
        if place[1] == _DNS_PORT and not self._directory.name(place[0]):
            self._asked(client)
            return
        name = self._directory.name(place[0])
        about = destinations.judged(self.reach, name, place)
        about = destinations.with_program(about, self._programs.behind(client, place))
        if not about.allowed or self._full:
            self._turn_away(client, about)
            return
        if self._inspector is not None and self.reach.reads(name):
            self._inspect(self._inspector, client, about, place)
            return
        guard = None
        if name and not self.reach.anyone:
            guard = ConnectionGuard(
                name,
                about.port,
                web_only=destinations.web_only(self.reach, name, about.port),
                may_tunnel=lambda host, port: destinations.granted(self.reach, host, port),
            )
        relayed = self._begin(client, about, guard)
        places = destinations.places(self.reach, name, place)
        if places:
            relayed.dial(places)
            return
        granted = destinations.rules_for(self.reach, name, about.port)
        self._answers.place(
            name,
            granted,
            lambda found: relayed.dial([(address, about.port) for address in found]),
        )

    def _inspect(
        self, inspector: Inspector, client: socket, about: Connection, place: tuple[str, int]
    ) -> None:
        """Has a connection read, once it is known where its host is."""
        granted = destinations.rules_for(self.reach, about.name, about.port)
        web_only = destinations.web_only(self.reach, about.name, about.port)

        def take(places: list[tuple[str, int]]) -> None:
            inspector.take(client, about, granted, places, web_only=web_only)

        known = destinations.places(self.reach, about.name, place)
        if self.reach.mock:
            take([])  # there is no place behind a mock
        elif known:
            take(known)
        else:
            self._answers.place(
                about.name, granted, lambda found: take([(each, about.port) for each in found])
            )

    @property
    def _full(self) -> bool:
        read = self._inspector.connections if self._inspector is not None else 0
        return len(self._relayed) + read >= self._most

    def _to_this_machine(self, client: socket, port: int) -> None:
        about = Connection(
            allowed=True,
            name="localhost",
            port=port,
            rule=f"localhost:{port}",
            program=self._programs.behind(client, (destinations.own(client), port)),
        )
        if self._full:
            self._turn_away(client, about)
            return
        self._begin(client, about, None).dial([("127.0.0.1", port), ("::1", port)])

    def _to_the_command(self, client: socket, port: int) -> None:
        about = Connection(allowed=True, kind="published", name="localhost", port=port)
        if self._full:
            self._turn_away(client, about)
            return
        relayed = self._begin(client, about, None)
        for family, address in ((AF_INET, "127.0.0.1"), (AF_INET6, "::1")):
            host = self._netns.new_socket(family)
            # Within one namespace a connection to loopback is answered before this returns.
            if host is not None and destinations.connects(host, address, port):
                relayed.take(host)
                return
        relayed.refuse(destinations.UNREACHABLE)

    def _turn_away(self, client: socket, about: Connection) -> None:
        cut(client)
        self._refuse(destinations.refused(about, about.why or TOO_MANY))

    def _begin(
        self, client: socket, about: Connection, guard: ConnectionGuard | None
    ) -> RelayedConnection:
        relayed = RelayedConnection(self, client, about, guard)
        self._relayed.add(relayed)
        self.watch(client, relayed)
        return relayed

    def _asked(self, client: socket) -> None:
        """A connection over which names are asked for."""
        if len(self._handlers) > self._most * 2 + destinations.SPARE_DESCRIPTORS:
            cut(client)
            return

        def over() -> None:
            self.forget(client)
            self._asking.discard(client)
            client.close()

        self._asking.add(client)
        conversation = DnsConnection(self._answers, client, over)
        self._handlers[client.fileno()] = conversation.ready
        self._epoll.register(client.fileno(), select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET)
