"""What a command prints, made safe for a person's terminal: colours stay, orders go.

Attack: an escape sequence in a test's output writes the clipboard, retitles the window, makes the
terminal answer as if keys had been typed, or hides the line that says what happened.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder

# Colour and erasing to the end of a line; everything else that begins with ESC is an order.
_SEQUENCE = re.compile(
    rb"\x1b\[[0-9;:]*[mK]"  # kept
    rb"|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?"
)
_KEPT = re.compile(rb"\x1b\[[0-9;:]*[mK]")
_C1 = re.compile("[\x80-\x9f\udc80-\udc9f]")
_CONTROLS = bytes(set(range(32)) - {8, 9, 10, 13, 27}) + b"\x7f"


class Plain:
    """A stream's filter; a sequence cut between two reads is put together first."""

    def __init__(self) -> None:
        self._rest = b""
        self._decoder = getincrementaldecoder("utf-8")("surrogateescape")

    def filtered(self, data: bytes) -> bytes:
        """The same without what acts on a terminal."""
        data = self._rest + data
        self._rest = b""
        cut = data.rfind(b"\x1b")
        if cut >= 0 and len(data) - cut < 64 and not _complete(data[cut:]):
            data, self._rest = data[:cut], data[cut:]
        data = _SEQUENCE.sub(lambda m: m[0] if _KEPT.fullmatch(m[0]) else b"", data)
        # C1 controls, as bytes or as UTF-8, act like their ESC forms in some terminals.
        text = _C1.sub("", self._decoder.decode(data))
        return text.encode("utf-8", "surrogateescape").translate(None, _CONTROLS)


def _complete(text: bytes) -> bool:
    match = _SEQUENCE.match(text)
    if match is None:
        return False
    if text[1:2] in (b"]", b"P", b"X", b"^", b"_"):
        return match[0].endswith((b"\x07", b"\x1b\\")) or match.end() < len(text)
    return match.end() < len(text) or len(match[0]) > 2 or text[1:2] not in (b"[", b"")
