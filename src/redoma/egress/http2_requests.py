"""HTTP/2 where requests are read: each stream is one request, judged like any other.

Nothing is translated: a client that offers HTTP/2 gets it where its host speaks that as well, so
that what depends on it (gRPC) finds trailers and streams in both directions.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import aclosing, suppress
from urllib.parse import quote

from h2.errors import ErrorCodes

from redoma.egress import downstream
from redoma.egress.async_streams import TlsStream
from redoma.egress.exchange import ExchangeStopped, RequestBody, UpstreamFailed
from redoma.egress.http2 import GRPC, Http2Peer
from redoma.egress.judged_request import JudgedRequest
from redoma.model.network import BROKEN, UNREADABLE
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.egress.async_streams import SocketStream
    from redoma.egress.connection import GatedConnection
    from redoma.egress.downstream import Patience, RequestHead
    from redoma.egress.exchange import Headers, HttpRequest, HttpResponse
    from redoma.egress.http2 import Http2Stream
    from redoma.egress.upstream import Upstream

_LINE_BREAKS = re.compile(rb"[\r\n\0]")
_PERMISSION_DENIED, _UNAVAILABLE = b"7", b"14"


class Http2Upstream:
    """A host that speaks HTTP/2; a connection for each rule that grants requests to it."""

    def __init__(self, below: Upstream, first: SocketStream | None, patience: Patience) -> None:
        self._below = below
        self._first = first
        self._patience = patience
        self._peers: dict[str, tuple[Http2Peer, asyncio.Task[None], SocketStream]] = {}
        self._dialling = asyncio.Lock()

    async def ask(self, request: HttpRequest) -> HttpResponse:
        """The host's answer, its body still to come."""
        async with self._dialling:
            known = self._peers.get(request.rule)
            if known is None or known[0].closed:
                if known is not None:
                    known[2].close()
                known = self._peers[request.rule] = await self._dialled()
        return await known[0].ask(request)

    async def _dialled(self) -> tuple[Http2Peer, asyncio.Task[None], SocketStream]:
        stream, self._first = self._first, None
        if stream is None:
            stream = await self._below.connected()
        if isinstance(stream, TlsStream) and stream.protocol != "h2":
            stream.close()
            raise UpstreamFailed(BROKEN)
        peer = Http2Peer(stream, self._patience)
        return peer, asyncio.create_task(_quietly(peer)), stream

    async def close(self) -> None:
        """Lets the host go."""
        for _, task, stream in self._peers.values():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            stream.close()
        if self._first is not None:
            self._first.close()
        await self._below.close()


async def _quietly(peer: Http2Peer) -> None:
    with suppress(OSError):
        await peer.run()


async def serve(connection: GatedConnection, host: SocketStream | None) -> None:
    """Answers every request on a client's connection until that is over."""
    upstream = Http2Upstream(connection.upstream, host, connection.patience)
    under_way: set[asyncio.Task[None]] = set()
    failed: list[BaseException] = []

    def asked(stream: Http2Stream, fields: Headers) -> None:
        task = asyncio.create_task(_answer(connection, upstream, client, stream, fields))
        under_way.add(task)
        task.add_done_callback(ended)

    def ended(task: asyncio.Task[None]) -> None:
        under_way.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            failed.append(error)

    client = Http2Peer(connection.stream, connection.patience, asked)
    try:
        await client.run()
    finally:
        for task in list(under_way):
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        await upstream.close()
    if failed:
        raise failed[0]


