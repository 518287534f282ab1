"""The client's side of HTTP/1: its requests one after the other, each read strictly.

Attack: a request that the gate reads as one and the host as two, the second of which nobody has
judged (request smuggling). What is not written as everybody writes it is refused, and what passes
is written anew before the host gets it.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import aclosing, suppress
from http import HTTPStatus

import h11

from redoma.egress.exchange import RequestBody, RequestRefused, UpstreamFailed
from redoma.egress.hosts import canonical
from redoma.model.network import (
    BROKEN,
    HEAD_TOO_LARGE,
    HTTP_2,
    NO_NAME,
    OTHER_NAME,
    TUNNEL,
    UNREADABLE,
)
from redoma.model.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from typing import TypeAlias

    Fields: TypeAlias = list[tuple[bytes, bytes]]
    # Says how many seconds from now something has to happen.
    Patience: TypeAlias = Callable[[float], None]

    from redoma.egress.async_streams import SocketStream
    from redoma.egress.exchange import Headers, HttpResponse

LARGEST_HEAD = 1 << 16
PREFACE = b"PRI * HTTP/2.0"
TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]"
_LINE = re.compile(rb"(" + TOKEN + rb"{1,32}) ([\x21-\x7e]+) HTTP/1\.([01])\Z")
_NAME = re.compile(TOKEN + rb"+\Z")
_VALUE = re.compile(rb"[\x09\x20-\x7e\x80-\xff]*\Z")
_ABSOLUTE = re.compile(r"(https?)://([^/?#@]+)([/?][^#]*)?\Z", re.I)
_AUTHORITY = re.compile(r"([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{0,5}))?\Z")
_LENGTH = re.compile(rb"[0-9]{1,18}\Z")
# What HTTP begins with: a method, and a path; or anything whose first line says that it is HTTP.
_BEGINS = re.compile(rb"\s*[A-Z]{1,32}[ \t]+(?:/|\*|https?://)", re.I)
_MAY_BEGIN = re.compile(rb"(?:" + TOKEN + rb"*|" + TOKEN + rb"+[ \t][^\r\n\0]*)\r?\Z")
_BARE_LF = re.compile(rb"(?<!\r)\n")
_LARGEST_LINE = 1 << 16
_MOST_FIELDS = 200
_LINGER_SECONDS, _LINGER_BYTES = 1.0, 1 << 20
_SWITCHING = 101
_WITHOUT_BODY = (204, 304)
IDLE_SECONDS, HEAD_SECONDS, BODY_SECONDS = 300.0, 60.0, 300.0


def looks_like(data: bytes | bytearray) -> bool | None:
    """Whether this is how HTTP/1 begins, to the most lenient reader; None where it may be yet.

    Attack: blanks where nobody expects them, a method that nobody knows, or a line without an end:
    what we took for another protocol would pass unread, and the host would read a request.
    """
    if _BEGINS.match(data):
        return True
    line, ended, _ = bytes(data[:_LARGEST_LINE]).lstrip().partition(b"\n")
    if ended:
        return b"HTTP/" in line.upper()
    return None if _MAY_BEGIN.match(line) else False


class RequestHead(Value):
    """What a request asks for, or why it is refused."""

    refusal: str = ""
    method: str = ""
    # In the form that a host gets: a path and a query, or `*`; of a tunnel its other end.
    target: str = ""
    # `host` is written anew: whatever the client wrote only means the same.
    fields: tuple[tuple[bytes, bytes], ...] = ()
    old: bool = False
    length: int | None = None
    chunked: bool = False


def read(head: bytes, name: str, port: int, scheme: str) -> RequestHead:
    """The request whose head this is, up to its empty line, to a host on a connection of `name`."""
    if head.startswith(PREFACE):
        return RequestHead(refusal=HTTP_2)
    lines = head.split(b"\r\n")
    if any(mark in line for line in lines for mark in (b"\r", b"\n", b"\0")):
        return RequestHead(refusal=UNREADABLE)
    asked = _LINE.match(lines[0])
    fields = _fields(lines[1:])
    if asked is None or fields is None:
        return RequestHead(refusal=UNREADABLE)
    made = RequestHead(
        method=asked[1].decode(),
        target=asked[2].decode(),
        fields=tuple(fields),
        old=asked[3] == b"0",
    )
    return _body_framed(_meant_for(made, name, port, scheme))


def _fields(lines: list[bytes]) -> Fields | None:
    if len(lines) > _MOST_FIELDS:
        return None
    found: Fields = []
    for line in lines:
        # A line that begins with a space continues the one before for some, and not for others.
        name, colon, value = line.partition(b":")
        if not colon or not _NAME.match(name) or not _VALUE.match(value):
            return None
        found.append((name.lower(), value.strip(b" \t")))
    return found


def _meant_for(head: RequestHead, name: str, port: int, scheme: str) -> RequestHead:
    """The same, where everything in it names the host that the connection is for."""
    hosts = [value for key, value in head.fields if key == b"host"]
    if len(hosts) != 1:
        return RequestHead(refusal=UNREADABLE if hosts else NO_NAME)
    if head.method.upper() == "CONNECT":
        return replace(head, refusal=TUNNEL)
    own = authority(hosts[0].decode("latin-1"), name, port, scheme)
    if not own:
        return RequestHead(refusal=OTHER_NAME)
    head = replace(
        head,
        fields=tuple((key, own if key == b"host" else value) for key, value in head.fields),
    )
    if head.target.startswith("/"):
        # Attack: `//other.example/` is a path to some, and another host to others.
        return head if "#" not in head.target else RequestHead(refusal=UNREADABLE)
    if head.target == "*" and head.method == "OPTIONS":
        return head
    absolute = _ABSOLUTE.match(head.target)
    if absolute is None:
        return RequestHead(refusal=UNREADABLE)
    if absolute[1].lower() != scheme or not authority(absolute[2], name, port, scheme):
        return RequestHead(refusal=OTHER_NAME)
    rest = absolute[3] or "/"
    return replace(head, target=rest if rest.startswith("/") else f"/{rest}")


def authority(given: str, name: str, port: int, scheme: str) -> bytes:
    """`HOST` or `HOST:PORT` as the gate writes it; nothing where it is another host or port.

    Attack: a name that only becomes the granted one when it is normalised (a soft hyphen, a
    letter that looks like another) is a different host to a server that does not.
    """
    found = _AUTHORITY.match(given)
    if found is None:
        return b""
    host = found[1].lower()
    if name:
        if host.removesuffix(".") != name:
            return b""
        host = name
    elif not canonical(host):  # behind a mock an address stands for itself
        return b""
    usual = port == (443 if scheme == "https" else 80)
    # Without a port it is the scheme's own; on a port of its own some clients leave it out.
    if found[2] is not None and found[2] != str(port) and not (usual and found[2] == ""):
        return b""
    return (host if usual or found[2] is None else f"{host}:{port}").encode()


def _body_framed(head: RequestHead) -> RequestHead:
    """The same, with how long its body is; one of two lengths is refused."""
    if head.refusal:
        return head
    lengths = [value for key, value in head.fields if key == b"content-length"]
    codings = [value.lower() for key, value in head.fields if key == b"transfer-encoding"]
    if codings:
        if lengths or head.old or codings != [b"chunked"]:
            return RequestHead(refusal=UNREADABLE)
        return replace(head, chunked=True)
    if len(lengths) > 1 or (lengths and not _LENGTH.match(lengths[0])):
        return RequestHead(refusal=UNREADABLE)
    return replace(head, length=int(lengths[0])) if lengths else head


def nothing() -> RequestBody:
    """The body of a request that has none."""

    async def pieces() -> AsyncIterator[bytes]:
        for piece in list[bytes]():
            yield piece

    async def unasked() -> None:
        return

    return RequestBody(pieces(), unasked, empty=True)


class DownstreamClient:
    """A program that sends requests over a stream."""

    def __init__(self, stream: SocketStream, patience: Patience = lambda _: None) -> None:
        self.stream = stream
        # What was read already, and belongs to the next request.
        self._heard = b""
        self._connection = h11.Connection(h11.SERVER)
        self._unsent = b""
        self._patience = patience
        self.answering = False

    async def next_head(self) -> bytes | None:
        """The head of the next request without its empty line; None when there is no other."""
        held = bytearray(self._heard.lstrip(b"\r\n"))
        self.answering = False
        self._patience(HEAD_SECONDS if held else IDLE_SECONDS)
        seen = 0
        while (end := held.find(b"\r\n\r\n", max(0, seen - 3))) < 0:
            # Attack: line ends that one reader takes for an empty line, and the other waits for.
            if _BARE_LF.search(held, max(0, seen - 1)):
                raise RequestRefused(UNREADABLE)
            if len(held) > LARGEST_HEAD:
                raise RequestRefused(HEAD_TOO_LARGE)
            seen = len(held)
            data = await self.stream.read()
            if not data:
                return None
            if not held:
                self._patience(HEAD_SECONDS)
                data = data.lstrip(b"\r\n")
            held += data
        if end > LARGEST_HEAD:
            raise RequestRefused(HEAD_TOO_LARGE)
        self._heard = bytes(held[end + 4 :])
        return bytes(held[:end])

    def rest(self) -> bytes:
        """What the client has sent behind its last request."""
        heard, self._heard = self._heard, b""
        return heard

    def begin(self, raw: bytes, head: RequestHead) -> RequestBody:
        """Goes on with a request whose head was judged; what comes with it."""
        # One for each request: nothing of one of them can be taken for a part of another.
        self._connection = h11.Connection(h11.SERVER, max_incomplete_event_size=_LARGEST_LINE)
        self._connection.receive_data(raw + b"\r\n\r\n")
        try:
            self._connection.next_event()
        except h11.RemoteProtocolError as error:
            raise RequestRefused(UNREADABLE) from error  # two readers differ over it already
        empty = not head.chunked and not head.length
        if empty:
            self._connection.next_event()
        elif self._heard:
            self._connection.receive_data(self.rest())
        return RequestBody(self._pieces(), self._ask_for_it, empty=empty)

    async def _pieces(self) -> AsyncIterator[bytes]:
        connection = self._connection
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                self._patience(BODY_SECONDS)
                connection.receive_data(await self.stream.read())
            elif isinstance(event, h11.Data):
                yield bytes(event.data)
            else:
                return

    async def _ask_for_it(self) -> None:
        if self._connection.they_are_waiting_for_100_continue:
            await self.inform(100, ())

    async def inform(self, status: int, headers: Headers) -> None:
        """Passes on what comes before an answer."""
        if self._connection.our_state is h11.SEND_RESPONSE:
            said = h11.InformationalResponse(status_code=status, headers=list(headers))
            await self.stream.write(self._connection.send(said) or b"")

    async def answer(self, response: HttpResponse, method: str) -> bool:
        """Sends an answer as it comes; whether another request may follow."""
        connection = self._connection
        self.answering = True
        head = h11.Response(
            status_code=response.status,
            headers=_framed(response, method),
            reason=response.reason,
        )
        try:
            # What comes first goes out together with the head: most answers are a single packet.
            self._unsent = connection.send(head) or b""
            if isinstance(response.body, bytes):
                if response.body and method != "HEAD" and response.status not in _WITHOUT_BODY:
                    await self._send(h11.Data(data=response.body))
            else:
                async with aclosing(response.body) as pieces:  # type: ignore[type-var]
                    async for piece in pieces:
                        await self._send(h11.Data(data=piece))
            await self._send(h11.EndOfMessage())
        except h11.LocalProtocolError as error:
            raise UpstreamFailed(BROKEN) from error  # the host has promised another length
        if connection.our_state is h11.DONE and connection.their_state is h11.DONE:
            self._heard = connection.trailing_data[0] + self._heard
            return True
        await self.linger()
        return False

    async def _send(self, event: h11.Event) -> None:
        parts = self._connection.send_with_data_passthrough(event) or []
        unsent, self._unsent = self._unsent, b""
        if unsent or len(parts) > 1:
            await self.stream.write(b"".join((unsent, *parts)))
        elif parts and parts[0]:
            await self.stream.write(parts[0])

    async def switch(self, response: HttpResponse) -> None:
        """Tells that another protocol begins; what the client has sent of it is put back."""
        self.answering = True
        kind = h11.InformationalResponse if response.status == _SWITCHING else h11.Response
        said = kind(
            status_code=response.status, headers=list(response.headers), reason=response.reason
        )
        await self.stream.write(self._connection.send(said) or b"")
        self.stream.put_back(self._connection.trailing_data[0] + self.rest())

    async def refuse(self, status: int, why: str) -> int:
        """Answers in place of the host, and ends the connection; the status that was sent."""
        if self.answering:
            return 0
        self.answering = True
        body = f"redoma: {why}\n".encode()
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
            f"Content-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n"
        )
        with suppress(OSError, RequestRefused):
            await self.stream.write(head.encode() + body)
            await self.linger()
        return status

    async def linger(self) -> None:
        """Ends our side, and lets the client read what was said before its own is cut off."""
        with suppress(OSError, RequestRefused):
            await self.stream.end()
            await asyncio.wait_for(self._drain(), _LINGER_SECONDS)

    async def _drain(self) -> None:
        left = _LINGER_BYTES
        while left > 0 and (data := await self.stream.read()):
            left -= len(data)


def _framed(response: HttpResponse, method: str) -> list[tuple[bytes, bytes]]:
    """The headers of an answer; one of which all is there says how long it is."""
    made = list(response.headers)
    known = any(name == b"content-length" for name, _ in made)
    if known or method == "HEAD" or response.status in _WITHOUT_BODY:
        return made
    if isinstance(response.body, bytes):
        made.append((b"content-length", str(len(response.body)).encode()))
    return made
