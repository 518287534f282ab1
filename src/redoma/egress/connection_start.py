"""How a connection begins: in which protocol, and for whom; nothing of it is taken away.

Where only the web is granted, anything but TLS and HTTP is refused. On a port that was granted by
its number other protocols pass, and so it matters that no request is taken for one of them.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from enum import Enum

from redoma.egress import downstream, tls_hello
from redoma.egress.async_streams import either_readable
from redoma.egress.downstream import PREFACE, looks_like
from redoma.egress.exchange import RequestRefused, UpstreamFailed
from redoma.model.network import (
    BROKEN,
    HIDDEN_NAME,
    HTTP_2,
    NO_NAME,
    NOT_HTTP,
    OTHER_NAME,
    UNREADABLE,
)
from redoma.model.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.egress.async_streams import SocketStream
    from redoma.egress.connection import GatedConnection

_SOON = 1.0


class SpokenProtocol(Enum):
    """What a connection is."""

    TLS = "tls"
    HTTP = "http"
    HTTP_2 = "http/2"
    OTHER = "other"
    NOTHING = "nothing"


class ConnectionStart(Value):
    """What is spoken; a connection to the host where one had to be made to find out."""

    speaks: SpokenProtocol
    host: SocketStream | None = None
    # Whether a client of TLS offers HTTP/2.
    offers_http_2: bool = False


async def begins(connection: GatedConnection, *, in_tls: bool = False) -> ConnectionStart:
    """What a client begins with; everything that was read is there to be read again.

    Where only the web is granted, anything else is Refused. On a port that was granted by its
    number the host may speak first, and then it is neither TLS nor HTTP.
    """
    host, failed = None, None
    held = bytearray()
    try:
        if connection.web_only:
            first: bytes | None = await connection.stream.read()
        else:
            try:
                host = await connection.upstream.connected()
                first = await _first_word(connection.stream, host)
            except UpstreamFailed as error:
                # A client that asks something is told why it gets no answer.
                failed = error
                first = await _soon(connection.stream, error)
        told = 0
        while first:
            connection.patience(downstream.HEAD_SECONDS)
            held += first
            start = _spoken(connection, held, in_tls=in_tls)
            if start is not None:
                if failed is not None and start.speaks is SpokenProtocol.OTHER:
                    raise failed
                if told and host is not None and start.speaks is not SpokenProtocol.OTHER:
                    host.close()  # it has heard a beginning that is written anew
                    host, told = None, 0
                connection.stream.put_back(bytes(held[told:]))
                return replace(start, host=host)
            if host is None or (held[:1] == b"\x16" and not in_tls):
                first = await connection.stream.read()
                continue
            # A word that may become a request, or is one of another protocol already. No host takes
            # it for a request yet: a line has an end.
            await host.write(held[told:])
            told = len(held)
            connection.deadline = float("inf")
            first = await _first_word(connection.stream, host)
        if first is None:
            connection.stream.put_back(bytes(held[told:]))
            return ConnectionStart(speaks=SpokenProtocol.OTHER, host=host)
        connection.stream.put_back(bytes(held[told:]))
        kind = SpokenProtocol.OTHER if held and host is not None else SpokenProtocol.NOTHING
        return ConnectionStart(speaks=kind, host=host)
    except BaseException as error:
        if host is not None:
            host.close()
        if isinstance(error, RequestRefused) and not in_tls and held[:1] == b"\x16":
            with suppress(OSError):
                await connection.stream.write(tls_hello.UNRECOGNISED_NAME)
                connection.polite = True
        raise


def _spoken(
    connection: GatedConnection, held: bytearray, *, in_tls: bool
) -> ConnectionStart | None:
    """What this is the beginning of; None where that cannot be said yet."""
    if held[:1] == b"\x16" and not in_tls:
        hello = tls_hello.read(held)
        if not hello.complete:
            return None
        if hello.unreadable and not connection.web_only and held[1:2] != b"\x03":
            return ConnectionStart(speaks=SpokenProtocol.OTHER)
        refusal = _refusal(hello, connection.name)
        if refusal:
            raise RequestRefused(refusal)
        return ConnectionStart(speaks=SpokenProtocol.TLS, offers_http_2="h2" in hello.protocols)
    if PREFACE.startswith(held[: len(PREFACE)]):
        if len(held) < len(PREFACE):
            return None
        asks = connection.inspected and not in_tls and not connection.gate.reach.mock
        if asks and not connection.gate.reach.caches(connection.name) and http_2_is_there():
            return ConnectionStart(speaks=SpokenProtocol.HTTP_2)
        if connection.web_only or connection.inspected:
            raise RequestRefused(HTTP_2 if connection.inspected else UNREADABLE)
        return ConnectionStart(speaks=SpokenProtocol.OTHER)
    like_http = looks_like(held)
    if like_http:
        return ConnectionStart(speaks=SpokenProtocol.HTTP)
    if like_http is None and len(held) <= downstream.LARGEST_HEAD:
        return None
    if connection.web_only or like_http is None:
        raise RequestRefused(NOT_HTTP if in_tls else UNREADABLE)
    return ConnectionStart(speaks=SpokenProtocol.OTHER)


def http_2_is_there() -> bool:
    """Whether what reads HTTP/2 is installed."""
    from importlib.util import find_spec

    return find_spec("h2") is not None


async def _soon(client: SocketStream, failed: UpstreamFailed) -> bytes:
    """What a client says without having heard anything; one that waits learns that it failed."""
    try:
        async with asyncio.timeout(_SOON):
            return await client.read()
    except TimeoutError:
        raise failed from None


async def _first_word(client: SocketStream, host: SocketStream) -> bytes | None:
    """What the client says before the host says anything; None where the host was first."""
    while True:
        said = host.poll()
        # Attack: a client that waits until its host gives up on it (408) would be unread after.
        if said is not None and said.startswith(b"HTTP/"):
            raise UpstreamFailed(BROKEN)
        if said:
            host.put_back(said)
            return None
        heard = b"" if said is not None else client.poll()
        if heard is not None:
            return heard
        await either_readable(client, host)


def _refusal(hello: tls_hello.ClientHello, name: str) -> str:
    if hello.unreadable:
        return UNREADABLE
    if hello.hidden_name:
        return HIDDEN_NAME
    if not hello.name:
        return NO_NAME
    return "" if hello.name.lower() == name else OTHER_NAME
