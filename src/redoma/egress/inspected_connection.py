"""One inspected connection: what its client speaks, and each request judged, answered and noted."""

from __future__ import annotations

import asyncio
import ssl
import time
from contextlib import suppress
from enum import Enum

import h11

from redoma.egress import downstream, guard, request_paths, tls_hello
from redoma.egress.async_streams import SocketStream, TlsStream, either_readable, relay
from redoma.egress.downstream import DownstreamClient
from redoma.egress.exchange import (
    ExchangeStopped,
    HttpRequest,
    RequestRefused,
    UpstreamFailed,
    chained,
)
from redoma.egress.hosts import normal
from redoma.egress.upstream import Upstream, end_to_end
from redoma.model.network import (
    BROKEN,
    HIDDEN_NAME,
    HTTP_2,
    IN_THE_CLEAR,
    NO_NAME,
    NOT_HTTP,
    NOT_MOCKED,
    NOT_TRUSTED,
    OTHER_NAME,
    OVERRIDDEN,
    UNREADABLE,
    Connection,
)
from redoma.model.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket

    from redoma.egress.async_streams import SocketStream
    from redoma.egress.exchange import RequestBody
    from redoma.egress.inspector import Inspector
    from redoma.egress.upstream import Upstream
    from redoma.model.network import HostRule

_HANDSHAKE_SECONDS = 20.0
_SPEAKS_WITHIN = 2.0
_NO_HTTP = frozenset((UNREADABLE, NOT_HTTP, HTTP_2))
_SOON = 1.0


