"""Bytes from outside, no more of them than anyone may send."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

# Far above every pack's own limit, which then refuses by length; far below what hurts a machine.
MOST_BYTES = 8 * 1024 * 1024


def read_all(stream: BinaryIO) -> bytes | None:
    """Everything up to the end of the stream; None where there is more than anyone may send."""
    parts: list[bytes] = []
    left = MOST_BYTES + 1
    while left > 0:
        part = stream.read(left)
        if not part:
            return b"".join(parts)
        parts.append(part)
        left -= len(part)
    return None
