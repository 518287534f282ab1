"""A terminal's channel: a WebSocket that says by a ticket who it is, and then carries frames."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from starlette.websockets import WebSocket, WebSocketDisconnect

from redoma.model.errors import RedomaError
from redoma.server.data_channel import LABEL, DataChannel, available
from redoma.sessions import frames
from redoma.sessions.frames import BadFrame, FrameKind
from redoma.sessions.tickets import SingleUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from redoma.sessions.house import Sessions
    from redoma.sessions.session import Session
    from redoma.sessions.tickets import Bearer
    from redoma.sessions.viewer import Viewer

operator = logging.getLogger(__name__)
_FIRST_MESSAGE = 10.0
_REFUSED = 4401
_BAD = 4400
_OF_THE_TERMINAL = frozenset(
    {FrameKind.OUTPUT, FrameKind.SNAPSHOT, FrameKind.MORE, FrameKind.RESIZE}
)


class Channels:
    """Serves every channel of a server."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def serve(self, socket: WebSocket) -> None:
        """One connection from its ticket to its end."""
        await socket.accept()
        try:
            session, whose = await self._admitted(socket)
            viewer = session.attach(whose.guest)
        except (RedomaError, TimeoutError) as error:
            with suppress(RuntimeError):
                await socket.close(_REFUSED, str(error)[:100])
            return
        except WebSocketDisconnect:
            return
        channel = Channel(socket, session, viewer)
        try:
            await channel.run()
        finally:
            session.detach(viewer)

    async def _admitted(self, socket: WebSocket) -> tuple[Session, Bearer]:
        """Whose ticket the first message carries; a ticket for another session is none."""
        async with asyncio.timeout(_FIRST_MESSAGE):
            first = await socket.receive()
        text = first.get("text")
        if first["type"] != "websocket.receive" or not text or len(text) > 4096:
            raise BadFrame("a channel begins with its ticket")
        said = frames.control_message(text)
        whose = self._sessions.tickets.take(str(said.get("ticket", "")))
        if whose is None or whose.session != socket.path_params["id"]:
            raise BadFrame("this ticket was used, or is over")
        if said.get("protocol") != frames.PROTOCOL:
            raise BadFrame("this page speaks another version of the protocol")
        return self._sessions.running(whose.session), whose


class Channel:
    """One connection that is known."""

    def __init__(self, socket: WebSocket, session: Session, viewer: Viewer) -> None:
        self._socket = socket
        self._session = session
        self._viewer = viewer
        self._offers: SingleUse[str] = SingleUse()
        self._offered = viewer.is_host or not available()
        self._data: DataChannel | None = None
        self._by_data = False

    async def run(self) -> None:
        """Sends and receives until one side ends."""
        tasks = {asyncio.ensure_future(self._send()), asyncio.ensure_future(self._receive())}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if self._data is not None:
                await self._data.close()

    async def _send(self) -> None:
        while True:
            batch = await self._viewer.next()
            if not batch:
                break
            for frame in batch:
                if frame[0] == FrameKind.SNAPSHOT:
                    # Only here: what was meant for one way never overtakes it on the other.
                    self._by_data = self._data is not None and self._data.is_open
                    self._offer()
                if self._by_data and self._data is not None and frame[0] in _OF_THE_TERMINAL:
                    await self._data.send(frame)
                else:
                    await self._socket.send_bytes(frame)
        with suppress(RuntimeError):
            await self._socket.close(1000, self._viewer.close_reason)

    async def _receive(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] != "websocket.receive":
                return
            try:
                data = message.get("bytes")
                if data is None:
                    raise BadFrame("a text was sent where frames are")
                frame = frames.received(data)
            except BadFrame as error:
                await self._end(error)
                return
            if frame.kind is not FrameKind.CONTROL:
                self._session.take(self._viewer, frame)
            elif frame.control.get("type") == "bye":
                return
            elif frame.control.get("type") == "rtc-offer":
                await self._negotiate(frame.control)

    async def _end(self, error: BadFrame) -> None:
        operator.info("session %s: a connection is ended: %s", self._session.id, error)
        with suppress(RuntimeError):
            await self._socket.close(_BAD, str(error)[:100])

    # The data channel

    def _offer(self) -> None:
        """A guest who watches may ask for a data channel, once for each ticket."""
        if not self._offered:
            self._offered = True
            self._viewer.tell({"type": "rtc-ticket", "ticket": self._offers.issue(LABEL)})

    async def _negotiate(self, asked: Mapping[str, object]) -> None:
        # Attack: an offer that was sent before is sent again, or one by who was never let in.
        ticket, offer = str(asked.get("ticket", "")), asked.get("sdp")
        if not self._offers.take(ticket) or not self._viewer.watching:
            self._viewer.tell({"type": "notice", "code": "webrtc", "message": "no ticket"})
            return
        if self._data is not None:
            await self._data.close()
        self._data = DataChannel(self._by_channel, self._switch)
        try:
            answer = await self._data.answer(str(offer))
        except ValueError as error:
            self._viewer.tell({"type": "notice", "code": "webrtc", "message": str(error)})
            return
        self._viewer.tell({"type": "rtc-answer", "sdp": answer})

    def _by_channel(self, data: bytes) -> None:
        """A frame that came by the data channel: no more may come there than on the WebSocket."""
        try:
            frame = frames.received(data)
        except BadFrame as error:
            operator.info("session %s: a connection is ended: %s", self._session.id, error)
            self._viewer.end("bad frame")
            return
        if frame.kind is not FrameKind.CONTROL:
            self._session.take(self._viewer, frame)

    def _switch(self) -> None:
        """The data channel opened, or is gone: the screen is drawn anew the other way."""
        by_data = self._data is not None and self._data.is_open
        if not by_data:
            self._by_data = False
        self._session.guests.carried_by(
            self._viewer.guest, self._viewer, "webrtc" if by_data else "websocket"
        )
        self._viewer.draw_anew()
