"""A connection of HTTP/2: its streams, what may be under way on each, and what is asked on it."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import aclosing, suppress

import h2.config
import h2.connection
import h2.events
import h2.exceptions
from h2.errors import ErrorCodes
from h2.settings import SettingCodes

from redoma.egress import downstream
from redoma.egress.async_streams import settle
from redoma.egress.exchange import ExchangeStopped, HttpResponse, UpstreamFailed
from redoma.egress.upstream import ANSWER_SECONDS
from redoma.model.network import BROKEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from redoma.egress.async_streams import SocketStream
    from redoma.egress.downstream import Patience
    from redoma.egress.exchange import Headers, HttpRequest, RequestBody

# What may be under way to us: of one stream, and of all streams of a connection together.
_STREAM_WINDOW, _WINDOW = 1 << 18, 1 << 20
_USUAL_WINDOW = (1 << 16) - 1
GRPC = b"application/grpc"


class Http2Stream:
    """One request and its answer on a connection of HTTP/2."""

    def __init__(self, peer: Http2Peer, number: int) -> None:
        self.peer = peer
        self.number = number
        # What the host says first, and whether that is all.
        self.head: Headers | None = None
        self.bodiless = False
        self.trailers: list[tuple[bytes, bytes]] = []
        self.early: deque[tuple[int, Headers]] = deque()
        self.ended = self.broken = False
        self.moved = 0
        self._pieces: deque[tuple[bytes, int]] = deque()

    def put(self, data: bytes, size: int) -> None:
        """Keeps what has come until somebody takes it; the other side waits for that."""
        self._pieces.append((data, size))

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes; a stream that breaks off is an OSError."""
        try:
            while True:
                while self._pieces:
                    data, size = self._pieces.popleft()
                    self.moved += len(data)
                    await self.peer.taken(self.number, size)
                    if data:
                        yield data
                if self.broken:
                    raise ConnectionResetError
                if self.ended:
                    return
                await self.peer.changed()
        finally:
            if not self.ended:
                await self.peer.reset(self.number)


