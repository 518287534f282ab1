"""Finds out what a client speaks on a connection that is read, from whoever speaks first."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from enum import Enum

from redoma.egress import framing, http, tls
from redoma.egress.names import normal
from redoma.egress.requests import Failed, Refused
from redoma.egress.streams import either_readable
from redoma.model.network import (
    BROKEN,
    HIDDEN_NAME,
    HTTP_2,
    NO_NAME,
    NOT_HTTP,
    OTHER_NAME,
    UNREADABLE,
)
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.egress.streams import Stream
    from redoma.egress.upstream import Upstream


_SOON = 1.0


class Speaks(Enum):
    """What a connection is."""

    TLS = "tls"
    HTTP = "http"
    OTHER = "other"
    NOTHING = "nothing"


class Beginning(Value):
    """What is spoken; a connection to the host where one had to be made to find out."""

    speaks: Speaks
    host: Stream | None = None


async def begins(
    client: Stream, upstream: Upstream, *, web_only: bool, in_tls: bool = False
) -> Beginning:
    """What a client begins with; everything that was read is there to be read again.

    Where only the web is granted, anything else is Refused. On a port that was granted by its
    number the host may speak first, and then it is neither TLS nor HTTP.
    """
    host, failed = None, None
    held = b""
    try:
        if web_only:
            first: bytes | None = await client.read()
        else:
            try:
                host = await upstream.connected()
                first = await _first_word(client, host)
            except Failed as error:
                # A client that asks something is told why it gets no answer.
                failed = error
                first = await _soon(client, error)
        if first is None:
            return Beginning(speaks=Speaks.OTHER, host=host)
        held = first
        while first:
            speaks = _speaks(held, upstream.name, web_only=web_only, in_tls=in_tls)
            if speaks is not None:
                if failed is not None and speaks is Speaks.OTHER:
                    raise failed
                client.put_back(held)
                return Beginning(speaks=speaks, host=host)
            first = await client.read()
            held += first
        client.put_back(held)
        kind = Speaks.OTHER if held and host is not None else Speaks.NOTHING
        return Beginning(speaks=kind, host=host)
    except BaseException as error:
        if host is not None:
            host.close()
        if isinstance(error, Refused) and not in_tls and held[:1] == b"\x16":
            with suppress(OSError):
                await client.write(tls.UNRECOGNISED_NAME)
        raise


async def _soon(client: Stream, failed: Failed) -> bytes:
    """What a client says without having heard anything; one that waits learns that it failed."""
    try:
        return await asyncio.wait_for(client.read(), _SOON)
    except TimeoutError:
        raise failed from None


async def _first_word(client: Stream, host: Stream) -> bytes | None:
    """What the client says before the host says anything; None where the host was first."""
    while True:
        said = host.poll()
        # Attack: a client that waits until its host gives up on it (408) would be unread after.
        if said is not None and said.startswith(b"HTTP/"):
            raise Failed(BROKEN)
        if said:
            host.put_back(said)
            return None
        heard = b"" if said is not None else client.poll()
        if heard is not None:
            return heard
        await either_readable(client, host)


def _speaks(held: bytes, name: str, *, web_only: bool, in_tls: bool) -> Speaks | None:
    """What this is the beginning of; None where that cannot be said yet."""
    if held[:1] == b"\x16" and not in_tls:
        hello = tls.read(held)
        if not hello.complete:
            return None
        if hello.unreadable and not web_only and held[1:2] != b"\x03":
            return Speaks.OTHER
        refusal = _refusal(hello, name)
        if refusal:
            raise Refused(refusal)
        return Speaks.TLS
    if framing.PREFACE.startswith(held[: len(framing.PREFACE)]):
        if len(held) >= len(framing.PREFACE):
            raise Refused(HTTP_2)
        return None
    like_http = http.looks_like(held)
    if like_http:
        return Speaks.HTTP
    if like_http is None and len(held) <= http.LARGEST_LINE:
        return None
    if web_only:
        raise Refused(NOT_HTTP if in_tls else UNREADABLE)
    return Speaks.OTHER


def _refusal(hello: tls.Hello, name: str) -> str:
    if hello.unreadable:
        return UNREADABLE
    if hello.hidden_name:
        return HIDDEN_NAME
    if not hello.name:
        return NO_NAME
    return "" if normal(hello.name) == name else OTHER_NAME
