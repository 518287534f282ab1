"""Moves bytes both ways between two sockets until both have ended, in the kernel (`splice`)."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from fcntl import F_SETPIPE_SZ, fcntl
from socket import SHUT_WR

from redoma.egress.async_streams import SocketStream, TlsStream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket

_PIPE = 1 << 20
_AT_ONCE = 1 << 20
_TURNS = 32
_KEPT_PIPES = 16
_HOW = os.SPLICE_F_MOVE | os.SPLICE_F_NONBLOCK


class Pipes:
    """Pipes for those connections that move something just now."""

    def __init__(self) -> None:
        self._free: list[tuple[int, int]] = []

    def take(self) -> tuple[int, int]:
        """An empty pipe, its end to read first."""
        if self._free:
            return self._free.pop()
        read, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        with suppress(OSError):  # an ordinary user may have so many large ones, and then small ones
            fcntl(write, F_SETPIPE_SZ, _PIPE)
        return read, write

    def give(self, pipe: tuple[int, int]) -> None:
        """Takes an empty pipe back."""
        if len(self._free) < _KEPT_PIPES:
            self._free.append(pipe)
        else:
            _drop(pipe)

    def close(self) -> None:
        """Closes those that nobody uses."""
        while self._free:
            _drop(self._free.pop())


def _drop(pipe: tuple[int, int]) -> None:
    """Closes a pipe with whatever is in it."""
    os.close(pipe[0])
    os.close(pipe[1])


class Flow:
    """One direction of a connection."""

    def __init__(self, source: socket, target: socket, pipes: Pipes, first: bytes = b"") -> None:
        """`first` is sent before anything else."""
        self.source = source
        self.target = target
        self.ended = False
        self.over = False
        self.moved = 0
        self._first = first
        self._pipes = pipes
        self._pipe: tuple[int, int] | None = None
        self._in_pipe = 0

    def move(self) -> bool:
        """Moves what can be moved now; whether there is more that only waits for its turn.

        A broken connection is an OSError.
        """
        for _ in range(_TURNS):
            try:
                if self._first:
                    sent = self.target.send(self._first)
                    self.moved += sent
                    self._first = self._first[sent:]
                elif self._in_pipe:
                    self._out()
                elif self.ended:
                    self._finish()
                    return False
                else:
                    self._in()
            except BlockingIOError:
                self._rest()
                return False
        return True

    def _in(self) -> None:
        if self._pipe is None:
            self._pipe = self._pipes.take()
        taken = os.splice(self.source.fileno(), self._pipe[1], _AT_ONCE, flags=_HOW)
        self._in_pipe += taken
        self.ended = not taken

    def _out(self) -> None:
        assert self._pipe is not None
        sent = os.splice(self._pipe[0], self.target.fileno(), self._in_pipe, flags=_HOW)
        self._in_pipe -= sent
        self.moved += sent

    def _rest(self) -> None:
        if self._pipe is not None and not self._in_pipe:
            self._pipes.give(self._pipe)
            self._pipe = None

    def _finish(self) -> None:
        self._rest()
        if not self.over:
            self.over = True
            self.target.shutdown(SHUT_WR)

    def close(self) -> None:
        """Gives the pipe back, or away with what is left in it."""
        if self._pipe is not None:
            if self._in_pipe:
                _drop(self._pipe)
            else:
                self._pipes.give(self._pipe)
            self._pipe = None


class _Spliced:
    """Two flows between a client and a host, moved whenever the kernel says that they can."""

    def __init__(self, client: SocketStream, host: SocketStream, pipes: Pipes) -> None:
        self._client = client
        self._loop = client.readiness.loop
        first = client.held()
        client.taken -= len(first)  # it is counted where it is sent
        self._out = Flow(client.sock, host.sock, pipes, first)
        self._back = Flow(host.sock, client.sock, pipes, host.held())
        self._waiting = False
        self.over: asyncio.Future[None] = self._loop.create_future()

    def ready(self) -> None:
        """Does what can be done now."""
        if self.over.done():
            return
        out, back = self._out, self._back
        sent, received = out.moved, back.moved
        try:
            more = back.move()
            more = out.move() or more
            self._client.taken += out.moved - sent
            self._client.given += back.moved - received
            if self._client.count is not None:
                self._client.count(out.moved - sent + back.moved - received)
        except Exception as error:
            self.over.set_exception(error)
            return
        if out.over and back.over:
            self.over.set_result(None)
        elif more and not self._waiting:  # after the others had their turn
            self._waiting = True
            self._loop.call_soon(self._again)

    def _again(self) -> None:
        self._waiting = False
        self.ready()

    def close(self) -> None:
        self._out.close()
        self._back.close()


async def relay(client: SocketStream, host: SocketStream, pipes: Pipes) -> None:
    """Moves everything until both sides have ended; an OSError where one of them breaks."""
    if isinstance(client, TlsStream) or isinstance(host, TlsStream):
        await _copied(client, host)
        return
    flows = _Spliced(client, host, pipes)
    try:
        for stream in (client, host):
            stream.readiness.watch(stream.sock, flows.ready)
        flows.ready()
        await flows.over
    finally:
        flows.close()


async def _copied(one: SocketStream, other: SocketStream) -> None:
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
