"""The same frames on a WebRTC data channel, negotiated over the WebSocket.

The WebSocket stays: who somebody is and what they may do is decided there, and the data channel
only carries what that connection may carry. When one of them goes, the other gains nothing.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib.util import find_spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LABEL = "redoma"
_MOST_BUFFERED, _FEW_BUFFERED = 256 << 10, 64 << 10


def available() -> bool:
    """Whether what it needs is installed."""
    return find_spec("aiortc") is not None


class DataChannel:
    """One peer connection, and the one channel on it."""

    def __init__(self, received: Callable[[bytes], None], changed: Callable[[], None]) -> None:
        """`received` gets each message, `changed` is told when it opens and when it closes."""
        import aiortc

        # No server of others is asked where we are: the addresses of this machine have to do.
        self._peer: Any = aiortc.RTCPeerConnection(aiortc.RTCConfiguration(iceServers=[]))
        self._channel: Any = None
        self._received = received
        self._changed = changed
        self._room = asyncio.Event()
        self._peer.on("datachannel", self._opened)
        self._peer.on("connectionstatechange", self._state)

    @property
    def is_open(self) -> bool:
        return self._channel is not None and self._channel.readyState == "open"

    async def answer(self, offer: str) -> str:
        """The answer to an offer; ValueError where it is none."""
        import aiortc

        try:
            await self._peer.setRemoteDescription(
                aiortc.RTCSessionDescription(sdp=without_mdns(offer), type="offer")
            )
            await self._peer.setLocalDescription(await self._peer.createAnswer())
        except Exception as error:  # its parser raises whatever its parts do
            raise ValueError("this is no offer") from error
        return str(self._peer.localDescription.sdp)

    async def send(self, frame: bytes) -> None:
        """Sends a frame, when the frames before it are on their way; lost where it is closed."""
        while self.is_open and self._channel.bufferedAmount > _MOST_BUFFERED:
            self._room.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await self._room.wait()
        if self.is_open:
            self._channel.send(frame)

    async def close(self) -> None:
        channel, self._channel = self._channel, None
        self._room.set()
        if channel is not None:
            channel.close()
        with suppress(Exception):  # whatever it was in the middle of
            await self._peer.close()

    def _opened(self, channel: Any) -> None:
        if channel.label != LABEL or self._channel is not None:
            channel.close()
            return
        self._channel = channel
        channel.bufferedAmountLowThreshold = _FEW_BUFFERED
        channel.on("bufferedamountlow", self._room.set)
        channel.on("close", self._gone)
        channel.on("message", self._message)
        self._changed()

    def _message(self, data: bytes | str) -> None:
        self._received(data if isinstance(data, bytes) else b"")

    def _state(self) -> None:
        if self._peer.connectionState in ("failed", "closed"):
            self._gone()

    def _gone(self) -> None:
        if self._channel is not None:
            self._channel = None
            self._room.set()
            self._changed()


def without_mdns(offer: str) -> str:
    """An offer without the addresses that only a name on the local network stands for.

    Each would be looked up for a second; the browser is reached at the address it comes from.
    """
    lines = offer.replace("\r\n", "\n").split("\n")
    kept = [
        line
        for line in lines
        if not (line.startswith("a=candidate:") and ".local" in line.partition(" typ ")[0])
    ]
    return "\r\n".join(kept)
