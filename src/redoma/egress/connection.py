"""One connection of a command: whom it names, what it speaks, and each request of it judged.

Attack: a first request to the granted host, and a second one on the same connection to another
host behind the same address. So every request is read, and one that two readers might read
differently is refused; only TLS that nobody asked to open passes unread, behind a hello that
names the granted host.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from contextlib import suppress

import h11

from redoma.egress import destinations, downstream
from redoma.egress.async_streams import SocketStream, TlsStream
from redoma.egress.connection_start import ConnectionStart, SpokenProtocol, begins, http_2_is_there
from redoma.egress.downstream import DownstreamClient
from redoma.egress.exchange import (
    ExchangeStopped,
    HttpRequest,
    RequestRefused,
    UpstreamFailed,
)
from redoma.egress.hosts import normal
from redoma.egress.judged_request import STATUS, JudgedRequest
from redoma.egress.relay import relay
from redoma.egress.upstream import Upstream
from redoma.model.network import (
    HTTP_2,
    NOT_HTTP,
    NOT_MOCKED,
    NOT_TRUSTED,
    OTHER_NAME,
    TOO_SLOW,
    TUNNEL,
    UNREADABLE,
    Connection,
)
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket

    from redoma.egress.downstream import RequestHead
    from redoma.egress.exchange import HttpResponse
    from redoma.egress.loop import GateLoop

_HANDSHAKE_SECONDS = 20.0
_SPEAKS_WITHIN = 2.0
_NO_HTTP = frozenset((UNREADABLE, NOT_HTTP, HTTP_2))


class GatedConnection:
    """A client's connection to one place that is granted, and everything on it."""

    def __init__(
        self,
        gate: GateLoop,
        client: socket,
        about: Connection,
        places: list[tuple[str, int]],
    ) -> None:
        self.gate = gate
        self.about = about
        self.scheme = "http"
        self.rules = destinations.rules_for(gate.reach, about.name, about.port)
        # Whether each request is judged and noted, and TLS opened for that.
        self.inspected = gate.reach.reads(about.name)
        self._guarded = self.inspected or bool(about.name and not gate.reach.anyone)
        by_request = any(rule.by_request for rule in self.rules)
        self.web_only = (
            by_request
            or gate.reach.mock
            or destinations.web_only(gate.reach, about.name, about.port)
        )
        self.name, self.port = about.name, about.port
        self.stream = SocketStream(client, gate.readiness, gate.count)
        self.upstream = Upstream(about.name, places, gate.readiness, None, self.patience)
        # When something has to have happened; nothing has to where it is passed on unread.
        self.deadline = float("inf")
        self.late = False
        self._began = time.monotonic()
        self._noted = False
        self.polite = self._told = False
        self._moved = (0, 0)

    def patience(self, seconds: float) -> None:
        """Ends the connection unless something happens within so many seconds."""
        self.deadline = time.monotonic() + seconds

    async def serve(self) -> None:
        """Everything until the connection is over; how it went is noted."""
        why = ""
        try:
            await self._serve()
            self.polite = True
        except ssl.SSLError as error:
            why = NOT_TRUSTED if _is_distrust(error) else ""
        except ExchangeStopped as stopped:
            why = stopped.why
        except (OSError, h11.ProtocolError):
            pass  # one of both went away
        except asyncio.CancelledError:
            if not self.late:
                raise
            why = TOO_SLOW
        finally:
            if why or not self._noted:
                self.note(replace(self.about, address=self._address), self._began, why=why)
            self.stream.close(abrupt=not self.polite)
            with suppress(asyncio.CancelledError):
                await self.upstream.close()

    @property
    def _address(self) -> str:
        return self.upstream.address or self.about.address

    async def _serve(self) -> None:
        if not self._guarded:
            await self._pass_on(await self.upstream.plain())
            return
        if self.web_only:
            self.patience(downstream.IDLE_SECONDS)
        found = await self._begins()
        if found.speaks is SpokenProtocol.TLS:
            if not self.inspected:
                await self._pass_on(found.host or await self.upstream.plain())
                return
            found = await self._open_tls(found)
        if found.speaks is SpokenProtocol.OTHER:
            await self._pass_on(found.host or await self.upstream.connected())
        elif found.speaks is SpokenProtocol.HTTP:
            if found.host is not None:
                self.upstream.adopt(found.host)
            client = DownstreamClient(self.stream, self.patience)
            while await self._request(client):
                continue
        elif found.speaks is SpokenProtocol.HTTP_2:
            from redoma.egress.http2_requests import serve

            await serve(self, found.host)
        elif found.host is not None:
            found.host.close()

    async def _begins(self, *, in_tls: bool = False) -> ConnectionStart:
        if not self.gate.reach.mock:
            return await begins(self, in_tls=in_tls)
        try:
            # A client that waits for its host to speak first would wait for ever.
            async with asyncio.timeout(_SPEAKS_WITHIN):
                return await begins(self, in_tls=in_tls)
        except TimeoutError:
            raise RequestRefused(NOT_MOCKED) from None
        except RequestRefused as refused:
            raise RequestRefused(
                NOT_MOCKED if refused.why in _NO_HTTP else refused.why
            ) from refused

    async def _pass_on(self, host: SocketStream) -> None:
        """What nobody reads from here on."""
        self.deadline = float("inf")
        self._tell()
        try:
            await relay(self.stream, host, self.gate.pipes)
        finally:
            host.close()

    def _tell(self) -> None:
        """Tells of the connection once its host has answered; requests are told by themselves."""
        if not self.inspected and not self._told:
            self._told = True
            self.gate.ledger.begun(replace(self.about, address=self._address))

    async def _open_tls(self, found: ConnectionStart) -> ConnectionStart:
        """Speaks TLS in the host's name with the client, and in the client's with the host."""
        gate, name = self.gate, self.name
        # Who offers it gets HTTP/2 where the host speaks that too: nothing is translated.
        asked = not gate.reach.mock and not gate.reach.caches(name)
        asks = found.offers_http_2 and asked and http_2_is_there()
        context, reached = gate.trust("h2") if asks else gate.trust(), self.upstream.address
        self.upstream = Upstream(
            name, self.upstream.places, gate.readiness, context, self.patience, gate.sessions
        )
        self.upstream.address = reached
        host: SocketStream | None = None
        if asked:
            self.upstream.connect_ahead(found.host)
        elif found.host is not None:
            found.host.close()
        if asks:
            with suppress(UpstreamFailed):  # said again, in answer to the first request
                host = await self.upstream.connected()
        speaks_2 = isinstance(host, TlsStream) and host.protocol == "h2"
        try:
            inner = TlsStream(self.stream, gate.authority.context(name, http_2=speaks_2))
            async with asyncio.timeout(_HANDSHAKE_SECONDS):
                await inner.handshake()
            self.stream, self.scheme = inner, "https"
            self._moved = (0, 0)
            if inner.protocol == "h2":
                return ConnectionStart(speaks=SpokenProtocol.HTTP_2, host=host)
        except BaseException:
            if host is not None:
                host.close()
            raise
        if host is not None and not speaks_2:
            self.upstream.adopt(host)
        elif host is not None:
            host.close()
        if asks:
            self.upstream.use(gate.trust())
        return await self._begins(in_tls=True)

    async def _request(self, client: DownstreamClient) -> bool:
        """Reads, judges and answers the next request; whether there may be another."""
        try:
            raw = await client.next_head()
        except RequestRefused as refused:
            self.polite = True
            await client.refuse(STATUS.get(refused.why, 403), f"{self.name}: {refused.why}")
            raise
        if raw is None:
            return False
        head = downstream.read(raw, self.name, self.port, self.scheme)
        request = JudgedRequest(self, head, client.inform, self.upstream.ask)
        sent, received = self._moved
        try:
            if head.refusal == TUNNEL and not self.inspected:
                return await self._tunnel(client, raw, head)
            body = None if head.refusal else client.begin(raw, head)
            response = await request.response(body)
            self._tell()
            if response.upgraded is None:
                return await client.answer(response, head.method)
            await self._switched(client, response)
            return False
        except ExchangeStopped as stopped:
            self.polite = True
            said = request.stopped(stopped)
            await client.refuse(request.about.status, said)
            if not self.inspected:
                raise
            return False
        finally:
            if self.inspected:
                self._moved = (self.stream.taken, self.stream.given)
            request.note(self.stream.taken - sent, self.stream.given - received)

    async def _switched(self, client: DownstreamClient, response: HttpResponse) -> None:
        assert response.upgraded is not None
        host, rest = response.upgraded
        host.put_back(rest)
        await client.switch(response)
        self.deadline = float("inf")
        try:
            await relay(self.stream, host, self.gate.pipes)
        finally:
            host.close()

    async def _tunnel(self, client: DownstreamClient, raw: bytes, head: RequestHead) -> bool:
        """A granted host as a proxy: inside its tunnel the same is asked of its other end."""
        name, _, port = head.target.rpartition(":")
        name = normal(name)
        allowed = port.isascii() and port.isdigit() and len(port) < 6
        if not allowed or not destinations.granted(self.gate.reach, name, int(port)):
            raise RequestRefused(OTHER_NAME)
        client.begin(raw, head)
        response = await self.upstream.ask(
            HttpRequest(
                method="CONNECT",
                scheme="http",
                host=name,
                port=int(port),
                target=f"{name}:{int(port)}",
                headers=((b"host", f"{name}:{int(port)}".encode()),),
                body=downstream.nothing(),
                inform=client.inform,
            )
        )
        if response.upgraded is None:
            return await client.answer(response, head.method)
        host, rest = response.upgraded
        host.put_back(rest)
        await client.switch(response)
        self.name, self.port, self.web_only = name, int(port), True
        self.rules = destinations.rules_for(self.gate.reach, name, int(port))
        try:
            found = await begins(self)
            if found.speaks is SpokenProtocol.TLS:
                await self._pass_on(host)
                return False
        except BaseException:
            host.close()
            raise
        self.upstream.adopt(host)
        while await self._request(DownstreamClient(self.stream, self.patience)):
            continue
        return False

    def note(self, about: Connection, began: float, *, why: str = "") -> None:
        """Keeps what became of the connection as a whole."""
        moved, self._moved = self._moved, (self.stream.taken, self.stream.given)
        self._noted = True
        self.gate.note(
            replace(
                about,
                allowed=about.allowed and not why,
                why=why,
                sent=self.stream.taken - moved[0],
                received=self.stream.given - moved[1],
                seconds=time.monotonic() - began,
            )
        )

    def noted(self) -> None:
        """Says that requests on it are noted, and the connection is not again."""
        self._noted = True


def _is_distrust(error: ssl.SSLError) -> bool:
    """Whether a client has said that it does not know who signed our certificate."""
    reason = (error.reason or "").upper()
    return "ALERT" in reason and any(word in reason for word in ("UNKNOWN_CA", "CERTIFICATE"))
