"""The client's side of a connection that is read: its requests one after the other."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress

import h11

from redoma.egress import framing
from redoma.egress.requests import Body, Failed, Refused
from redoma.model.network import BROKEN, UNREADABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from redoma.egress.requests import Headers, Response
    from redoma.egress.streams import Stream

_LINGER_SECONDS, _LINGER_BYTES = 1.0, 1 << 20
_LARGEST_LINE = 1 << 16
_SWITCHING = 101
_WITHOUT_BODY = (204, 304)


class Client:
    """A program that sends requests over a stream."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        # What was read already, and belongs to the next request.
        self._heard = b""
        self._connection = h11.Connection(h11.SERVER)
        self._unsent = b""
        self.answering = False

    async def next_head(self) -> bytes | None:
        """The head of the next request without its empty line; None when there is no other."""
        held = self._heard.lstrip(b"\r\n")
        while (end := held.find(b"\r\n\r\n")) < 0:
            if len(held) > framing.LARGEST_HEAD:
                raise Refused(UNREADABLE)
            data = await self.stream.read()
            if not data:
                return None
            held = (held + data).lstrip(b"\r\n") if not held else held + data
        if end > framing.LARGEST_HEAD:
            raise Refused(UNREADABLE)
        self._heard = held[end + 4 :]
        self.answering = False
        return held[:end]

    def begin(self, raw: bytes, head: framing.Head) -> Body:
        """Goes on with a request whose head was judged; what comes with it."""
        # One for each request: nothing of one of them can be taken for a part of another.
        self._connection = h11.Connection(h11.SERVER, max_incomplete_event_size=_LARGEST_LINE)
        self._connection.receive_data(raw + b"\r\n\r\n")
        try:
            self._connection.next_event()
        except h11.RemoteProtocolError as error:
            raise Refused(UNREADABLE) from error  # two readers differ over it already
        empty = not head.chunked and not head.length
        if empty:
            self._connection.next_event()
        elif self._heard:
            self._connection.receive_data(self._heard)
            self._heard = b""
        return Body(self._pieces(), self._ask_for_it, empty=empty)

    async def _pieces(self) -> AsyncIterator[bytes]:
        connection = self._connection
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
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

    async def answer(self, response: Response, method: str) -> bool:
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
            raise Failed(BROKEN) from error  # the host has promised another length
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

    async def switch(self, response: Response) -> None:
        """Tells that another protocol begins; what the client has sent of it is put back."""
        self.answering = True
        said = h11.InformationalResponse(
            status_code=_SWITCHING, headers=list(response.headers), reason=response.reason
        )
        await self.stream.write(self._connection.send(said) or b"")
        self.stream.put_back(self._connection.trailing_data[0] + self._heard)
        self._heard = b""

    async def refuse(self, status: int, why: str) -> int:
        """Answers in place of the host, and ends the connection; the status that was sent."""
        if self.answering:
            return 0
        self.answering = True
        body = f"redoma: {why}\n".encode()
        reason = {403: "Forbidden", 502: "Bad Gateway"}[status]
        head = (
            f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        with suppress(OSError, Refused):
            await self.stream.write(head.encode() + body)
            await self.linger()
        return status

    async def linger(self) -> None:
        """Ends our side, and lets the client read what was said before its own is cut off."""
        with suppress(OSError, Refused):
            await self.stream.end()
            await asyncio.wait_for(self._drain(), _LINGER_SECONDS)

    async def _drain(self) -> None:
        left = _LINGER_BYTES
        while left > 0 and (data := await self.stream.read()):
            left -= len(data)


def _framed(response: Response, method: str) -> list[tuple[bytes, bytes]]:
    """The headers of an answer; one of which all is there says how long it is."""
    made = list(response.headers)
    known = any(name == b"content-length" for name, _ in made)
    if known or method == "HEAD" or response.status in _WITHOUT_BODY:
        return made
    if isinstance(response.body, bytes):
        made.append((b"content-length", str(len(response.body)).encode()))
    return made
