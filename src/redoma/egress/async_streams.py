"""Two-way streams over sockets that do not block: as they are, and with TLS around them.

Nothing is kept here beyond what the other side is about to take, so that a slow reader holds the
writer up, and a thousand idle connections cost next to nothing.
"""

from __future__ import annotations

import asyncio
import select
import ssl
from contextlib import suppress
from functools import partial
from socket import MSG_PEEK, SHUT_RDWR, SHUT_WR, SO_LINGER, SOL_SOCKET
from struct import pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

READ = 1 << 17
_TLS_READ = 1 << 17
_TLS_WRITE = 1 << 18
_READABLE = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET
_EVENTS = _READABLE | select.EPOLLOUT
_AT_ONCE = 256


def cut(sock: socket) -> None:
    """Ends a connection so that the other side learns of it at once."""
    with suppress(OSError):
        sock.setsockopt(SOL_SOCKET, SO_LINGER, pack("ii", 1, 0))
    sock.close()


def settle(future: asyncio.Future[None]) -> None:
    """Wakes whoever waits, if anybody still does."""
    if not future.done():
        future.set_result(None)


class Readiness:
    """Tells who has a socket when something happens on it: one edge-triggered epoll in the loop.

    The loop's own readers are registered anew for each wait; here a socket is registered once.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._epoll = select.epoll()
        self._told: dict[int, Callable[[], None]] = {}
        loop.add_reader(self._epoll.fileno(), self._ready)

    def watch(self, sock: socket, tell: Callable[[], None], events: int = _EVENTS) -> None:
        """Calls `tell` whenever a socket can be read or written again, in place of who was told."""
        number = sock.fileno()
        known = number in self._told
        self._told[number] = tell
        if known:  # what came before is told once more, to the new one
            self._epoll.modify(number, events)
        else:
            self._epoll.register(number, events)

    def forget(self, sock: socket) -> None:
        """Tells nobody of a socket any more; called before it is closed."""
        number = sock.fileno()
        if self._told.pop(number, None) is not None:
            with suppress(OSError, ValueError):
                self._epoll.unregister(number)

    def close(self) -> None:
        """Watches nothing more."""
        self.loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    def _ready(self) -> None:
        for number, _ in self._epoll.poll(0, _AT_ONCE):
            tell = self._told.get(number)
            if tell is not None:
                tell()


class SocketStream:
    """A socket. What was read of it already may be put back in front."""

    def __init__(
        self, sock: socket, readiness: Readiness, count: Callable[[int], None] | None = None
    ) -> None:
        """`count` hears of every byte that is moved, and may stop it by an exception."""
        self.sock = sock
        self.readiness = readiness
        self.taken = self.given = 0
        self.count = count
        self._before = b""
        self._reading: asyncio.Future[None] | None = None
        self._writing: asyncio.Future[None] | None = None
        self.listen()

    def listen(self) -> None:
        """Hears of its socket by itself again, after somebody else did."""
        self.readiness.watch(self.sock, self._ready)

    def _ready(self) -> None:
        for waiting in (self._reading, self._writing):
            if waiting is not None:
                settle(waiting)

    async def read(self) -> bytes:
        """What has come, at least one byte; nothing at the end."""
        while (data := self.poll()) is None:
            # Who is cancelled here has taken nothing.
            self._reading = self.readiness.loop.create_future()
            await self._reading
        return data

    def poll(self) -> bytes | None:
        """What has come already, nothing at the end; None where there is nothing yet."""
        if self._before:
            before, self._before = self._before, b""
            return before
        try:
            data = self.sock.recv(READ)
        except BlockingIOError:
            return None
        self.taken += len(data)
        if self.count is not None:
            self.count(len(data))
        return data

    async def write(self, data: bytes | bytearray | memoryview) -> None:
        """Sends everything; a broken connection is an OSError."""
        self.given += len(data)
        if self.count is not None:
            self.count(len(data))
        view: bytes | bytearray | memoryview = data
        while True:
            try:
                sent = self.sock.send(view)
            except BlockingIOError:
                self._writing = self.readiness.loop.create_future()
                await self._writing
                continue
            if sent == len(view):
                return
            view = memoryview(view)[sent:]

    def put_back(self, data: bytes) -> None:
        """Has this read again, first."""
        self._before = data + self._before

    def held(self) -> bytes:
        """What was put back and nobody has read again; it is the caller's now."""
        before, self._before = self._before, b""
        return before

    async def end(self) -> None:
        """Says that nothing more is sent."""
        with suppress(OSError):
            self.sock.shutdown(SHUT_WR)

    @property
    def silent(self) -> bool:
        """Whether the other side has neither said anything more nor gone away."""
        try:
            self.sock.recv(1, MSG_PEEK)
        except BlockingIOError:
            return not self._before
        except OSError:
            return False
        return False

    def abort(self) -> None:
        """Ends both directions, so that whoever waits to read learns of it."""
        with suppress(OSError):
            self.sock.shutdown(SHUT_RDWR)

    def close(self, *, abrupt: bool = False) -> None:
        """Closes the socket; nobody may be waiting to read."""
        if self.sock.fileno() >= 0:
            self.readiness.forget(self.sock)
            cut(self.sock) if abrupt else self.sock.close()


