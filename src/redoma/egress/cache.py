"""Answers repeated requests to rate-limited hosts from what they have said already (RFC 9111).

A host is asked for the same thing no more often than every so many seconds, and one that wants to
be left alone is. The rules of HTTP caching are hishel's, which knows of no connection and no clock
but the wall's.
"""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from contextlib import aclosing
from email.utils import parsedate_to_datetime
from hashlib import sha256

import hishel

from redoma.egress import destinations
from redoma.egress.cache_store import CachedResponse, CacheStore, new_id
from redoma.egress.exchange import HttpResponse
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from redoma.egress.cache_store import CachedResponse
    from redoma.egress.exchange import Forward, Headers, HttpRequest, HttpResponse
    from redoma.model.network import Reach

BY = "cache"
SAYS = b"redoma-cache"
# So much is held for each connection, of which a command may have a thousand.
_LARGEST = 1 << 20
_LONGEST_WAIT = 3600.0
_BUSY = (429, 503)
_NOT_MODIFIED = 304
_SAFE = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
_MOST_LOCKS = 1000
# One user's own: what is private to that user may be kept.
_METHODS = ("GET", "HEAD")
_PRIVATE = hishel.CacheOptions(shared=False, supported_methods=[*_METHODS], allow_stale=False)
# These ask for the same thing in another way; every other header may change the answer.
_NOT_OF_THE_KEY = frozenset(
    b"if-none-match if-modified-since cache-control pragma content-length".split()
)
# These differ from request to request for no reason that the answer depends on: what SDKs and
# tracing put in. A host that does look at one of them says so by `Vary`, and is not kept then.
VARY_FOR_NO_REASON = frozenset(
    b"""
    amz-sdk-invocation-id amz-sdk-request b3 baggage correlation-id date elastic-apm-traceparent
    grpc-trace-bin request-context request-id sentry-trace traceparent tracestate uber-trace-id
    x-amz-cf-id x-amzn-requestid x-amzn-trace-id x-b3-flags x-b3-parentspanid x-b3-sampled
    x-b3-spanid x-b3-traceid x-client-request-id x-client-trace-id x-cloud-trace-context
    x-correlation-id x-datadog-parent-id x-datadog-sampling-priority x-datadog-tags
    x-datadog-trace-id x-goog-request-id x-honeycomb-trace x-ms-client-request-id
    x-ms-correlation-request-id x-newrelic-id x-newrelic-transaction x-request-id x-request-start
    x-retry-count x-stainless-read-timeout x-stainless-retry-count x-stainless-timeout x-trace-id
    x-transaction-id
    """.split()
)
# In these an id of one call stands beside what says who asks.
_WITH_AN_ID = frozenset(b"user-agent x-amz-user-agent x-goog-api-client".split())
_AN_ID = re.compile(rb"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|\b[0-9a-f]{16,64}\b")
_CONDITIONS = frozenset(
    b"if-none-match if-modified-since if-match if-unmodified-since if-range".split()
)


