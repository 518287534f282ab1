"""Takes secrets out of bytes that come in pieces: what comes out never depends on the pieces.

Text is read in whole lines, since a secret does not cross the end of a line (but for private keys,
whose lines are counted off one by one). A line that is longer than `WINDOW` is read in overlapping
windows at fixed places, so at most one window is ever held back.

Attack: a secret that is cut in two by a buffer's end looks like a secret in neither half.
"""

from __future__ import annotations

import re

from redoma.vault.spans import Span, merged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from redoma.vault.key_blocks import KeyLines

WINDOW = 64 * 1024
OVERLAP = 8 * 1024
UNREADABLE = b"[REDACTED: could not be read]"
# One of these stands in every line that opens a private key.
_OPENERS = (b"PRIVATE KEY", b"Private-Lines:")
_TERMINATOR = re.compile(rb"[\s\"'`<>,;\x00]")


class RedactingStream:
    """One text on its way through: `feed` it, then `finish` it."""

    __slots__ = (
        *("_carried", "_find", "_held", "_key", "_line", "_mark", "_note"),
        *("_skip", "_skip_on", "failed"),
    )

    def __init__(
        self,
        find: Callable[[bytes], Iterable[Span]],
        mark: Callable[[str], bytes],
        note: Callable[[str, int], None] | None = None,
    ) -> None:
        self._find = find
        self._mark = mark
        self._note = note
        self._held = bytearray()
        self._key: KeyLines | None = None
        self._line = 1
        # What a window has found in the part that the next one reads again.
        self._carried: list[tuple[int, int, str, bool]] = []
        self._skip = 0
        self._skip_on = False
        self.failed = False

    def feed(self, data: bytes) -> bytes:
        """What can be said of the text so far; the rest of the last line is held back."""
        return self._guarded(data, end=False)

    def finish(self) -> bytes:
        """What was held back."""
        return self._guarded(b"", end=True)

    def _guarded(self, data: bytes, *, end: bool) -> bytes:
        if self.failed:
            return b""
        try:
            self._held += data
            ready = len(self._held) if end else self._held.rfind(b"\n") + 1
            out = self._lines(bytes(self._held[:ready])) if ready else []
            del self._held[:ready]
            while len(self._held) > WINDOW:
                out.append(self._window(bytes(self._held[:WINDOW])))
                del self._held[: WINDOW - OVERLAP]
            return b"".join(out)
        except Exception:
            # Fails closed: what could not be read is not shown, nor is anything after it.
            self.failed = True
            self._held.clear()
            return UNREADABLE

    def _lines(self, text: bytes) -> list[bytes]:
        out: list[bytes] = []
        at, size = 0, len(text)
        while size - at > WINDOW:
            cut = text.rfind(b"\n", at, at + WINDOW + 1) + 1
            if cut > at:
                out.append(self._block(text[at:cut]))
                at = cut
            else:
                out.append(self._window(text[at : at + WINDOW]))
                at += WINDOW - OVERLAP
        out.append(self._block(text[at:]))
        return out

    def _block(self, block: bytes) -> bytes:
        """Whole lines."""
        if self._key is None and not any(word in block for word in _OPENERS):
            return self._render(block, len(block))
        from redoma.vault.key_blocks import keys_within, opening

        out: list[bytes] = []
        at = look = 0
        while at < len(block):
            if self._key is not None:
                end = block.find(b"\n", at) + 1 or len(block)
                out.append(self._key_line(block[at:end]))
                at = look = end
                continue
            opens = opening(block, look)
            if opens < 0:
                out.append(self._render(block[at:], len(block) - at))
                break
            start = block.rfind(b"\n", at, opens) + 1 or at
            end = block.find(b"\n", opens) + 1 or len(block)
            found, self._key = keys_within(block[start:end])
            look = end
            if found or self._key is not None:
                out.append(
                    self._render(block[at:end], end - at, (s.moved(start - at) for s in found))
                )
                at = end
        return b"".join(out)

    def _key_line(self, line: bytes) -> bytes:
        from redoma.vault.key_blocks import KIND, closing, is_frame

        key = self._key
        assert key is not None
        closes = closing(line)
        if closes >= 0:
            self._key = None
            before = b"" if key.begun and key.goes_on(line[:closes]) else line[:closes]
            return before + self._render(line[closes:], len(line) - closes)
        if key.begun:
            if key.goes_on(line):
                self._line += line.count(b"\n")
                return b""
        elif is_frame(line):
            self._line += line.count(b"\n")
            return line
        else:
            starts = key.starts(line)
            if starts >= 0:
                end = len(line.rstrip(b"\r\n"))
                return self._render(line, len(line), [Span(starts, end, starts, end, KIND)])
            if starts == -1:
                return self._render(line, len(line))
        self._key = None
        return self._block(line)

    def _window(self, window: bytes) -> bytes:
        """A part of a line that is longer than any window."""
        found: list[Span] = []
        if self._key is not None and self._key.begun and self._key.goes_on(window):
            return b""
        self._key = None
        if any(word in window for word in _OPENERS):
            from redoma.vault.key_blocks import keys_within

            found, _ = keys_within(window)
        return self._render(window, WINDOW - OVERLAP, found)

    def _render(self, piece: bytes, limit: int, more: Iterable[Span] = ()) -> bytes:
        """The piece up to `limit` without its secrets; what is known of the rest is carried on."""
        found = [*self._find(piece), *more]
        for start, known, kind, on in self._carried:
            end = _end_of_word(piece, known) if on else known
            found.append(Span(start, end, start, end, kind))
        at = _end_of_word(piece, self._skip) if self._skip_on else self._skip
        out: list[bytes] = []
        later: list[Span] = []
        for span in merged(found):
            if span.start < at or (at and span.start == at):
                at = max(at, span.end)
            elif span.start >= limit:
                later.append(span)
            else:
                out += (piece[at : span.start], self._mark(span.kind))
                self._tell(span, piece)
                at = span.end
        if at < limit:
            out.append(piece[at:limit])
            at = limit
        whole = limit == len(piece)
        self._skip = at - limit
        self._skip_on = not whole and at == len(piece)
        self._carried = [
            (span.start - limit, span.end - limit, span.kind, span.end == len(piece))
            for span in later
        ]
        self._line += piece.count(b"\n", 0, limit)
        return b"".join(out)

    def _tell(self, span: Span, piece: bytes) -> None:
        if self._note is not None:
            self._note(span.kind, self._line + piece.count(b"\n", 0, span.start))


def _end_of_word(piece: bytes, at: int) -> int:
    match = _TERMINATOR.search(piece, at)
    return match.start() if match else len(piece)
