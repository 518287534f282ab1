"""The host's side of an inspected connection: dials it, checks who it is, and asks it."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from socket import AF_INET, AF_INET6, IPPROTO_TCP, SOCK_STREAM, TCP_NODELAY, socket

import h11

from redoma.egress.async_streams import SocketStream, TlsStream
from redoma.egress.exchange import HttpResponse, UpstreamFailed
from redoma.model.network import BROKEN, CERTIFICATE, UNREACHABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from redoma.egress.exchange import Headers, HttpRequest, RequestBody

_DIAL_SECONDS = 10.0
_HANDSHAKE_SECONDS = 20.0
_LARGEST_HEAD = 1 << 18
# About one connection, and so not about the one behind it.
_OF_ONE_CONNECTION = frozenset(
    b"connection keep-alive proxy-connection te trailer transfer-encoding upgrade"
    b" http2-settings".split()
)
_NEVER_DROPPED = frozenset((b"host", b"content-length", b"authorization"))


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


def trust() -> ssl.SSLContext:
    """Whom the gate itself trusts: whoever programs of the caller trust, and nobody else."""
    from redoma.egress import trust_store

    context = trust_store.trust()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


class Upstream:
    """The host behind one connection of a command; dialled when it is first needed."""

    def __init__(
        self, name: str, places: list[tuple[str, int]], context: ssl.SSLContext | None
    ) -> None:
        self.name = name
        # Where it was reached in the end.
        self.address = ""
        self.places = places
        self._context = context
        self._stream: SocketStream | None = None
        # What is under way: the connection, and the task that sends a body over it.
        self._busy: tuple[SocketStream, asyncio.Task[None] | None] | None = None

    def adopt(self, stream: SocketStream) -> None:
        """Has the first request go over a connection that is there already."""
        self._stream = stream

    async def _dialled(self) -> SocketStream:
        loop = asyncio.get_running_loop()
        for address, port in self.places:
            sock = socket(AF_INET6 if ":" in address else AF_INET, SOCK_STREAM)
            sock.setblocking(False)  # noqa: FBT003
            try:
                await asyncio.wait_for(loop.sock_connect(sock, (address, port)), _DIAL_SECONDS)
                sock.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
            except OSError:
                sock.close()
                continue
            except BaseException:
                sock.close()
                raise
            self.address = address
            return SocketStream(sock)
        raise UpstreamFailed(UNREACHABLE)

    async def connected(self) -> SocketStream:
        """A connection to the host, which is who it says; Failed where there is none."""
        below = await self._dialled()
        if self._context is None:
            return below
        made = TlsStream(below, self._context, server_hostname=self.name)
        try:
            await asyncio.wait_for(made.handshake(), _HANDSHAKE_SECONDS)
        except ssl.SSLCertVerificationError as error:
            below.close()
            raise UpstreamFailed(f"{CERTIFICATE}: {error.verify_message}") from error
        except OSError as error:
            below.close()
            raise UpstreamFailed(UNREACHABLE) from error
        except BaseException:
            below.close()
            raise
        return made

    async def ask(self, request: HttpRequest) -> HttpResponse:
        """The host's answer, its body still to come."""
        reused, self._stream = self._stream, None
        if reused is not None and not reused.silent:
            reused.close()
            reused = None
        if reused is not None:
            try:
                return await self._asked(reused, request)
            except _Gone:
                # It was closed for having been idle, as hosts do, before it read the request.
                if not request.body.empty:
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
                event = await _next(connection, stream)
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
        return HttpResponse(
            status=event.status_code,
            reason=event.reason,
            headers=end_to_end(_kept(event.headers)),
            body=self._download(connection, stream, upload),
        )

    async def _download(
        self, connection: h11.Connection, stream: SocketStream, upload: asyncio.Task[None] | None
    ) -> AsyncIterator[bytes]:
        try:
            while not isinstance(event := await _next(connection, stream), h11.EndOfMessage):
                if not isinstance(event, h11.Data):
                    raise UpstreamFailed(BROKEN)
                yield bytes(event.data)
        except (h11.ProtocolError, OSError) as error:
            await _abandon(stream, upload)
            raise UpstreamFailed(BROKEN) from error
        except BaseException:
            await _abandon(stream, upload)
            raise
        self._busy = None
        # A host that answers before it has heard everything is not asked again.
        over = connection.our_state is h11.DONE and connection.their_state is h11.DONE
        if over and not connection.trailing_data[0] and (upload is None or upload.done()):
            self._stream = stream
        else:
            await _abandon(stream, upload)

    async def close(self) -> None:
        """Lets the host go, also in the middle of an answer that nobody takes any more."""
        busy, self._busy = self._busy, None
        if busy is not None:
            await _abandon(*busy)
        if self._stream is not None:
            self._stream.close()
            self._stream = None


class _Gone(Exception):
    """A host closed the connection before it said anything."""


def _kept(headers: h11._headers.Headers) -> Headers:
    return tuple((bytes(name), bytes(value)) for name, value in headers)


def _outgoing(request: HttpRequest) -> list[tuple[bytes, bytes]]:
    made = list(request.headers)
    if request.upgrade:
        made += [(b"connection", b"Upgrade"), (b"upgrade", b"websocket")]
    if not request.body.empty and request.header(b"content-length") is None:
        made.append((b"transfer-encoding", b"chunked"))
    return made


async def _next(connection: h11.Connection, stream: SocketStream) -> object:
    while (event := connection.next_event()) is h11.NEED_DATA:
        data = await stream.read()
        try:
            connection.receive_data(data)
        except RuntimeError as error:  # more after its end
            raise UpstreamFailed(BROKEN) from error
    return event


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
