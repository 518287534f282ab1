"""One connection of a command: dialled, guarded, relayed, and noted when it is over."""

from __future__ import annotations

import time
from contextlib import suppress
from errno import EINPROGRESS
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

from redoma.egress.relay import Flow
from redoma.model.network import TOO_MUCH, UNREACHABLE, Connection
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.egress.gate import Gate
    from redoma.egress.guard import Guard

_DIAL_SECONDS = 10.0


def cut(sock: socket) -> None:
    """Ends a connection so that the other side learns of it at once."""
    with suppress(OSError):
        sock.setsockopt(SOL_SOCKET, SO_LINGER, pack("ii", 1, 0))
    sock.close()


class Passage:
    """A command's socket, and the host's beside it."""

    def __init__(
        self, gate: Gate, client: socket, about: Connection, guard: Guard | None = None
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
