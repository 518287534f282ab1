"""One request of a command and its answer, as the handlers between it and the host see them.

Handlers stand in a row: each may answer a request itself, or hand it on, changed or not, and may
change what comes back. Behind the last of them is the host; a mock stands in its place.
"""

from __future__ import annotations

import json

from redoma.egress.request_paths import matches
from redoma.model.network import MockedAnswer
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
    from typing import Protocol, TypeAlias

    from redoma.egress.async_streams import SocketStream
    from redoma.model.grant import Secret
    from redoma.model.network import Reach

    Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]
    Forward: TypeAlias = Callable[["HttpRequest"], Awaitable["HttpResponse"]]
    Inform: TypeAlias = Callable[[int, Headers], Awaitable[None]]

    class Handler(Protocol):
        """Answers a request, or has it answered by `forward`."""

        async def handle(self, request: HttpRequest, forward: Forward) -> HttpResponse: ...


BY = "mock"
_JSON = ("content-type", "application/json")
USUAL = MockedAnswer(headers=(_JSON,), body=json.dumps({"mocked": True}).encode() + b"\n")
# Values that say what a request is about, and no secret; of every other header only the name.
_SHOWN = frozenset(
    "accept accept-encoding content-encoding content-length content-type expect range"
    " user-agent".split()
)
LEFT_OUT = "…"
_LONGEST = 200
_MOST = 50
_BODILESS = (204, 304)


class ExchangeStopped(Exception):
    """A connection or a request that goes no further."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class RequestRefused(ExchangeStopped):
    """It is not granted."""


class UpstreamFailed(ExchangeStopped):
    """The host cannot be asked, or its answer cannot be passed on."""


class TooLong(Exception):
    """A body is longer than whoever wanted it whole can take."""


class RequestBody:
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


class HttpRequest(Value):
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
    body: RequestBody
    # Passes on what a host says before its answer, such as 100 and 103.
    inform: Inform
    # Whether the client asks to speak WebSocket from here on.
    upgrade: bool = False
    # Which rule has granted it, as a person wrote it.
    rule: str = ""

    def header(self, name: bytes) -> bytes | None:
        """The first value of a header, or None."""
        return next((value for key, value in self.headers if key == name), None)


class HttpResponse(Value):
    """An answer: of the host, or of somebody in between."""

    status: int
    reason: bytes = b""
    headers: Headers = ()
    body: bytes | AsyncIterator[bytes] = b""
    # What HTTP/2 says behind the body; complete when that has been read.
    trailers: list[tuple[bytes, bytes]] | None = None
    # Who answered instead of the host, for the audit log: "cache", "mock".
    by: str = ""
    asked: Asked | None = None
    # Where a WebSocket goes on, with what was read of it already; only with status 101.
    upgraded: tuple[SocketStream, bytes] | None = None

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
    async def handled(request: HttpRequest) -> HttpResponse:
        return await handler.handle(request, forward)

    return handled


class MockHandler:
    """The one handler of a gate behind which there is nobody."""

    def __init__(self, answers: tuple[MockedAnswer, ...] = ()) -> None:
        self._answers = answers

    async def handle(self, request: HttpRequest, forward: Forward) -> HttpResponse:
        """What the first answer that fits says, or that it was mocked."""
        size, digest = await request.body.measured()
        found = answer_to(self._answers, request.method, request.host, request.target)
        said = tuple((name.lower().encode(), value.encode()) for name, value in found.headers)
        return HttpResponse(
            status=found.status,
            headers=(*said, (b"redoma-mock", b"yes")),
            body=b"" if found.status in _BODILESS else found.body,
            by=BY,
            asked=Asked(headers=shown(request.headers), size=size, digest=digest),
        )


def answer_to(answers: Iterable[MockedAnswer], method: str, host: str, target: str) -> MockedAnswer:
    """The first answer whose method, host and path fit."""
    path = target.partition("?")[0]
    return next((each for each in answers if _fits(each, method, host, path)), USUAL)


def _fits(answer: MockedAnswer, method: str, host: str, path: str) -> bool:
    if answer.method and answer.method != method:
        return False
    if answer.host.startswith("*."):
        if not host.endswith(answer.host[1:]):
            return False
    elif answer.host and answer.host != host:
        return False
    return not answer.path or matches(answer.path, path)


def shown(headers: Headers) -> tuple[tuple[str, str], ...]:
    """Every header by name; the value only where it cannot be a secret."""
    told = []
    for name, value in headers[:_MOST]:
        text = name.decode("latin-1")
        told.append((text, value.decode("latin-1")[:_LONGEST] if text in _SHOWN else LEFT_OUT))
    return tuple(told)


def handlers(reach: Reach, secrets: tuple[Secret, ...] = ()) -> tuple[Handler, ...]:
    """The handlers of one gate; a mock stands alone, since nothing is behind it."""
    if reach.mock:
        return (MockHandler(reach.mocks),)
    row: list[Handler] = []
    if reach.cache:
        from redoma.base import own_directories
        from redoma.egress.cache import ResponseCache
        from redoma.egress.cache_store import CacheStore

        row.append(
            ResponseCache(reach, CacheStore(own_directories.made_cache()), private(reach, secrets))
        )
    if reach.credentials:
        from redoma.egress.credentials import CredentialHandler

        # The last before the host: nobody else in the row sees what it adds.
        row.append(CredentialHandler(tuple(zip(reach.credentials, secrets, strict=True))))
    return tuple(row)


def private(reach: Reach, secrets: tuple[Secret, ...]) -> dict[str, str]:
    """For each host one name for all that is added to its requests, and how."""
    from hashlib import sha256

    found: dict[str, str] = {}
    for each, secret in zip(reach.credentials, secrets, strict=True):
        told = (found.get(each.host, ""), str(each.port), each.header, each.form, secret.reveal())
        found[each.host] = sha256("\0".join(told).encode()).hexdigest()
    return found