class TlsStream(SocketStream):
    """TLS over a socket; each call returns what is decrypted, and takes what is not."""

    def __init__(
        self,
        below: SocketStream,
        context: ssl.SSLContext,
        *,
        server_hostname: str | None = None,
        session: ssl.SSLSession | None = None,
    ) -> None:
        self._below = below
        self.context = context
        super().__init__(below.sock, below.readiness)
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming,
            self._outgoing,
            server_side=server_hostname is None,
            server_hostname=server_hostname,
            session=session,
        )
        # Two may write at once: an answer, and a record of TLS itself.
        self._flushing = asyncio.Lock()

    def listen(self) -> None:
        """Has the socket below hear of itself: whoever waits, waits there."""
        self._below.listen()

    @property
    def protocol(self) -> str:
        """What both sides have agreed to speak inside."""
        return self._tls.selected_alpn_protocol() or ""

    @property
    def session(self) -> ssl.SSLSession | None:
        """What a later connection to the same host may begin with."""
        return self._tls.session

    @property
    def silent(self) -> bool:
        """Whether the other side has said nothing more inside, and has not gone away.

        What TLS says for itself (tickets, new keys) is read and is not taken for an answer.
        """
        try:
            said = self.poll()
        except OSError:
            return False
        if said:
            self.put_back(said)
        return said is None

    async def handshake(self) -> None:
        """Agrees on keys; whoever does not trust the other makes it an ssl.SSLError."""
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                await self._flush()
                await self._fill()
            except ssl.SSLError:
                await self._flush()  # the alert says why
                raise
        await self._flush()

    async def _fill(self) -> None:
        data = await self._below.read()
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()

    async def _flush(self) -> None:
        if self._outgoing.pending:
            async with self._flushing:
                data = self._outgoing.read()
                if data:
                    await self._below.write(data)

    async def read(self) -> bytes:
        """What has come; nothing at the end, also where TLS was not ended as it should be."""
        while (data := self._at_hand()) is None:
            await self._flush()
            await self._fill()
        return data

    def poll(self) -> bytes | None:
        """What has come already and can be decrypted; None where there is nothing yet."""
        while (data := self._at_hand()) is None:
            raw = self._below.poll()
            if raw is None:
                return None
            if raw:
                self._incoming.write(raw)
            else:
                self._incoming.write_eof()
        return data

    def _at_hand(self) -> bytes | None:
        """What can be given without waiting; nothing at the end, None where more has to come."""
        if self._before:
            return self.held()
        data, ended = self._decrypted()
        if not data and not ended:
            return None
        self.taken += len(data)
        return data

    def _decrypted(self) -> tuple[bytes, bool]:
        """Everything that can be decrypted now, and whether it ends there."""
        parts: list[bytes] = []
        size = 0
        try:
            while size < _TLS_READ:
                part = self._tls.read(_TLS_READ)
                if not part:
                    return b"".join(parts), True
                # Most of the time a record is all there is: to ask for another costs an exception.
                if not self._incoming.pending and not self._tls.pending():
                    return part if not parts else b"".join((*parts, part)), False
                parts.append(part)
                size += len(part)
        except ssl.SSLWantReadError:
            return b"".join(parts), False
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b"".join(parts), True
        return b"".join(parts), False

    async def write(self, data: bytes | bytearray | memoryview) -> None:
        """Encrypts and sends everything."""
        self.given += len(data)
        view = memoryview(data)
        while view:
            sent = self._tls.write(view[:_TLS_WRITE])
            view = view[sent:]
            await self._flush()

    async def end(self) -> None:
        """Says goodbye in TLS, and that nothing more is sent."""
        with suppress(ssl.SSLError, OSError):
            self._tls.unwrap()
        with suppress(OSError):
            await self._flush()
        await self._below.end()


async def either_readable(one: SocketStream, other: SocketStream) -> None:
    """Waits until something may have come on one of two; nothing of it is taken."""
    readiness = one.readiness
    ready: asyncio.Future[None] = readiness.loop.create_future()
    try:
        for stream in (one, other):
            readiness.watch(stream.sock, partial(settle, ready), _READABLE)
        await ready
    finally:
        for stream in (one, other):
            stream.listen()
