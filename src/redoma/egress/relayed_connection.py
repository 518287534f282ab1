"""One connection of a command: dialled, guarded, relayed, and noted when it is over.

Bytes that nobody has to read move in the kernel (`splice`).
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from errno import EINPROGRESS
from fcntl import F_SETPIPE_SZ, fcntl
from socket import (
    AF_INET,
    AF_INET6,
    IPPROTO_TCP,
    SHUT_WR,
    SO_ERROR,
    SO_LINGER,
    SOCK_STREAM,
    SOL_SOCKET,
    TCP_NODELAY,
    socket,
)
from struct import pack

from redoma.model.network import TOO_MUCH, UNREACHABLE, Connection
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

    from redoma.egress.gate import EgressGate
    from redoma.egress.guard import ConnectionGuard

_DIAL_SECONDS = 10.0
_PIPE = 1 << 19
_AT_ONCE = 1 << 19
_READ = 1 << 16
_TURNS = 32
_KEPT_PIPES = 16
_HOW = os.SPLICE_F_MOVE | os.SPLICE_F_NONBLOCK


def cut(sock: socket) -> None:
    """Ends a connection so that the other side learns of it at once."""
    with suppress(OSError):
        sock.setsockopt(SOL_SOCKET, SO_LINGER, pack("ii", 1, 0))
    sock.close()


class RelayedConnection:
    """A command's socket, and the host's beside it."""

    def __init__(
        self,
        gate: EgressGate,
        client: socket,
        about: Connection,
        guard: ConnectionGuard | None = None,
    ) -> None:
        self.gate = gate
        self.client = client
        self.about = about
        self.guard = guard
        self.host: socket | None = None
        self.began = time.monotonic()
        self.dialling_until = 0.0
        self.closed = False
        self._places: list[tuple[str, int]] = []
        self._out: Flow | None = None
        self._back: Flow | None = None

    def dial(self, places: list[tuple[str, int]]) -> None:
        """Connects to the first of these that answers."""
        if self.closed:
            return
        self._places = places
        self._next_place()

    def take(self, host: socket) -> None:
        """Goes on with a socket that is being connected by someone else."""
        self.host = host
        self.dialling_until = time.monotonic() + _DIAL_SECONDS
        self.gate.watch(host, self)

    def _next_place(self) -> None:
        while self._places:
            address, port = self._places.pop(0)
            try:
                host = socket(AF_INET6 if ":" in address else AF_INET, SOCK_STREAM)
            except OSError:
                continue
            host.setblocking(False)  # noqa: FBT003
            error = host.connect_ex((address, port))
            if error in (0, EINPROGRESS):
                self.about = replace(self.about, address=address)
                self.take(host)
                return
            host.close()
        self.refuse(UNREACHABLE)

    def ready(self) -> None:
        """Does what can be done now."""
        if self.closed or (self.host is None and self._out is None):
            return
        if self._out is None and not self._connected():
            return
        try:
            self._relay()
        except OSError:
            self._over(abrupt=True)

    def _connected(self) -> bool:
        assert self.host is not None
        error = self.host.getsockopt(SOL_SOCKET, SO_ERROR)
        if not error:
            try:
                self.host.getpeername()
            except OSError:
                return False  # not yet
        if error:
            self.gate.forget(self.host)
            self.host.close()
            self.host = None
            self._next_place()
            return False
        self.dialling_until = 0.0
        self.gate.ledger.begun(self.about)
        for each in (self.host, self.client):
            with suppress(OSError):
                each.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        self._out = Flow(self.client, self.host, self.gate.pipes)
        self._back = Flow(self.host, self.client, self.gate.pipes)
        if self.guard is not None:
            self._out.reader = self._from_client
        return True

    def _from_client(self, data: bytes) -> bytes:
        guard = self.guard
        assert guard is not None
        assert self._out is not None and self._back is not None
        passed = guard.client(data)
        if guard.listens_to_server:
            self._out.stopped = True
            self._back.reader = self._from_host
        if guard.opaque:
            self._out.reader = None
        return passed

    def _from_host(self, data: bytes) -> bytes:
        guard = self.guard
        assert guard is not None
        assert self._out is not None and self._back is not None
        self._out.put(guard.server(data))
        self._out.stopped = guard.listens_to_server
        if not guard.listens_to_server:
            self._back.reader = None
        if guard.opaque:
            self._out.reader = None
        return data

    def _relay(self) -> None:
        out, back = self._out, self._back
        assert out is not None and back is not None
        moved = out.moved + back.moved
        more = back.move()
        more = out.move() or more
        if self.guard is not None and self.guard.refusal:
            self._say_goodbye()
            return
        self.gate.count(out.moved + back.moved - moved)
        if self.gate.spent:
            self.refuse(TOO_MUCH)
        elif out.over and back.over:
            self._over(abrupt=False)
        elif more:
            self.gate.again(self)

    def _say_goodbye(self) -> None:
        assert self.guard is not None and self._back is not None
        with suppress(OSError):
            if self.guard.farewell and not self._back.moved and self._back.empty:
                self.client.send(self.guard.farewell)
                self.client.shutdown(SHUT_WR)
                self.refuse(self.guard.refusal, abrupt=False)
                return
        self.refuse(self.guard.refusal)

    def refuse(self, why: str, *, abrupt: bool = True) -> None:
        """Ends it with a reason."""
        if not self.closed:
            self.about = replace(self.about, allowed=False, why=why)
            self._over(abrupt=abrupt)

    def _over(self, *, abrupt: bool) -> None:
        self.finish(abrupt=abrupt)
        self.gate.ended(self)

    def finish(self, *, abrupt: bool) -> None:
        """Closes both sides, and knows what went through."""
        if self.closed:
            return
        self.closed = True
        self.gate.forget(self.client)
        if abrupt:
            cut(self.client)
        else:
            self.client.close()
        if self.host is not None:
            self.gate.forget(self.host)
            if abrupt:
                cut(self.host)
            else:
                self.host.close()
        sent = self._out.moved if self._out is not None else 0
        received = self._back.moved if self._back is not None else 0
        for flow in (self._out, self._back):
            if flow is not None:
                flow.close()
        self.about = replace(
            self.about, sent=sent, received=received, seconds=time.monotonic() - self.began
        )


class Pipes:
    """Pipes for what is under way; a connection that rests has none, so a thousand cost nothing."""

    def __init__(self) -> None:
        self._free: list[tuple[int, int]] = []

    def take(self) -> tuple[int, int]:
        """An empty pipe."""
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
            drop(pipe)

    def close(self) -> None:
        while self._free:
            drop(self._free.pop())


def drop(pipe: tuple[int, int]) -> None:
    """Closes a pipe with whatever is in it."""
    os.close(pipe[0])
    os.close(pipe[1])


class Flow:
    """One direction of a connection."""

    def __init__(self, source: socket, target: socket, pipes: Pipes) -> None:
        self.source = source
        self.target = target
        # While there is a reader, it sees every byte and says which pass.
        self.reader: Callable[[bytes], bytes] | None = None
        self.stopped = False
        self.ended = False
        self.over = False
        self.moved = 0
        self._pending = b""
        self._pipes = pipes
        self._pipe: tuple[int, int] | None = None
        self._in_pipe = 0

    def put(self, data: bytes) -> None:
        """Sends this before anything else."""
        self._pending += data

    @property
    def empty(self) -> bool:
        """Whether nothing is under way."""
        return not self._pending and not self._in_pipe

    def move(self) -> bool:
        """Moves what can be moved now; whether there is more that only waits for its turn.

        A broken connection is an OSError.
        """
        for _ in range(_TURNS):
            try:
                if self._pending:
                    sent = self.target.send(self._pending)
                    self.moved += sent
                    self._pending = self._pending[sent:]
                elif self._in_pipe:
                    self._out()
                elif self.ended:
                    self._finish()
                    return False
                elif self.stopped:
                    return False
                elif self.reader is not None:
                    data = self.source.recv(_READ)
                    self.ended = not data
                    if data:
                        self._pending = self.reader(data)
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
                drop(self._pipe)
            else:
                self._pipes.give(self._pipe)
            self._pipe = None
