"""The same frames on a WebRTC data channel, negotiated over the WebSocket."""

from __future__ import annotations

from importlib.util import find_spec


def available() -> bool:
    """Whether what it needs is installed."""
    return find_spec("aiortc") is not None
