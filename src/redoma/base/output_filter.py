"""Takes out of a terminal's output what would act on those who watch it.

Only sequences that are known to draw pass. Attack: a person's terminal answers a question in the
output (what are you, where is the cursor, what is in the clipboard), and each answer is typed into
a shell; a link leads to a program; a title or a clipboard is set.

What comes out ends between sequences and between characters, so that whoever joins later begins
in the same state as those who were there.
"""

from __future__ import annotations

import re

from redoma.model.value import Value

_LONGEST = 256 << 10
# CSI: what moves, erases, colours and sets modes. No letter here asks a question.
_CSI = rb"[0-9;:]*[@A-HJ-MPSTXZ`abd-hlmrsu]|\?[0-9;]*[hlJKrs]|>[0-9;]*m|[0-9]* q|!p|[0-9]*\"q"
# The last one ends a text.
_PLAIN = rb"[78=>cDEHMNOn|}~\\]|[()*+][0-9A-Za-z<>]|#[3-68]|%[@G]"
_LINK = rb"8;[^;\x00-\x1f\x7f-\xff]*;(?:https?://[^\x00-\x20\x7f]*)?"
_COLOUR = (
    rb"(?:4;[0-9]+;[^?;\x00-\x1f\x7f-\xff]+|1[0-2];[^?;\x00-\x1f\x7f-\xff]+|104[0-9;]*|11[0-2])"
)
_OSC_END = rb"(?:\x07|\x1b\\)"
_KNOWN = (
    rb"\[(?:" + _CSI + rb")|" + _PLAIN + rb"|\](?:" + _LINK + rb"|" + _COLOUR + rb")" + _OSC_END
)
# Whatever else begins with ESC, as far as a terminal reads it. A terminal obeys C0 inside of CSI.
_OTHER = (
    rb"\[[\x00-\x17\x19\x1c-\x3f\x7f]*(?:[\x40-\x7e\x18\x1a])?"
    rb"|\](?P<osc>[^\x07\x18\x1a\x1b]*)(?:[\x07\x18\x1a]|\x1b\\|(?=\x1b)|\Z)"
    rb"|[PX^_][^\x18\x1a\x1b]*(?:[\x18\x1a]|\x1b\\|(?=\x1b)|\Z)"
    rb"|[\x00-\x17\x19\x1c-\x2f]*(?:[\x30-\x7e\x18\x1a])?"
)
_SUSPECT = re.compile(rb"\x1b(?!" + _KNOWN + rb")(?:" + _OTHER + rb")|\x05", re.DOTALL)
# Unfinished at the end of what came: more of it has to come before anything is decided.
_UNFINISHED = re.compile(
    rb"\x1b(?:\[[\x00-\x17\x19\x1c-\x3f\x7f]*|\][^\x07\x18\x1a\x1b]*\x1b?|[PX^_][^\x18\x1a\x1b]*\x1b?"
    rb"|[\x00-\x17\x19\x1c-\x2f]*)\Z",
    re.DOTALL,
)
_C1 = re.compile(rb"\xc2([\x80-\x9f])")
_BREAK = re.compile(rb"[\x07\x18\x1a\x1b]")


class Filtered(Value):
    """What to show, what a terminal of ours reads, and the OSC texts that were taken out."""

    shown: bytes
    read: bytes
    taken: tuple[bytes, ...] = ()


class OutputFilter:
    """One stream of output, in pieces of any size."""

    def __init__(self) -> None:
        self._rest = b""
        self._swallowing = False

    def feed(self, data: bytes) -> Filtered:
        """What can be shown now."""
        data = self._rest + data
        self._rest = b""
        if self._swallowing:
            data = self._after_the_long_one(data)
        if b"\xc2" in data:
            # The eight-bit spelling of the same controls.
            data = _C1.sub(lambda found: b"\x1b" + bytes((found[1][0] - 0x40,)), data)
        cut = _whole(data)
        if len(data) - cut > _LONGEST:
            # Nobody means a sequence this long; it is thrown away up to its end.
            data, self._swallowing = data[:cut], True
        else:
            data, self._rest = data[:cut], data[cut:]
        if b"\x1b" not in data and b"\x05" not in data:
            return Filtered(shown=data, read=data)
        taken: list[bytes] = []

        def drop(found: re.Match[bytes]) -> bytes:
            if found["osc"] is not None:
                taken.append(found["osc"])
            return b""

        shown = _SUSPECT.sub(drop, data)
        while b"\x1b" in shown and _SUSPECT.search(shown):
            # Attack: what is left on both sides of something taken out is a sequence itself.
            shown = _SUSPECT.sub(b"", shown)
        return Filtered(shown=shown, read=data, taken=tuple(taken))

    def _after_the_long_one(self, data: bytes) -> bytes:
        end = _BREAK.search(data)
        if end is None:
            return b""
        self._swallowing = False
        return data[end.start() :].removeprefix(b"\x1b\\").lstrip(b"\x07\x18\x1a")


def _whole(data: bytes) -> int:
    """Up to where there are whole sequences and whole characters."""
    last = data.rfind(b"\x1b")
    if last > 0 and last == len(data) - 1:  # perhaps the first half of what ends a text
        before = data.rfind(b"\x1b", 0, last)
        if before >= 0 and _UNFINISHED.match(data, before):
            return before
    if last >= 0 and _UNFINISHED.match(data, last):
        return last
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) - back if length > back else len(data)
        if byte < 0x80:
            break
    return len(data)
