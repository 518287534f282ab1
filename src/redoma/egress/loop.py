"""The event loop of a gate: accepts, has each connection wait its turn, and ends what is slow."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from functools import partial
from socket import AF_INET, AF_INET6, IPPROTO_TCP, TCP_NODELAY

from redoma.base.log import logger
from redoma.egress import destinations
from redoma.egress.async_streams import Readiness, SocketStream, cut, settle
from redoma.egress.connection import GatedConnection
from redoma.egress.destinations import ProgramLookup
from redoma.egress.dial import dialled
from redoma.egress.dns import DnsConnection, NameDirectory, NameServer, Resolver
from redoma.egress.exchange import ExchangeStopped, RequestRefused, handlers
from redoma.egress.ledger import Datagrams
from redoma.egress.relay import Pipes, relay
from redoma.model.network import TOO_MUCH, UNREACHABLE, Connection
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Coroutine
    from socket import socket

    from redoma.egress.certificates import Authority
    from redoma.egress.gate import EgressGate
    from redoma.egress.upstream import TlsSessions

log = logger(__name__)
_ACCEPT_AT_ONCE = 64
_DNS_PORT = 53
_TICK = 1.0
_PATIENCE = 5.0
# So many more than may be open at one time are accepted, and wait; the others wait in the kernel.
_MOST_WAITING = 1024


class GateLoop:
    """What a gate does, from the first thing that is asked of it."""

    def __init__(self, gate: EgressGate) -> None:
        self.gate = gate
        self.reach = gate.reach
        self.ledger = gate.ledger
        self.handlers = handlers(gate.reach, gate.secrets)
        # Not uvloop, which aborts the whole process where a lost gate should end its run.
        self.loop = asyncio.new_event_loop()
        self.readiness = Readiness(self.loop)
        self.pipes = Pipes()
        self._programs = ProgramLookup(gate.first, gate.netns.kernel)
        self._resolver = Resolver(gate.ring)
        self._directory = NameDirectory()
        self._answers = NameServer(self.reach, self._directory, self._resolver, self.ledger)
        left = destinations.descriptors_left()
        most = max(1, min(self.reach.max_connections, left // 3))
        self._turns = asyncio.Semaphore(most)
        self._most = most + min(_MOST_WAITING, left // 3)
        self._open: dict[asyncio.Task[None], GatedConnection | None] = {}
        self._asking: set[socket] = set()
        self._listeners: dict[socket, Callable[[], None]] = {}
        self._full = False
        self._trusts: dict[tuple[str, ...], ssl.SSLContext] = {}
        self.sessions: TlsSessions = {}

    @property
    def authority(self) -> Authority:
        """Who signs what the command is shown in place of a host's own certificate."""
        from redoma.egress.certificates import Authority

        assert isinstance(self.gate.authority, Authority)
        return self.gate.authority

    def run(self) -> None:
        """Serves until the gate is stopped."""
        loop = self.loop
        asyncio.set_event_loop(loop)
        loop.set_exception_handler(self._failed)
        try:
            self._listen_to_all()
            loop.call_later(_TICK, self._tick)
            loop.add_reader(self.gate.bell, self._rung)
            if not self.gate.stopping:
                loop.run_forever()
            for task in list(self._open):
                task.cancel()
            if self._open:
                loop.run_until_complete(asyncio.wait(list(self._open), timeout=_PATIENCE))
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            self._resolver.close()
            self.pipes.close()
            for sock in self._asking:
                sock.close()
            self.readiness.close()
            asyncio.set_event_loop(None)
            loop.close()

    def _failed(self, _: object, context: dict[str, object]) -> None:
        log.warning("the egress gate is lost: %s %r", context["message"], context.get("exception"))
        self.gate.lost()

    def _rung(self) -> None:
        with suppress(BlockingIOError):
            os.eventfd_read(self.gate.bell)
        self._resolver.deliver()
        if self.gate.stopping:
            self.loop.stop()

    def _tick(self) -> None:
        """Ends connections on which nothing has happened for too long."""
        now = time.monotonic()
        for task, connection in list(self._open.items()):
            if connection is not None and connection.deadline < now:
                connection.late = True
                task.cancel()
        self.gate.end_if_flooded()
        self.loop.call_later(_TICK, self._tick)

    def _listen_to_all(self) -> None:
        for name, sock in self.gate.netns.sockets:
            kind, _, number = name.partition(":")
            if kind == "dns":
                self._listen(sock, partial(self._questions, sock))
            elif kind == "udp":
                enough = partial(self._ignore, sock)
                heard = Datagrams(sock, self._directory, self.ledger, enough)
                self._listen(sock, heard.ready)
            elif kind == "dns-tcp":
                self._listen(sock, partial(self._accept, sock, self._asked))
            elif kind == "local":
                begin = partial(self._to_this_machine, port=int(number))
                self._listeners[sock] = partial(self._accept, sock, begin)
            else:
                self._listeners[sock] = partial(self._accept, sock, self._out)
        for port, sock in zip(self.reach.publish, self.gate.published, strict=True):
            begin = partial(self._to_the_command, port=port)
            self._listeners[sock] = partial(self._accept, sock, begin)
        for sock, ready in self._listeners.items():
            self._listen(sock, ready)

    def _listen(self, sock: socket, ready: Callable[[], None]) -> None:
        self.loop.add_reader(sock, ready)

    def _ignore(self, sock: socket) -> None:
        self.loop.remove_reader(sock)

    def _questions(self, sock: socket) -> None:
        if self.gate.stopping:
            return
        self._answers.datagrams(sock)
        self.gate.end_if_flooded()

    def _accept(self, listener: socket, begin: Callable[[socket], None]) -> None:
        for _ in range(_ACCEPT_AT_ONCE):
            if len(self._open) >= self._most or self.gate.stopping:
                self._pause()
                break
            try:
                client, _ = listener.accept()
            except BlockingIOError:
                break
            except OSError:  # there are no descriptors for now
                self._pause()
                self.loop.call_later(_TICK / 10, self._resume)
                break
            client.setblocking(False)  # noqa: FBT003
            with suppress(OSError):
                client.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
            self.ledger.request()
            begin(client)
        self.gate.end_if_flooded()

    def _pause(self) -> None:
        """Leaves further connections to the kernel, until one of ours is over."""
        if not self._full:
            self._full = True
            for sock in self._listeners:
                self.loop.remove_reader(sock)

    def _resume(self) -> None:
        if self._full:
            self._full = False
            for sock, ready in self._listeners.items():
                self._listen(sock, ready)

    def _spawn(
        self,
        serve: Callable[[], Coroutine[None, None, None]],
        connection: GatedConnection | None = None,
    ) -> None:
        async def in_turn() -> None:
            # Over the limit a connection waits until another one is over.
            async with self._turns:
                await serve()

        task = self.loop.create_task(in_turn())
        self._open[task] = connection
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._open.pop(task, None)
        if self._full and len(self._open) < self._most:
            self._resume()
        if not task.cancelled() and task.exception() is not None:
            # Whatever it was, nothing is passed on any more.
            log.warning("the egress gate is lost: %r", task.exception())
            self.gate.lost()

    def _out(self, client: socket) -> None:
        """A connection of the command's to anywhere."""
        place = destinations.original(client, redirected=self.gate.netns.mode == "redirect")
        if place is None:
            cut(client)
            return
        name = self._directory.name(place[0])
        if place[1] == _DNS_PORT and not name:
            self._asked(client)
            return
        about = destinations.judged(self.reach, name, place)
        about = destinations.with_program(about, self._programs.behind(client, place))
        if not about.allowed:
            cut(client)
            self.note(about)
            return
        self._spawn(partial(self._gated, client, about, place))

    async def _gated(self, client: socket, about: Connection, place: tuple[str, int]) -> None:
        """Serves a connection that may be, once it is known where its host is."""
        places = destinations.places(self.reach, about.name, place)
        if self.reach.mock:
            places = []  # there is no place behind a mock
        elif not places:
            asked: asyncio.Future[None] = self.loop.create_future()

            def found(addresses: tuple[str, ...]) -> None:
                places.extend((address, about.port) for address in addresses)
                settle(asked)

            rules = destinations.rules_for(self.reach, about.name, about.port)
            self._answers.place(about.name, rules, found)
            try:
                await asked
            except BaseException:
                cut(client)
                raise
            if not places:
                cut(client)
                self.note(destinations.refused(about, UNREACHABLE))
                return
        connection = GatedConnection(self, client, about, places)
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = connection
        await connection.serve()

    def _to_this_machine(self, client: socket, port: int) -> None:
        about = Connection(
            allowed=True,
            name="localhost",
            port=port,
            rule=f"localhost:{port}",
            program=self._programs.behind(client, (destinations.own(client), port)),
        )

        async def dial() -> tuple[socket, str]:
            return await dialled([("127.0.0.1", port), ("::1", port)], self.readiness)

        self._spawn(partial(self._joined, client, about, dial))

    def _to_the_command(self, client: socket, port: int) -> None:
        about = Connection(allowed=True, kind="published", name="localhost", port=port)

        async def dial() -> tuple[socket, str]:
            for family, address in ((AF_INET, "127.0.0.1"), (AF_INET6, "::1")):
                host = self.gate.netns.new_socket(family)
                # Within one namespace a connection to loopback is answered before this returns.
                if host is not None and destinations.connects(host, address, port):
                    return host, ""
            raise RequestRefused(UNREACHABLE)

        self._spawn(partial(self._joined, client, about, dial))

    async def _joined(
        self,
        client: socket,
        about: Connection,
        dial: Callable[[], Coroutine[None, None, tuple[socket, str]]],
    ) -> None:
        """Relays between a client and a place that was granted as such, unread."""
        stream, began, host = (
            SocketStream(client, self.readiness, self.count),
            time.monotonic(),
            None,
        )
        why, over = "", False
        try:
            sock, address = await dial()
            about = replace(about, address=address)
            host = SocketStream(sock, self.readiness)
            self.ledger.begun(about)
            await relay(stream, host, self.pipes)
            over = True
        except ExchangeStopped as stopped:
            why = stopped.why
        except OSError:
            pass  # one of both went away
        finally:
            stream.close(abrupt=not over)
            if host is not None:
                host.close()
            took = time.monotonic() - began
            about = replace(about, sent=stream.taken, received=stream.given, seconds=took)
            self.note(destinations.refused(about, why) if why else about)

    def _asked(self, client: socket) -> None:
        """A connection over which names are asked for."""
        if len(self._asking) > _MOST_WAITING:
            cut(client)
            return

        def over() -> None:
            self.readiness.forget(client)
            self._asking.discard(client)
            client.close()

        self._asking.add(client)
        self.readiness.watch(client, DnsConnection(self._answers, client, over).ready)

    def trust(self, *protocols: str) -> ssl.SSLContext:
        """Whom we trust ourselves; read once, when it is first needed."""
        if protocols not in self._trusts:
            from redoma.egress.upstream import trust

            self._trusts[protocols] = trust(*protocols)
        return self._trusts[protocols]

    def has_credential(self, name: str) -> bool:
        """Whether requests to a host get a secret added."""
        return any(each.host == name for each in self.reach.credentials)

    def count(self, size: int) -> None:
        """Notes bytes that pass; more than are granted end the connection."""
        if self.gate.spend(size):
            raise RequestRefused(TOO_MUCH)

    def requested(self) -> None:
        """Counts a request that is read."""
        self.ledger.request()
        self.gate.end_if_flooded()

    def note(self, about: Connection) -> None:
        """Keeps what became of a request or a connection."""
        log.info(
            "connection to %s port %d: %s",
            about.name or about.address,
            about.port,
            "let through" if about.allowed else "refused",
        )
        if not about.allowed:
            self.ledger.refuse(about)
            self.gate.end_if_flooded()
            return
        self.ledger.allow(about)
        if about.method:
            self.ledger.begun(about)
