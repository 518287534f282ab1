"""The frames between a terminal and whoever watches it: a byte for the kind, then the content.

The same on a WebSocket and on a data channel. Numbers stand in network order. `sequence` counts
the bytes of output that a session has shown before a frame.
"""

from __future__ import annotations

import json
import struct
from enum import IntEnum

from redoma.model.value import Value
from redoma.sessions.errors import SessionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PROTOCOL = 1
LARGEST_FRAME = 64 << 10
"""What may come in one message; whoever sends more is cut off."""
PART = 48 << 10
"""What is sent in one message: a data channel carries no larger one everywhere."""
MOST_COLUMNS, MOST_ROWS = 500, 300
LEAST_COLUMNS, LEAST_ROWS = 2, 1
_SIZE = struct.Struct("!HH")
_SEQUENCE = struct.Struct("!Q")
_SNAPSHOT = struct.Struct("!QHH")


class FrameKind(IntEnum):
    """What a frame carries."""

    __hash__ = int.__hash__

    OUTPUT = 0x01
    SNAPSHOT = 0x02
    INPUT = 0x03
    RESIZE = 0x04
    CONTROL = 0x05
    ACK = 0x06
    PING = 0x07
    PONG = 0x08
    MORE = 0x09  # what did not fit into the snapshot before it


class BadFrame(SessionError):
    """A frame that no page of ours sends."""

    code = "bad-frame"


class Received(Value):
    """A frame from someone who watches, read."""

    kind: FrameKind
    data: bytes = b""
    number: int = 0  # of ACK, PING and PONG
    columns: int = 0
    rows: int = 0
    control: Mapping[str, object] = {}


_FROM_GUESTS = frozenset(
    {
        *(FrameKind.INPUT, FrameKind.RESIZE, FrameKind.CONTROL),
        *(FrameKind.ACK, FrameKind.PING, FrameKind.PONG),
    }
)


def received(frame: bytes) -> Received:
    """A frame that came in; BadFrame for whatever is none."""
    if not frame or len(frame) > LARGEST_FRAME:
        raise BadFrame("a frame of {size} bytes was sent", size=len(frame))
    number, data = frame[0], bytes(frame[1:])
    if number not in _FROM_GUESTS:
        raise BadFrame("a frame of the unknown kind {number} was sent", number=number)
    kind = FrameKind(number)
    if kind is FrameKind.INPUT:
        return Received(kind=kind, data=data)
    if kind is FrameKind.CONTROL:
        return Received(kind=kind, control=control_message(data))
    if kind is FrameKind.RESIZE:
        if len(data) != _SIZE.size:
            raise BadFrame("a size of {size} bytes was sent", size=len(data))
        columns, rows = bounded(*_SIZE.unpack(data))
        return Received(kind=kind, columns=columns, rows=rows)
    if len(data) != _SEQUENCE.size:
        raise BadFrame("a number of {size} bytes was sent", size=len(data))
    return Received(kind=kind, number=_SEQUENCE.unpack(data)[0])


def control_message(data: bytes | str) -> dict[str, object]:
    """A control message: a JSON object that says its type."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise BadFrame("a control message that is no JSON was sent") from None
    if not isinstance(found, dict) or not isinstance(found.get("type", ""), str):
        raise BadFrame("a control message that is no object with a type was sent")
    return found


def bounded(columns: int, rows: int) -> tuple[int, int]:
    """The nearest size that a terminal may have."""
    return (
        max(LEAST_COLUMNS, min(MOST_COLUMNS, columns)),
        max(LEAST_ROWS, min(MOST_ROWS, rows)),
    )


def output(sequence: int, data: bytes) -> bytes:
    return b"\x01" + _SEQUENCE.pack(sequence) + data


def snapshot(sequence: int, columns: int, rows: int, data: bytes) -> Iterator[bytes]:
    """The frames that draw a screen anew."""
    yield b"\x02" + _SNAPSHOT.pack(sequence, columns, rows) + data[:PART]
    for start in range(PART, len(data), PART):
        yield b"\x09" + data[start : start + PART]


def resized(columns: int, rows: int) -> bytes:
    return b"\x04" + _SIZE.pack(columns, rows)


def control(message: Mapping[str, object]) -> bytes:
    return b"\x05" + json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "replace"
    )


def ping(number: int) -> bytes:
    return b"\x07" + _SEQUENCE.pack(number)


def pong(number: int) -> bytes:
    return b"\x08" + _SEQUENCE.pack(number)