async def _answer(
    connection: GatedConnection,
    upstream: Http2Upstream,
    client: Http2Peer,
    stream: Http2Stream,
    fields: Headers,
) -> None:
    head = _read(fields, connection, bodiless=stream.bodiless)
    number = stream.number

    async def inform(status: int, headers: Headers) -> None:
        if status != 100:  # it is not waited for here
            await client.headers(number, with_status(status, headers), last=False)

    request = JudgedRequest(connection, head, inform, upstream.ask)
    given, answering = [0], False
    try:
        body = RequestBody(stream.pieces(), _nothing, empty=stream.bodiless)
        response = await request.response(body)
        answering = True
        await _sent(client, number, response, head.method, given)
    except ExchangeStopped as stopped:
        said = request.stopped(stopped)
        if answering:
            await client.reset(number, ErrorCodes.INTERNAL_ERROR)
        else:
            with suppress(OSError):
                await _refused(client, number, fields, request.about.status, said)
    except OSError:
        await client.reset(number)
    finally:
        client.forget(number)
        request.note(stream.moved, given[0])


async def _sent(
    client: Http2Peer, number: int, response: HttpResponse, method: str, given: list[int]
) -> None:
    head = with_status(response.status, response.headers)
    if response.body == b"" or (isinstance(response.body, bytes) and method == "HEAD"):
        await client.headers(number, head, last=True)
        return
    await client.headers(number, head, last=False)
    if isinstance(response.body, bytes):
        given[0] += len(response.body)
        await client.send(number, response.body, last=True)
        return
    async with aclosing(response.body) as pieces:  # type: ignore[type-var]
        async for piece in pieces:
            given[0] += len(piece)
            await client.send(number, piece)
    if response.trailers:
        await client.headers(number, tuple(response.trailers), last=True)
    else:
        await client.send(number, b"", last=True)


async def _refused(client: Http2Peer, number: int, fields: Headers, status: int, said: str) -> None:
    """Answers in place of the host, in the words of whoever asks: gRPC has a status of its own."""
    if dict(fields).get(b"content-type", b"").startswith(GRPC):
        code = _UNAVAILABLE if status == 502 else _PERMISSION_DENIED
        told = quote(f"redoma: {said}", safe=" !#$&'()*+,-./:;<=>?@[]^_`{|}~")
        grpc = ((b"content-type", GRPC), (b"grpc-status", code), (b"grpc-message", told.encode()))
        await client.headers(number, with_status(200, grpc), last=True)
        return
    text = ((b"content-type", b"text/plain; charset=utf-8"),)
    await client.headers(number, with_status(status, text), last=False)
    await client.send(number, f"redoma: {said}\n".encode(), last=True)


def _read(fields: Headers, connection: GatedConnection, *, bodiless: bool) -> RequestHead:
    """The request that these fields ask for, as the one strict reader of requests reads it."""
    pseudo = {name: value for name, value in fields if name.startswith(b":")}
    others = [(name, value) for name, value in fields if not name.startswith(b":")]
    method, target = pseudo.get(b":method", b""), pseudo.get(b":path", b"")
    authority = pseudo.get(b":authority")
    hosts = [value for name, value in others if name == b"host"]
    # Attack: a break inside a value, which is one more header to whoever writes HTTP/1 from it.
    broken = any(_LINE_BREAKS.search(part) for field in fields for part in field)
    if broken or (hosts and authority is not None and hosts != [authority]):
        return downstream.RequestHead(refusal=UNREADABLE)
    if pseudo.get(b":scheme", b"") != connection.scheme.encode() and method != b"CONNECT":
        return downstream.RequestHead(refusal=UNREADABLE)
    lines = [b"%s %s HTTP/1.1" % (method, target or b"/")]
    if authority is not None:
        others = [(b"host", authority), *(each for each in others if each[0] != b"host")]
    lines += [b"%s: %s" % each for each in others]
    about = connection.about
    head = downstream.read(b"\r\n".join(lines), about.name, about.port, connection.scheme)
    if head.refusal or head.chunked:
        return head if head.refusal else downstream.RequestHead(refusal=UNREADABLE)
    return replace(head, chunked=not bodiless and not head.length)


def with_status(status: int, headers: Headers) -> Headers:
    return ((b":status", str(status).encode()), *headers)


async def _nothing() -> None:
    return
