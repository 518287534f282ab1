"""One request of a command and its answer, as those see them who stand between it and the host.

Handlers stand in a row: each may answer a request itself, or hand it on, changed or not, and may
change what comes back. Behind the last of them is the host.
"""

from __future__ import annotations

from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from typing import Protocol, TypeAlias

    from redoma.egress.streams import Stream

    Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]
    Forward: TypeAlias = Callable[["Request"], Awaitable["Response"]]
    Inform: TypeAlias = Callable[[int, Headers], Awaitable[None]]

    class Handler(Protocol):
        """Answers a request, or has it answered by `forward`."""

        async def handle(self, request: Request, forward: Forward) -> Response: ...


class Stopped(Exception):
    """A connection or a request that goes no further."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Refused(Stopped):
    """It is not granted."""


class Failed(Stopped):
    """The host cannot be asked, or its answer cannot be passed on."""


class TooLong(Exception):
    """A body is longer than whoever wanted it whole can take."""


class Body:
    """What a client sends with a request, in pieces as it comes; it can be read once."""

    def __init__(
        self,
        pieces: AsyncIterator[bytes],
        ask_for_it: Callable[[], Awaitable[None]],
        *,
        empty: bool,
    ) -> None:
        self._pieces = pieces
        self._ask_for_it = ask_for_it
        self.empty = empty

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces; a client that waits for the host's leave goes on waiting for it."""
        return self._pieces

    async def read(self, most: int) -> bytes:
        """All of it at once, for a handler that answers by itself; TooLong beyond `most` bytes."""
        if self.empty:
            return b""
        await self._ask_for_it()
        whole = bytearray()
        async for piece in self._pieces:
            whole += piece
            if len(whole) > most:
                raise TooLong
        return bytes(whole)

    async def measured(self) -> tuple[int, str]:
        """How long it is, and its digest; nothing of it is kept."""
        from hashlib import sha256

        if self.empty:
            return 0, ""
        await self._ask_for_it()
        size, digest = 0, sha256()
        async for piece in self._pieces:
            size += len(piece)
            digest.update(piece)
        return size, f"sha256:{digest.hexdigest()}"


class Asked(Value):
    """What is noted of a request that a mock has answered."""

    headers: tuple[tuple[str, str], ...] = ()
    size: int = 0
    digest: str = ""


class Request(Value):
    """A request that was judged and may be answered; names of headers are in lower case."""

    method: str
    # "http" or "https".
    scheme: str
    host: str
    port: int
    # Path and query as the client wrote them.
    target: str
    # Without those that are about one connection only, such as `connection`.
    headers: Headers
    body: Body
    # Passes on what a host says before its answer, such as 100 and 103.
    inform: Inform
    # Whether the client asks to speak WebSocket from here on.
    upgrade: bool = False

    def header(self, name: bytes) -> bytes | None:
        """The first value of a header, or None."""
        return next((value for key, value in self.headers if key == name), None)


class Response(Value):
    """An answer: of the host, or of somebody in between."""

    status: int
    reason: bytes = b""
    headers: Headers = ()
    body: bytes | AsyncIterator[bytes] = b""
    # Who answered instead of the host, for the record: "cache", "mock".
    by: str = ""
    asked: Asked | None = None
    # Where a WebSocket goes on, with what was read of it already; only with status 101.
    upgraded: tuple[Stream, bytes] | None = None

    def header(self, name: bytes) -> bytes | None:
        """The first value of a header, or None."""
        return next((value for key, value in self.headers if key == name), None)


def chained(handlers: tuple[Handler, ...], last: Forward) -> Forward:
    """One way through all handlers, the first of them outermost, to `last`."""
    forward = last
    for handler in reversed(handlers):
        forward = _before(handler, forward)
    return forward


def _before(handler: Handler, forward: Forward) -> Forward:
    async def handled(request: Request) -> Response:
        return await handler.handle(request, forward)

    return handled