class InspectedConnection:
    """A client's connection to one host, and the requests on it."""

    def __init__(
        self,
        inspector: Inspector,
        client: socket,
        about: Connection,
        rules: list[HostRule],
        places: list[tuple[str, int]],
        *,
        web_only: bool,
    ) -> None:
        self._inspector = inspector
        self._about = about
        self._rules = rules
        # What is granted by request has to be requests.
        by_request = any(rule.by_request for rule in rules)
        self._web_only = web_only or by_request or inspector.mocks
        self._stream = SocketStream(client, inspector.count)
        self._scheme = "http"
        self._upstream = Upstream(about.name, places, None)
        self._began = time.monotonic()
        self._noted = False
        # What was moved when something was last noted: sent by the client, and to it.
        self._moved = (0, 0)

    async def serve(self) -> None:
        """Everything until the connection is over; how it went is noted."""
        why = ""
        try:
            await self._serve()
        except ssl.SSLError as error:
            why = NOT_TRUSTED if _is_distrust(error) else ""
        except ExchangeStopped as stopped:
            why = stopped.why
        except (OSError, h11.ProtocolError):
            pass  # one of both went away
        finally:
            await self._upstream.close()
            self._stream.close()
        if why or not self._noted:
            self._note(self._about, self._began, why=why)

    async def _serve(self) -> None:
        found = await self._begins()
        if found.speaks is SpokenProtocol.TLS:
            if found.host is not None:
                found.host.close()  # it is dialled anew, and has to say who it is
            await self._open_tls()
            found = await self._begins(in_tls=True)
        if found.speaks is SpokenProtocol.OTHER:
            assert found.host is not None
            await self._pass_on(found.host)
        elif found.speaks is SpokenProtocol.HTTP:
            if found.host is not None:
                self._upstream.adopt(found.host)
            client = DownstreamClient(self._stream)
            while await self._request(client):
                continue
        elif found.host is not None:
            found.host.close()

    async def _begins(self, *, in_tls: bool = False) -> ConnectionStart:
        found = begins(self._stream, self._upstream, web_only=self._web_only, in_tls=in_tls)
        if not self._inspector.mocks:
            return await found
        try:
            # A client that waits for its host to speak first would wait for ever.
            return await asyncio.wait_for(found, _SPEAKS_WITHIN)
        except TimeoutError:
            raise RequestRefused(NOT_MOCKED) from None
        except RequestRefused as refused:
            raise RequestRefused(
                NOT_MOCKED if refused.why in _NO_HTTP else refused.why
            ) from refused

    async def _pass_on(self, host: SocketStream) -> None:
        """Another protocol, on a port that was granted by its number."""
        try:
            await relay(self._stream, host)
        finally:
            host.close()
            about = replace(self._about, address=self._upstream.address)
            self._note(about, self._began)

    async def _open_tls(self) -> None:
        """Speaks TLS in the host's name with the client, and in the client's with the host."""
        name = self._about.name
        secure = TlsStream(self._stream, self._inspector.authority.context(name))
        self._stream, self._scheme = secure, "https"
        await asyncio.wait_for(secure.handshake(), _HANDSHAKE_SECONDS)
        places = self._upstream.places
        self._upstream = Upstream(name, places, self._inspector.trust())

    async def _request(self, client: DownstreamClient) -> bool:
        """Reads, judges and answers the next request; whether there may be another."""
        raw = await client.next_head()
        if raw is None:
            return False
        began = time.monotonic()
        head = downstream.read(raw, self._about.name, self._about.port, self._scheme)
        about = replace(
            self._about,
            kind=self._scheme,
            rule="",
            method=head.method,
            path=request_paths.shown(head.target),
        )
        self._inspector.ledger.request()
        status, why = 0, ""
        try:
            about = replace(about, rule=self._judged(head).text)
            request = self._made(head, client, client.begin(raw, head))
            forward = chained(self._inspector.handlers, self._upstream.ask)
            response = await forward(request)
            status = response.status
            about = replace(about, by=response.by)
            if response.asked is not None:
                about = replace(
                    about,
                    headers=response.asked.headers,
                    body_size=response.asked.size,
                    body_digest=response.asked.digest,
                )
            if response.upgraded is None:
                return await client.answer(response, head.method)
            host, rest = response.upgraded
            host.put_back(rest)
            await client.switch(response)
            try:
                await relay(self._stream, host)
            finally:
                host.close()
            return False
        except ExchangeStopped as stopped:
            why = stopped.why
            about = replace(about, allowed=False, why=why, listed=self._inspector.listed)
            told = 502 if isinstance(stopped, UpstreamFailed) else 403
            status = await client.refuse(told, _explained(about)) or status
            return False
        finally:
            address = self._upstream.address or self._about.address
            about = replace(about, status=status, address=address)
            self._note(about, began, why=why)

    def _judged(self, head: downstream.RequestHead) -> HostRule:
        """The rule that grants a request; Refused where none does."""
        if head.refusal:
            raise RequestRefused(head.refusal)
        if self._scheme == "http" and self._inspector.has_credential(self._about.name):
            raise RequestRefused(IN_THE_CLEAR)
        rule, why = request_paths.granting(self._rules, head.method, head.target)
        if rule is None:
            raise RequestRefused(why)
        if rule.by_request and request_paths.overridden(head.fields):
            raise RequestRefused(OVERRIDDEN)
        return rule

    def _made(
        self, head: downstream.RequestHead, client: DownstreamClient, body: RequestBody
    ) -> HttpRequest:
        upgrades = [value.lower() for name, value in head.fields if name == b"upgrade"]
        return HttpRequest(
            method=head.method,
            scheme=self._scheme,
            host=self._about.name or self._about.address,
            port=self._about.port,
            target=head.target,
            headers=end_to_end(head.fields),
            body=body,
            inform=client.inform,
            upgrade=upgrades == [b"websocket"] and head.method == "GET" and body.empty,
        )

    def _note(self, about: Connection, began: float, *, why: str = "") -> None:
        moved, self._moved = self._moved, (self._stream.taken, self._stream.given)
        self._noted = True
        if why:
            about = replace(about, allowed=False, why=why)
        self._inspector.note(
            replace(
                about,
                sent=self._stream.taken - moved[0],
                received=self._stream.given - moved[1],
                seconds=time.monotonic() - began,
            )
        )


def _explained(about: Connection) -> str:
    """What a program is told instead of an answer."""
    asked = f"{about.method} {about.target}{about.path}" if about.method else about.target
    said = f"{asked}: {about.why}"
    return f"{said}; it needs a grant of {about.grant}" if about.grant else said


def _is_distrust(error: ssl.SSLError) -> bool:
    """Whether a client has said that it does not know who signed our certificate."""
    reason = (error.reason or "").upper()
    return "ALERT" in reason and any(word in reason for word in ("UNKNOWN_CA", "CERTIFICATE"))


