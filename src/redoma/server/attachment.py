"""A person's own terminal as the host's view of a session."""

from __future__ import annotations

import os
import select
import struct
import threading

from redoma.base import signals
from redoma.server.address_file import running_server
from redoma.server.client import call, tls_of
from redoma.sessions import frames
from redoma.sessions.errors import SessionError
from redoma.sessions.frames import FrameKind

_LEAVE = b"\x1d"
_PATIENCE = 60.0


def attach(session: str) -> int:
    """Shows the session here until it ends or Ctrl-] is pressed; the session goes on then."""
    import json

    from websockets.exceptions import ConnectionClosed, WebSocketException
    from websockets.sync.client import connect

    from redoma.pipeline.this_host import raw

    address = running_server()
    ticket = call("POST", f"/api/sessions/{session}/ticket", {})["ticket"]
    url = address.url.replace("http", "ws", 1) + f"/api/sessions/{session}/channel"
    status = [0]
    try:
        opened = connect(
            url, ssl=tls_of(address), compression=None, max_size=None, open_timeout=_PATIENCE
        )
    except (OSError, WebSocketException) as error:
        raise SessionError(
            "the server at {url} does not answer: {why}",
            url=address.url,
            why=str(error),
            hint="redoma serve",
        ) from error
    with opened as socket:
        socket.send(json.dumps({"ticket": ticket, "protocol": frames.PROTOCOL}))
        read, write = os.pipe()

        def resized(*_: object) -> None:
            os.write(write, b"r")

        def show() -> None:
            try:
                for frame in socket:
                    if isinstance(frame, bytes):
                        shown = _show(frame, status)
                        if shown:
                            socket.send(shown)
            except (ConnectionClosed, OSError):
                pass
            os.write(write, b"e")

        signals.handle(signals.SIGWINCH, resized)
        resized()
        threading.Thread(target=show, daemon=True).start()
        try:
            with raw(0):
                _type(socket, read)
        except ConnectionClosed:
            pass
        finally:
            os.write(1, b"\x1b[0m\x1b[?25h\x1b[?1049l\x1b[?2004l\r\n")
    return status[0]


def _type(socket, events: int) -> None:  # type: ignore[no-untyped-def]
    """Passes keys on until the session is over or left."""
    while True:
        ready, _, _ = select.select([0, events], [], [])
        if events in ready:
            if b"e" in os.read(events, 64):
                return
            size = os.get_terminal_size(1)
            socket.send(frames.resized(size.columns, size.lines))
        if 0 in ready:
            data = os.read(0, 4096)
            keys, leave, _ = data.partition(_LEAVE)
            if keys:
                socket.send(b"\x03" + keys)
            if leave or not data:
                return


def _show(frame: bytes, status: list[int]) -> bytes:
    """Shows a frame; what to answer to it."""
    import json

    kind = frame[0]
    if kind == FrameKind.OUTPUT:
        _write(frame[9:])
        (sequence,) = struct.unpack_from("!Q", frame, 1)
        return b"\x06" + struct.pack("!Q", sequence + len(frame) - 9)
    if kind == FrameKind.SNAPSHOT:
        _write(b"\x1b[0m\x1b[2J\x1b[H" + frame[13:])
        return b"\x06" + frame[1:9]
    if kind == FrameKind.MORE:
        _write(frame[1:])
    elif kind == FrameKind.CONTROL:
        said = json.loads(frame[1:])
        if said.get("type") == "ended":
            status[0] = int(said.get("exit_code") or 0)
    return b""


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]