class ResponseCache:
    """The handler that stands before hosts whose answers are kept."""

    def __init__(
        self,
        reach: Reach,
        store: CacheStore,
        secrets: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`secrets` stand for what is added to requests behind us: another one, another answer."""
        self._reach = reach
        self._store = store
        self._secrets = secrets or {}
        self._clock = clock
        self._ignored = VARY_FOR_NO_REASON | {each.encode() for each in reach.cache_ignores}
        # Two of the same at one time are one question to the host.
        self._asking: dict[str, asyncio.Lock] = {}

    async def handle(self, request: HttpRequest, forward: Forward) -> HttpResponse:
        """What is kept and may be used, or what the host says now."""
        if not self._reach.caches(request.host) or request.upgrade:
            return await forward(request)
        # A body may be what is asked for, and is not part of what an answer is kept by.
        plain = request.method in _METHODS and request.body.empty
        if not plain or request.header(b"range") is not None:
            return await self._passed(request, forward)
        secret = self._secrets.get(request.host, "")
        key = key_of(request, secret, self._host(request), self._ignored)
        if request.method == "HEAD":
            known = self._known_by_get(request, secret)
            if known is not None:
                return known
        if len(self._asking) > _MOST_LOCKS:
            self._asking.clear()
        async with self._asking.setdefault(key, asyncio.Lock()):
            return await self._got(request, key, forward)

    def _known_by_get(self, request: HttpRequest, secret: str) -> HttpResponse | None:
        """What a `GET` of the same was answered a moment ago, without its body."""
        whole = replace(request, method="GET")
        kept = self._store.answers(key_of(whole, secret, self._host(request), self._ignored))
        seconds = int(self._clock() - kept[0].checked) if kept else -1
        if not 0 <= seconds < self._reach.cache_seconds:
            return None
        size = (b"content-length", str(len(kept[0].body)).encode())
        said = _from(kept[0], seconds, f"held; asked {seconds} s ago")
        return replace(said, headers=(*said.headers, size), body=b"")

    def _host(self, request: HttpRequest) -> str:
        """Who answers: a host by its name, and where it was said to be elsewhere, by that as well.

        Attack: a run that has a name led to a server of its own would answer for every other run.
        """
        places = destinations.places(self._reach, request.host, ("", request.port))
        pins = "".join(f"={address}:{port}" for address, port in places)
        return f"{request.host}{pins}"

    async def _passed(self, request: HttpRequest, forward: Forward) -> HttpResponse:
        """A request that is never answered from what is kept."""
        waiting = self._left_alone(request)
        if waiting is not None:
            return waiting
        response = self._heard(request, await forward(request))
        if request.method not in _SAFE and response.status < 400:
            self._store.drop(url_of(request))
        return response

    async def _got(self, request: HttpRequest, key: str, forward: Forward) -> HttpResponse:
        kept = self._store.answers(key)
        now = self._clock()
        if kept and 0 <= now - kept[0].checked < self._reach.cache_seconds:
            seconds = int(now - kept[0].checked)
            return _from(kept[0], seconds, f"held; asked {seconds} s ago")
        state = looked_up(request, kept)
        if isinstance(state, hishel.FromCache):
            used = next(each for each in kept if each.id == str(state.entry.id))
            return _from(used, int(now - used.checked), "hit")
        waiting = self._left_alone(request)
        if waiting is not None:
            return waiting
        if isinstance(state, hishel.NeedRevalidation):
            asked = checked(unconditional(request), state)
            response = self._heard(request, await forward(asked))
            if response.status == _NOT_MODIFIED:
                again = self._stood_by(state, response, kept)
                if again is not None:
                    return again
                response = self._heard(request, await forward(unconditional(request)))
        else:
            response = self._heard(request, await forward(unconditional(request)))
        return await self._kept(request, key, response)

    def _stood_by(
        self, state: hishel.NeedRevalidation, response: HttpResponse, kept: list[CachedResponse]
    ) -> HttpResponse | None:
        """What is kept, where the host has said that it still holds."""
        now = self._clock()
        found = freshened(state, response)
        for name, headers in found:
            self._store.freshen(name, headers, now)
        used = next((each for each in kept if found and each.id == found[-1][0]), None)
        if used is None:
            return None
        return _from(replace(used, headers=found[-1][1]), 0, "revalidated")

    async def _kept(self, request: HttpRequest, key: str, response: HttpResponse) -> HttpResponse:
        private = response.header(b"set-cookie") is not None
        stream = (response.header(b"content-type") or b"").startswith(b"text/event-stream")
        if private or stream or response.status in _BUSY:
            return response
        if self._varies(request, response) or not may_be_kept(request, response):
            return response
        kept = CachedResponse(
            id=new_id(),
            url=url_of(request),
            status=response.status,
            headers=_dated(response, self._clock()),
            body=b"",
            checked=self._clock(),
        )
        if isinstance(response.body, bytes):
            body = response.body
        elif response.header(b"content-length") is None:
            # Nobody knows when it ends: it is passed on as it comes, and kept when it has ended.
            return replace(response, body=self._passing(key, kept, response.body))
        else:
            body, rest = await _collected(response.body)
            if rest is not None:
                return replace(response, body=rest)
        self._store.keep(key, replace(kept, body=body))
        return replace(response, body=body, headers=(*response.headers, (SAYS, b"stored")))

    async def _passing(
        self, key: str, kept: CachedResponse, body: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        whole = bytearray()
        async with aclosing(body) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                if len(whole) <= _LARGEST:
                    whole += piece
                yield piece
        if len(whole) <= _LARGEST:
            self._store.keep(key, replace(kept, body=bytes(whole)))

    def _varies(self, request: HttpRequest, response: HttpResponse) -> bool:
        """Whether a host says that its answer depends on something that is left out of the key."""
        ids = {
            name for name, value in request.headers if name in _WITH_AN_ID and _AN_ID.search(value)
        }
        named = b",".join(value for name, value in response.headers if name == b"vary")
        words = {word.strip().lower() for word in named.split(b",")}
        return not words.isdisjoint(self._ignored | ids)

    def _heard(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Notes how long a host wants to be left alone, where its answer says so."""
        if response.status in _BUSY:
            told = _seconds(response.header(b"retry-after"), self._clock())
            if told is None and response.status == _BUSY[0]:
                told = float(self._reach.cache_seconds)
            if told:
                self._store.wait(self._host(request), self._clock() + min(told, _LONGEST_WAIT))
        return response

    def _left_alone(self, request: HttpRequest) -> HttpResponse | None:
        left = self._store.waits(self._host(request)) - self._clock()
        # A clock that was set back would have a host left alone for ever.
        if not 0 < left <= _LONGEST_WAIT:
            return None
        seconds = str(int(left) + 1)
        said = f"redoma: {request.host} asked to be left alone for {seconds} s more\n"
        return HttpResponse(
            status=429,
            reason=b"Too Many Requests",
            headers=(
                (b"content-type", b"text/plain; charset=utf-8"),
                (b"retry-after", seconds.encode()),
                (SAYS, b"wait"),
            ),
            body=said.encode(),
            by=BY,
        )


def _from(kept: CachedResponse, age: int, how: str) -> HttpResponse:
    # Of an answer without a body its length is only said, by the host alone.
    dropped = (b"age", b"content-length") if kept.body else (b"age",)
    headers = tuple(each for each in kept.headers if each[0] not in dropped)
    return HttpResponse(
        status=kept.status,
        headers=(*headers, (b"age", str(max(0, age)).encode()), (SAYS, how.encode())),
        body=kept.body,
        by=BY,
    )


def _dated(response: HttpResponse, now: float) -> tuple[tuple[bytes, bytes], ...]:
    """The headers to keep; without a date an age could not be told."""
    from email.utils import formatdate

    kept = tuple(e for e in response.headers if e[0] not in (b"transfer-encoding", b"connection"))
    if response.header(b"date") is not None:
        return kept
    return (*kept, (b"date", formatdate(now, usegmt=True).encode()))


def _seconds(value: bytes | None, now: float) -> float | None:
    """How long `Retry-After` says: seconds, or a moment."""
    if value is None:
        return None
    text = value.decode("latin-1").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, TypeError):
        return None