class SpokenProtocol(Enum):
    """What a connection is."""

    TLS = "tls"
    HTTP = "http"
    OTHER = "other"
    NOTHING = "nothing"


class ConnectionStart(Value):
    """What is spoken; a connection to the host where one had to be made to find out."""

    speaks: SpokenProtocol
    host: SocketStream | None = None


async def begins(
    client: SocketStream, upstream: Upstream, *, web_only: bool, in_tls: bool = False
) -> ConnectionStart:
    """What a client begins with; everything that was read is there to be read again.

    Where only the web is granted, anything else is Refused. On a port that was granted by its
    number the host may speak first, and then it is neither TLS nor HTTP.
    """
    host, failed = None, None
    held = b""
    try:
        if web_only:
            first: bytes | None = await client.read()
        else:
            try:
                host = await upstream.connected()
                first = await _first_word(client, host)
            except UpstreamFailed as error:
                # A client that asks something is told why it gets no answer.
                failed = error
                first = await _soon(client, error)
        if first is None:
            return ConnectionStart(speaks=SpokenProtocol.OTHER, host=host)
        held = first
        while first:
            speaks = _speaks(held, upstream.name, web_only=web_only, in_tls=in_tls)
            if speaks is not None:
                if failed is not None and speaks is SpokenProtocol.OTHER:
                    raise failed
                client.put_back(held)
                return ConnectionStart(speaks=speaks, host=host)
            first = await client.read()
            held += first
        client.put_back(held)
        kind = SpokenProtocol.OTHER if held and host is not None else SpokenProtocol.NOTHING
        return ConnectionStart(speaks=kind, host=host)
    except BaseException as error:
        if host is not None:
            host.close()
        if isinstance(error, RequestRefused) and not in_tls and held[:1] == b"\x16":
            with suppress(OSError):
                await client.write(tls_hello.UNRECOGNISED_NAME)
        raise


async def _soon(client: SocketStream, failed: UpstreamFailed) -> bytes:
    """What a client says without having heard anything; one that waits learns that it failed."""
    try:
        return await asyncio.wait_for(client.read(), _SOON)
    except TimeoutError:
        raise failed from None


async def _first_word(client: SocketStream, host: SocketStream) -> bytes | None:
    """What the client says before the host says anything; None where the host was first."""
    while True:
        said = host.poll()
        # Attack: a client that waits until its host gives up on it (408) would be unread after.
        if said is not None and said.startswith(b"HTTP/"):
            raise UpstreamFailed(BROKEN)
        if said:
            host.put_back(said)
            return None
        heard = b"" if said is not None else client.poll()
        if heard is not None:
            return heard
        await either_readable(client, host)


def _speaks(held: bytes, name: str, *, web_only: bool, in_tls: bool) -> SpokenProtocol | None:
    """What this is the beginning of; None where that cannot be said yet."""
    if held[:1] == b"\x16" and not in_tls:
        hello = tls_hello.read(held)
        if not hello.complete:
            return None
        if hello.unreadable and not web_only and held[1:2] != b"\x03":
            return SpokenProtocol.OTHER
        refusal = _refusal(hello, name)
        if refusal:
            raise RequestRefused(refusal)
        return SpokenProtocol.TLS
    if downstream.PREFACE.startswith(held[: len(downstream.PREFACE)]):
        if len(held) >= len(downstream.PREFACE):
            raise RequestRefused(HTTP_2)
        return None
    like_http = guard.looks_like(held)
    if like_http:
        return SpokenProtocol.HTTP
    if like_http is None and len(held) <= guard.LARGEST_LINE:
        return None
    if web_only:
        raise RequestRefused(NOT_HTTP if in_tls else UNREADABLE)
    return SpokenProtocol.OTHER


def _refusal(hello: tls_hello.ClientHello, name: str) -> str:
    if hello.unreadable:
        return UNREADABLE
    if hello.hidden_name:
        return HIDDEN_NAME
    if not hello.name:
        return NO_NAME
    return "" if normal(hello.name) == name else OTHER_NAME
