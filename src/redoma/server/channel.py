"""A terminal's channel: a WebSocket that says by a ticket who it is, and then carries frames."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from starlette.websockets import WebSocket, WebSocketDisconnect

from redoma.model.errors import RedomaError
from redoma.sessions import frames
from redoma.sessions.frames import BadFrame, FrameKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.sessions.house import Sessions
    from redoma.sessions.session import Session
    from redoma.sessions.tickets import Bearer
    from redoma.sessions.viewer import Viewer

operator = logging.getLogger(__name__)
_FIRST_MESSAGE = 10.0
_REFUSED = 4401
_BAD = 4400


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

    async def run(self) -> None:
        """Sends and receives until one side ends."""
        tasks = {asyncio.ensure_future(self._send()), asyncio.ensure_future(self._receive())}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _send(self) -> None:
        while True:
            batch = await self._viewer.next()
            if not batch:
                break
            for frame in batch:
                await self._socket.send_bytes(frame)
        with suppress(RuntimeError):
            await self._socket.close(1000, self._viewer.close_reason)

    async def _receive(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] != "websocket.receive":
                return
            data = message.get("bytes")
            try:
                if data is None:
                    raise BadFrame("a text was sent where frames are")
                frame = frames.received(data)
            except BadFrame as error:
                operator.info("session %s: a connection is ended: %s", self._session.id, error)
                with suppress(RuntimeError):
                    await self._socket.close(_BAD, str(error)[:100])
                return
            if frame.kind is FrameKind.CONTROL:
                if frame.control.get("type") == "bye":
                    return
            else:
                self._session.take(self._viewer, frame)