async def _collected(
    body: AsyncIterator[bytes],
) -> tuple[bytes, AsyncIterator[bytes] | None]:
    """All of a body; or, where it is too long to be kept, a way to go on reading it."""
    whole = bytearray()
    async for piece in body:
        whole += piece
        if len(whole) > _LARGEST:
            return b"", _rest(bytes(whole), body)
    return bytes(whole), None


async def _rest(first: bytes, body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in body:
        yield piece


def url_of(request: HttpRequest) -> str:
    """The address that a request is for."""
    return f"{request.scheme}://{request.host}:{request.port}{request.target}"


def key_of(
    request: HttpRequest, secret: str, host: str, ignored: frozenset[bytes] = VARY_FOR_NO_REASON
) -> str:
    """The same for requests that have to get the same answer, and for no others.

    Attack: a header that changes the answer and that the host does not name in `Vary` would have
    one command put its own answer in the place of another's. So every header counts but for those
    that are named as making no difference.
    """
    parts = [request.method.encode(), url_of(request).encode(), secret.encode(), host.encode()]
    for name, value in sorted(request.headers):
        if name not in _NOT_OF_THE_KEY and name not in ignored:
            parts += [name, _AN_ID.sub(b"", value) if name in _WITH_AN_ID else value]
    return sha256(b"\0".join(parts)).hexdigest()


def looked_up(request: HttpRequest, kept: list[CachedResponse]) -> hishel.AnyState:
    """What to do about a request: use what is kept, check it with the host, or ask anew."""
    asked = _asked(request)
    return hishel.IdleClient(options=_PRIVATE).next(asked, [_entry(asked, each) for each in kept])


def may_be_kept(request: HttpRequest, response: HttpResponse) -> bool:
    """Whether an answer may be kept at all."""
    state: hishel.AnyState = hishel.CacheMiss(request=_asked(request), options=_PRIVATE).next(
        hishel.Response(status_code=response.status, headers=_headers(response.headers))
    )
    while isinstance(state, hishel.InvalidateEntries):
        state = state.next()
    return isinstance(state, hishel.StoreAndUse)


def checked(request: HttpRequest, state: hishel.NeedRevalidation) -> HttpRequest:
    """The request that asks the host whether what is kept still holds."""
    return replace(request, headers=_plain(state.request.headers))


def freshened(state: hishel.NeedRevalidation, response: HttpResponse) -> list[tuple[str, Headers]]:
    """Each kept answer that a host stands by, with its new headers."""
    said = hishel.Response(status_code=response.status, headers=_headers(response.headers))
    now = state.next(said)
    if not isinstance(now, hishel.NeedToBeUpdated):
        return []
    return [(str(each.id), _plain(each.response.headers)) for each in now.updating_entries]


def unconditional(request: HttpRequest) -> HttpRequest:
    """The same without the client's own conditions: a kept answer has to be a whole one."""
    left = tuple(each for each in request.headers if each[0] not in _CONDITIONS)
    return replace(request, headers=left)


def _asked(request: HttpRequest) -> hishel.Request:
    return hishel.Request(
        method=request.method, url=url_of(request), headers=_headers(request.headers)
    )


def _entry(asked: hishel.Request, kept: CachedResponse) -> hishel.Entry:
    # The key says that the headers were the same, so `Vary` is compared with these.
    response = hishel.Response(status_code=kept.status, headers=_headers(kept.headers))
    return hishel.Entry(id=uuid.UUID(kept.id), request=asked, response=response)


def _headers(fields: Headers) -> hishel.Headers:
    found: dict[str, list[str]] = {}
    for name, value in fields:
        found.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
    return hishel.Headers(dict(found))


def _plain(headers: hishel.Headers) -> Headers:
    return tuple(
        (name.lower().encode("latin-1"), value.encode("latin-1"))
        for name in headers
        for value in headers.get_list(name) or ()
    )
