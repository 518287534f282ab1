"""Answers repeated requests to rate-limited hosts from what they have said already.

A host is asked for the same thing no more often than every so many seconds, and one that wants to
be left alone is.
"""

from __future__ import annotations

import asyncio
import time
from email.utils import parsedate_to_datetime

import hishel

from redoma.egress import cache_rules, destinations
from redoma.egress.cache_store import Kept, Store, new_id
from redoma.egress.requests import Response
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from redoma.egress.requests import Forward, Request
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


class Cache:
    """The handler that stands before hosts whose answers are kept."""

    def __init__(
        self,
        reach: Reach,
        store: Store,
        secrets: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`secrets` stand for what is added to requests behind us: another one, another answer."""
        self._reach = reach
        self._store = store
        self._secrets = secrets or {}
        self._clock = clock
        # Two of the same at one time are one question to the host.
        self._asking: dict[str, asyncio.Lock] = {}

    async def handle(self, request: Request, forward: Forward) -> Response:
        """What is kept and may be used, or what the host says now."""
        if not self._reach.caches(request.host) or request.upgrade:
            return await forward(request)
        # A body may be what is asked for, and is not part of what an answer is kept by.
        plain = request.method == "GET" and request.body.empty
        if not plain or request.header(b"range") is not None:
            return await self._passed(request, forward)
        secret = self._secrets.get(request.host, "")
        key = cache_rules.key_of(request, secret, self._host(request))
        if len(self._asking) > _MOST_LOCKS:
            self._asking.clear()
        async with self._asking.setdefault(key, asyncio.Lock()):
            return await self._got(request, key, forward)

    def _host(self, request: Request) -> str:
        """Who answers: a host by its name, and where it was said to be elsewhere, by that as well.

        Attack: a run that has a name led to a server of its own would answer for every other run.
        """
        places = destinations.places(self._reach, request.host, ("", request.port))
        pins = "".join(f"={address}:{port}" for address, port in places)
        return f"{request.host}{pins}"

    async def _passed(self, request: Request, forward: Forward) -> Response:
        """A request that is never answered from what is kept."""
        waiting = self._left_alone(request)
        if waiting is not None:
            return waiting
        response = self._heard(request, await forward(request))
        if request.method not in _SAFE and response.status < 400:
            self._store.drop(cache_rules.url_of(request))
        return response

    async def _got(self, request: Request, key: str, forward: Forward) -> Response:
        kept = self._store.answers(key)
        now = self._clock()
        if kept and 0 <= now - kept[0].checked < self._reach.cache_seconds:
            seconds = int(now - kept[0].checked)
            return _from(kept[0], seconds, f"held; asked {seconds} s ago")
        state = cache_rules.looked_up(request, kept)
        if isinstance(state, hishel.FromCache):
            used = next(each for each in kept if each.id == str(state.entry.id))
            return _from(used, int(now - used.checked), "hit")
        waiting = self._left_alone(request)
        if waiting is not None:
            return waiting
        if isinstance(state, hishel.NeedRevalidation):
            asked = cache_rules.checked(cache_rules.unconditional(request), state)
            response = self._heard(request, await forward(asked))
            if response.status == _NOT_MODIFIED:
                again = self._stood_by(state, response, kept)
                if again is not None:
                    return again
                response = self._heard(request, await forward(cache_rules.unconditional(request)))
        else:
            response = self._heard(request, await forward(cache_rules.unconditional(request)))
        return await self._kept(request, key, response)

    def _stood_by(
        self, state: hishel.NeedRevalidation, response: Response, kept: list[Kept]
    ) -> Response | None:
        """What is kept, where the host has said that it still holds."""
        now = self._clock()
        found = cache_rules.freshened(state, response)
        for name, headers in found:
            self._store.freshen(name, headers, now)
        used = next((each for each in kept if found and each.id == found[-1][0]), None)
        if used is None:
            return None
        return _from(replace(used, headers=found[-1][1]), 0, "revalidated")

    async def _kept(self, request: Request, key: str, response: Response) -> Response:
        private = response.header(b"set-cookie") is not None
        stream = (response.header(b"content-type") or b"").startswith(b"text/event-stream")
        if private or stream or response.status in _BUSY:
            return response
        if not cache_rules.may_be_kept(request, response):
            return response
        body, rest = await _collected(response.body)
        if rest is not None:
            return replace(response, body=rest)
        self._store.keep(
            key,
            Kept(
                id=new_id(),
                url=cache_rules.url_of(request),
                status=response.status,
                headers=_dated(response, self._clock()),
                body=body,
                checked=self._clock(),
            ),
        )
        return replace(response, body=body, headers=(*response.headers, (SAYS, b"stored")))

    def _heard(self, request: Request, response: Response) -> Response:
        """Notes how long a host wants to be left alone, where its answer says so."""
        if response.status in _BUSY:
            told = _seconds(response.header(b"retry-after"), self._clock())
            if told is None and response.status == _BUSY[0]:
                told = float(self._reach.cache_seconds)
            if told:
                self._store.wait(self._host(request), self._clock() + min(told, _LONGEST_WAIT))
        return response

    def _left_alone(self, request: Request) -> Response | None:
        left = self._store.waits(self._host(request)) - self._clock()
        # A clock that was set back would have a host left alone for ever.
        if not 0 < left <= _LONGEST_WAIT:
            return None
        seconds = str(int(left) + 1)
        said = f"redoma: {request.host} asked to be left alone for {seconds} s more\n"
        return Response(
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


def _from(kept: Kept, age: int, how: str) -> Response:
    headers = tuple(each for each in kept.headers if each[0] not in (b"age", b"content-length"))
    return Response(
        status=kept.status,
        headers=(*headers, (b"age", str(max(0, age)).encode()), (SAYS, how.encode())),
        body=kept.body,
        by=BY,
    )


def _dated(response: Response, now: float) -> tuple[tuple[bytes, bytes], ...]:
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
    body: bytes | AsyncIterator[bytes],
) -> tuple[bytes, AsyncIterator[bytes] | None]:
    """All of a body; or, where it is too long to be kept, a way to go on reading it."""
    if isinstance(body, bytes):
        return body, None
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
