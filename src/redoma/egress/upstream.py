"""The host's side of a connection: dials it, checks who it is, and asks it in HTTP/1."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from functools import partial

import h11

from redoma.egress.async_streams import SocketStream, TlsStream
from redoma.egress.dial import dialled
from redoma.egress.exchange import HttpResponse, UpstreamFailed
from redoma.model.network import BROKEN, CERTIFICATE, UNREACHABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from redoma.egress.async_streams import Readiness
    from redoma.egress.downstream import Patience
    from redoma.egress.exchange import Headers, HttpRequest, RequestBody

_HANDSHAKE_SECONDS = 20.0
# A host may think for minutes before it says the next thing.
ANSWER_SECONDS = 900.0
_LARGEST_HEAD = 1 << 18
# About one connection, and so not about the one behind it.
_OF_ONE_CONNECTION = frozenset(
    b"connection keep-alive proxy-connection te trailer transfer-encoding upgrade"
    b" http2-settings".split()
)
_NEVER_DROPPED = frozenset((b"host", b"content-length", b"authorization"))
_WITHOUT_BODY = (204, 304)
_ASKED_TWICE = frozenset(("GET", "HEAD", "OPTIONS"))


def end_to_end(fields: Headers) -> Headers:
    """The headers that are for whoever is at the other end."""
    named = {
        word.strip().lower()
        for name, value in fields
        if name == b"connection"
        for word in value.split(b",")
    }
    dropped = _OF_ONE_CONNECTION | (named - _NEVER_DROPPED)
    return tuple((name, value) for name, value in fields if name not in dropped)


def trust(*protocols: str) -> ssl.SSLContext:
    """Whom the gate itself trusts: whoever programs of the caller trust, and nobody else."""
    from redoma.egress import trust_store

    context = trust_store.trust()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols([*protocols, "http/1.1"])
    return context


# What the host of a name gave for taking its connection up again, by the context that checked it.
TlsSessions = dict[tuple[str, ssl.SSLContext], ssl.SSLSession | None]


class Upstream:
    """The host behind one connection of a command; dialled when it is first needed."""

    def __init__(
        self,
        name: str,
        places: list[tuple[str, int]],
        readiness: Readiness,
        context: ssl.SSLContext | None = None,
        patience: Patience = lambda _: None,
        sessions: TlsSessions | None = None,
    ) -> None:
        self.name = name
        # Where it was reached in the end.
        self.address = ""
        self.places = places
        self._readiness = readiness
        self._context = context
        self._patience = patience
        self._sessions: TlsSessions = {} if sessions is None else sessions
        # A connection that the next request may use, and which rule the last one was granted by.
        self._stream: SocketStream | None = None
        self._rule = ""
        # What is under way: the connection, and the task that sends a body over it.
        self._busy: tuple[SocketStream, asyncio.Task[None] | None] | None = None
        # A connection that is being made before anybody needs it.
        self._ahead: asyncio.Task[SocketStream] | None = None

    def adopt(self, stream: SocketStream) -> None:
        """Has the first request go over a connection that is there already."""
        if self._stream is not None and self._stream is not stream:
            self._stream.close()
        self._stream = stream
        self._rule = ""

    def use(self, context: ssl.SSLContext) -> None:
        """Has whatever is dialled from here on speak TLS in this way."""
        self._context = context

    def connect_ahead(self, below: SocketStream | None = None) -> None:
        """Begins to connect, over a connection without TLS where there is one already.

        The host agrees on keys while the client does: each waits for the other's processor.
        """
        self._ahead = self._readiness.loop.create_task(self._secured(below))
        self._ahead.add_done_callback(partial(_looked_at, below))

    async def plain(self) -> SocketStream:
        """A connection to the host, without TLS; Failed where nobody answers."""
        sock, self.address = await dialled(self.places, self._readiness)
        return SocketStream(sock, self._readiness)

    async def connected(self) -> SocketStream:
        """A connection to the host, which is who it says; Failed where there is none."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            return await ahead
        return await self._secured(None)

    async def _secured(self, below: SocketStream | None) -> SocketStream:
        below = below or await self.plain()
        if self._context is None:
            return below
        session = self._sessions.get((self.name, self._context))
        made = TlsStream(below, self._context, server_hostname=self.name, session=session)
        try:
            async with asyncio.timeout(_HANDSHAKE_SECONDS):
                await made.handshake()
        except ssl.SSLCertVerificationError as error:
            below.close()
            raise UpstreamFailed(f"{CERTIFICATE}: {error.verify_message}") from error
        except (OSError, TimeoutError) as error:
            below.close()
            raise UpstreamFailed(UNREACHABLE) from error
        except BaseException:
            below.close()
            raise
        return made

    async def ask(self, request: HttpRequest) -> HttpResponse:
        """The host's answer, its body still to come."""
        if self._ahead is not None:
            self.adopt(await self.connected())
        reused, self._stream = self._stream, None
        # Attack: what a host left unread of one request begins the next one. So two requests that
        # were granted by different rules never share a connection.
        if reused is not None and (not reused.silent or self._rule not in ("", request.rule)):
            reused.close()
            reused = None
        self._rule = request.rule
        if reused is not None:
            try:
                return await self._asked(reused, request)
            except _Gone:
                # It was closed for having been idle, as hosts do, before it read the request.
                if not request.body.empty or request.method not in _ASKED_TWICE:
                    raise UpstreamFailed(BROKEN) from None
        try:
            return await self._asked(await self.connected(), request)
        except _Gone as error:
            raise UpstreamFailed(BROKEN) from error

    async def _asked(self, stream: SocketStream, request: HttpRequest) -> HttpResponse:
        connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LARGEST_HEAD)
        upload: asyncio.Task[None] | None = None
        try:
            head = h11.Request(
                method=request.method, target=request.target, headers=_outgoing(request)
            )
            try:
                await stream.write(connection.send(head) or b"")
                if request.body.empty:
                    await stream.write(connection.send(h11.EndOfMessage()) or b"")
            except OSError as error:
                raise _Gone from error
            if not request.body.empty:
                upload = asyncio.create_task(_upload(connection, stream, request.body))
            while True:
                event = await self._next(connection, stream)
                if isinstance(event, h11.InformationalResponse):
                    if event.status_code == 101 and request.upgrade:
                        rest = connection.trailing_data[0]
                        return HttpResponse(
                            status=101,
                            reason=event.reason,
                            headers=_kept(event.headers),
                            upgraded=(stream, rest),
                        )
                    await request.inform(event.status_code, end_to_end(_kept(event.headers)))
                elif isinstance(event, h11.Response):
                    if connection.their_state is h11.SWITCHED_PROTOCOL:  # a tunnel
                        return HttpResponse(
                            status=event.status_code,
                            reason=event.reason,
                            upgraded=(stream, connection.trailing_data[0]),
                        )
                    break
                else:
                    raise _Gone if request.body.empty else UpstreamFailed(BROKEN)
        except h11.ProtocolError as error:
            await _abandon(stream, upload)
            raise UpstreamFailed(BROKEN) from error
        except BaseException:
            await _abandon(stream, upload)
            raise
        self._busy = (stream, upload)
        if isinstance(stream, TlsStream):
            # The next connection resumes this one's keys, for a host that has shown who it is.
            self._sessions[self.name, stream.context] = stream.session
        return HttpResponse(
            status=event.status_code,
            reason=event.reason,
            headers=end_to_end(_kept(event.headers)),
            body=self._download(connection, stream, upload, _length(request.method, event)),
        )

    async def _download(
        self,
        connection: h11.Connection,
        stream: SocketStream,
        upload: asyncio.Task[None] | None,
        length: int | None,
    ) -> AsyncIterator[bytes]:
        """A body as it comes; where its length is known nothing in it is looked for, or copied."""
        try:
            if length is not None:
                piece = connection.trailing_data[0]
                while length:
                    piece = piece or await self._read(stream)
                    taken, piece = piece[:length], piece[length:]
                    if not taken:
                        raise UpstreamFailed(BROKEN)
                    length -= len(taken)
                    yield taken
                # What comes after its end is nobody's; whoever was sent a body is not asked again.
                over = connection.their_state is h11.SEND_BODY and upload is None and not piece
            else:
                while not isinstance(
                    event := await self._next(connection, stream), h11.EndOfMessage
                ):
                    if not isinstance(event, h11.Data):
                        raise UpstreamFailed(BROKEN)
                    yield bytes(event.data)
                # A host that answers before it has heard everything is not asked again.
                done = connection.our_state is h11.DONE and connection.their_state is h11.DONE
                over = done and not connection.trailing_data[0] and (not upload or upload.done())
        except (h11.ProtocolError, OSError) as error:
            await _abandon(stream, upload)
            raise UpstreamFailed(BROKEN) from error
        except BaseException:
            await _abandon(stream, upload)
            raise
        self._busy = None
        if over:
            self._stream = stream
        else:
            await _abandon(stream, upload)

    async def _read(self, stream: SocketStream) -> bytes:
        self._patience(ANSWER_SECONDS)
        return await stream.read()

    async def _next(self, connection: h11.Connection, stream: SocketStream) -> object:
        while (event := connection.next_event()) is h11.NEED_DATA:
            data = await self._read(stream)
            try:
                connection.receive_data(data)
            except RuntimeError as error:  # more after its end
                raise UpstreamFailed(BROKEN) from error
        return event

    async def close(self) -> None:
        """Lets the host go, also in the middle of an answer that nobody takes any more."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            ahead.add_done_callback(_unused)
            ahead.cancel()
        busy, self._busy = self._busy, None
        if busy is not None:
            await _abandon(*busy)
        if self._stream is not None:
            self._stream.close()
            self._stream = None


class _Gone(Exception):
    """A host closed the connection before it said anything."""


def _length(method: str, answer: h11.Response) -> int | None:
    """How long the body of an answer is, where its head alone says that; `h11` has read it.

    None also where the host ends the connection behind it, and where there is no body.
    """
    found = dict(answer.headers)
    length = found.get(b"content-length")
    if length is None or method == "HEAD" or answer.status_code in _WITHOUT_BODY:
        return None
    stays = answer.http_version == b"1.1"
    stays = stays and found.get(b"connection", b"keep-alive").lower() == b"keep-alive"
    return int(length) if stays and b"transfer-encoding" not in found else None


def _kept(headers: h11._headers.Headers) -> Headers:
    return tuple((bytes(name), bytes(value)) for name, value in headers)


def _outgoing(request: HttpRequest) -> list[tuple[bytes, bytes]]:
    made = list(request.headers)
    if request.upgrade:
        made += [(b"connection", b"Upgrade"), (b"upgrade", b"websocket")]
    elif not request.body.empty:
        # Attack: a host that ignores the body takes it for the next request. It is told to expect
        # none: the connection is over with the answer.
        made.append((b"connection", b"close"))
        if request.header(b"content-length") is None:
            made.append((b"transfer-encoding", b"chunked"))
    return made


async def _upload(connection: h11.Connection, stream: SocketStream, body: RequestBody) -> None:
    try:
        async for piece in body:
            await _write(connection, stream, h11.Data(data=piece))
        await _write(connection, stream, h11.EndOfMessage())
    except OSError:
        return  # the host has heard enough: what it answers is read all the same
    except BaseException:
        stream.abort()  # Attack: a body that breaks off would be taken for a whole one
        raise


async def _write(connection: h11.Connection, stream: SocketStream, event: h11.Event) -> None:
    for part in connection.send_with_data_passthrough(event) or ():
        await stream.write(part)


async def _abandon(stream: SocketStream, upload: asyncio.Task[None] | None) -> None:
    stream.close()
    if upload is not None:
        upload.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await upload


def _looked_at(below: SocketStream | None, task: asyncio.Task[SocketStream]) -> None:
    """Has a failure wait for whoever needs the connection, and be no fault where nobody does."""
    if (task.cancelled() or task.exception() is not None) and below is not None:
        below.close()  # also where the task never began


def _unused(task: asyncio.Task[SocketStream]) -> None:
    """Closes a connection that was made ahead for nothing."""
    if not task.cancelled() and task.exception() is None:
        task.result().close()