class Http2Peer:
    """A connection of HTTP/2 to somebody: a client of ours, or a host."""

    def __init__(
        self,
        stream: SocketStream,
        patience: Patience,
        asked: Callable[[Http2Stream, Headers], None] | None = None,
    ) -> None:
        """`asked` hears of each request; who gives none asks requests of its own."""
        config = h2.config.H2Configuration(client_side=asked is None, header_encoding=None)
        self.connection = h2.connection.H2Connection(config)
        self.connection.initiate_connection()
        self.connection.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: _STREAM_WINDOW})
        self.connection.increment_flow_control_window(_WINDOW - _USUAL_WINDOW)
        self.closed = False
        self._stream = stream
        self._patience = patience
        self._asked = asked
        self._streams: dict[int, Http2Stream] = {}
        self._waiting: list[asyncio.Future[None]] = []
        self._writing = asyncio.Lock()

    async def run(self) -> None:
        """Reads what comes until the connection is over."""
        try:
            await self.flush()
            while True:
                self._patience(ANSWER_SECONDS if self._streams else downstream.IDLE_SECONDS)
                data = await self._stream.read()
                if not data:
                    return
                try:
                    for event in self.connection.receive_data(data):
                        self._happened(event)
                except h2.exceptions.ProtocolError:
                    return
                finally:
                    await self.flush()
                    self._wake()
                if self.closed:
                    return
        finally:
            self.closed = True
            for stream in self._streams.values():
                stream.broken = stream.broken or not stream.ended
            self._wake()

    def _happened(self, event: object) -> None:
        stream = self._streams.get(getattr(event, "stream_id", 0) or 0)
        if isinstance(event, h2.events.RequestReceived) and self._asked is not None:
            stream = Http2Stream(self, event.stream_id)
            self._streams[event.stream_id] = stream
            stream.ended = stream.bodiless = event.stream_ended is not None
            self._asked(stream, _plain(event.headers))
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.closed = True
        elif stream is None:
            return
        elif isinstance(event, h2.events.DataReceived):
            stream.put(event.data, event.flow_controlled_length)
        elif isinstance(event, h2.events.ResponseReceived):
            stream.head, stream.bodiless = _plain(event.headers), event.stream_ended is not None
        elif isinstance(event, h2.events.InformationalResponseReceived):
            status, headers = _answered(_plain(event.headers))
            stream.early.append((status, headers))
        elif isinstance(event, h2.events.TrailersReceived):
            stream.trailers.extend(_plain(event.headers))
        elif isinstance(event, h2.events.StreamEnded):
            stream.ended = True
        elif isinstance(event, h2.events.StreamReset):
            stream.broken = True

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            settle(each)

    async def changed(self) -> None:
        """Waits until something has come; an OSError where nothing can any more."""
        if self.closed:
            raise ConnectionResetError
        future: asyncio.Future[None] = self._stream.readiness.loop.create_future()
        self._waiting.append(future)
        await future

    async def flush(self) -> None:
        """Sends what is to be sent."""
        async with self._writing:
            data = self.connection.data_to_send()
            if data:
                await self._stream.write(data)

    async def taken(self, number: int, size: int) -> None:
        """Lets the other side send as much again."""
        with suppress(h2.exceptions.ProtocolError):
            self.connection.acknowledge_received_data(size, number)
            await self.flush()

    async def reset(self, number: int, code: ErrorCodes = ErrorCodes.CANCEL) -> None:
        """Ends one stream in the middle."""
        with suppress(h2.exceptions.ProtocolError, OSError):
            self.connection.reset_stream(number, code)
            await self.flush()

    def forget(self, number: int) -> None:
        """Hears of a stream no more."""
        self._streams.pop(number, None)

    async def headers(self, number: int, fields: Headers, *, last: bool) -> None:
        """Sends a head, or what comes before or behind one."""
        try:
            self.connection.send_headers(number, list(fields), end_stream=last)
        except h2.exceptions.ProtocolError as error:
            raise ConnectionResetError from error
        await self.flush()

    async def send(self, number: int, data: bytes, *, last: bool = False) -> None:
        """Sends a piece of a body, as fast as the other side takes it."""
        view = memoryview(data)
        try:
            while view:
                room = self.connection.local_flow_control_window(number)
                room = min(room, self.connection.max_outbound_frame_size)
                if room <= 0:
                    await self.changed()
                    continue
                self.connection.send_data(number, bytes(view[:room]))
                view = view[room:]
                await self.flush()
            if last:
                self.connection.end_stream(number)
                await self.flush()
        except h2.exceptions.ProtocolError as error:
            raise ConnectionResetError from error

    async def ask(self, request: HttpRequest) -> HttpResponse:
        """The answer of the host at the other end, its body still to come."""
        try:
            while self.connection.open_outbound_streams >= (
                self.connection.remote_settings.max_concurrent_streams
            ):
                await self.changed()
            number = self.connection.get_next_available_stream_id()
            stream = self._streams[number] = Http2Stream(self, number)
            await self.headers(number, _outgoing(request), last=request.body.empty)
        except (OSError, h2.exceptions.ProtocolError) as error:
            raise UpstreamFailed(BROKEN) from error
        upload = None
        if not request.body.empty:
            upload = asyncio.create_task(self._upload(number, request.body))
        try:
            while stream.head is None:
                while stream.early:
                    await request.inform(*stream.early.popleft())
                if stream.broken:
                    raise UpstreamFailed(BROKEN)
                await self.changed()
        except BaseException as error:
            await self.reset(number)
            self._over(number, upload)
            if isinstance(error, OSError):
                raise UpstreamFailed(BROKEN) from error
            raise
        status, headers = _answered(stream.head)
        if stream.bodiless:
            self._over(number, upload)
            return HttpResponse(status=status, headers=headers)
        return HttpResponse(
            status=status,
            headers=headers,
            body=self._download(stream, upload),
            trailers=stream.trailers,
        )

    async def _download(
        self, stream: Http2Stream, upload: asyncio.Task[None] | None
    ) -> AsyncIterator[bytes]:
        try:
            async with aclosing(stream.pieces()) as pieces:  # type: ignore[type-var]
                async for piece in pieces:
                    yield piece
        except OSError as error:
            raise UpstreamFailed(BROKEN) from error
        finally:
            self._over(stream.number, upload)

    def _over(self, number: int, upload: asyncio.Task[None] | None) -> None:
        self.forget(number)
        if upload is not None:
            upload.cancel()

    async def _upload(self, number: int, body: RequestBody) -> None:
        try:
            async for piece in body:
                await self.send(number, piece)
            await self.send(number, b"", last=True)
        except OSError:
            return  # the host has heard enough, or the client has gone: its own task knows
        except ExchangeStopped:
            await self.reset(number)  # a body that breaks off is no whole one


def _outgoing(request: HttpRequest) -> Headers:
    own = request.header(b"host") or request.host.encode()
    made = [
        (b":method", request.method.encode()),
        (b":scheme", request.scheme.encode()),
        (b":authority", own),
        (b":path", request.target.encode()),
    ]
    made += [each for each in request.headers if each[0] != b"host"]
    if (request.header(b"content-type") or b"").startswith(GRPC):
        made.append((b"te", b"trailers"))
    return tuple(made)


def _plain(headers: object) -> Headers:
    assert isinstance(headers, list)
    return tuple((bytes(name), bytes(value)) for name, value in headers)


def _answered(headers: Headers) -> tuple[int, Headers]:
    status = int(dict(headers)[b":status"])
    return status, tuple(each for each in headers if not each[0].startswith(b":"))
