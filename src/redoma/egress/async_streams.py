"""Two-way streams over sockets that do not block: as they are, and with TLS around them.

Nothing is kept here beyond what the other side is about to take, so that a slow reader holds the
writer up, and a thousand idle connections cost next to nothing.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from socket import MSG_PEEK, SHUT_RDWR, SHUT_WR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

READ = 1 << 16
_TLS_READ = 1 << 17
_TLS_WRITE = 1 << 18


class SocketStream:
    """A socket. What was read of it already may be put back in front."""

    def __init__(self, sock: socket, count: Callable[[int], None] | None = None) -> None:
        """`count` hears of every byte that is moved, and may stop it by an exception."""
        self.sock = sock
        self.taken = self.given = 0
        self._before = b""
        self._count = count
        self._loop = asyncio.get_running_loop()

    async def read(self) -> bytes:
        """What has come, at least one byte; nothing at the end."""
        if self._before:
            before, self._before = self._before, b""
            return before
        data = await self._received()
        self.taken += len(data)
        if self._count is not None:
            self._count(len(data))
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
        if self._count is not None:
            self._count(len(data))
        return data

    async def _received(self) -> bytes:
        """What has come; a reader that is cancelled meanwhile has taken nothing.

        With `sock_recv` it may have: what came in the same moment would be gone, and with a part
        of an audit log of TLS the whole connection.
        """
        while True:
            try:
                return self.sock.recv(READ)
            except BlockingIOError:
                ready = self._loop.create_future()
                number = self.sock.fileno()
                self._loop.add_reader(number, _tell, ready)
                try:
                    await ready
                finally:
                    self._loop.remove_reader(number)

    async def write(self, data: bytes | bytearray | memoryview) -> None:
        """Sends everything; a broken connection is an OSError."""
        self.given += len(data)
        if self._count is not None:
            self._count(len(data))
        await self._loop.sock_sendall(self.sock, data)

    def put_back(self, data: bytes) -> None:
        """Has this read again, first."""
        self._before = data + self._before

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

    def close(self) -> None:
        """Closes the socket; nobody may be waiting to read."""
        self.sock.close()


def _tell(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


class TlsStream(SocketStream):
    """TLS over a socket; each call returns what is decrypted, and takes what is not."""

    def __init__(
        self,
        below: SocketStream,
        context: ssl.SSLContext,
        *,
        server_hostname: str | None = None,
    ) -> None:
        super().__init__(below.sock)
        self._below = below
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming,
            self._outgoing,
            server_side=server_hostname is None,
            server_hostname=server_hostname,
        )
        # Two may write at once: an answer, and a record of TLS itself.
        self._writing = asyncio.Lock()

    async def handshake(self) -> None:
        """Agrees on keys; whoever does not trust the other makes it an ssl.SSLError."""
        try:
            await self._done(self._tls.do_handshake)
        except ssl.SSLError:
            await self._flush()  # the alert says why
            raise
        await self._flush()

    async def _done(self, step: Callable[[], object]) -> None:
        while True:
            try:
                step()
                return
            except ssl.SSLWantReadError:
                await self._flush()
                await self._fill()

    async def _fill(self) -> None:
        data = await self._below.read()
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()

    async def _flush(self) -> None:
        if self._outgoing.pending:
            async with self._writing:
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
            before, self._before = self._before, b""
            return before
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
    """Waits until something has come on one of two; nothing of it is taken.

    A read that is cancelled may have taken bytes that nobody then has.
    """
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not ready.done():
            ready.set_result(None)

    sockets = (one.sock, other.sock)
    try:
        for sock in sockets:
            loop.add_reader(sock, wake)
        await ready
    finally:
        for sock in sockets:
            loop.remove_reader(sock)


async def relay(one: SocketStream, other: SocketStream) -> None:
    """Moves bytes both ways until both sides have ended, or one of them breaks."""

    async def copy(source: SocketStream, target: SocketStream) -> None:
        while data := await source.read():
            await target.write(data)
        await target.end()

    tasks = [asyncio.create_task(copy(one, other)), asyncio.create_task(copy(other, one))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
