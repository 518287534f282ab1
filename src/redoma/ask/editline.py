"""One line that a person changes in place; what is in it is shown, and never acts."""

from __future__ import annotations

from codecs import getincrementaldecoder

from redoma.model.display import cell

PROMPT = "run: "
LONGEST = 64 * 1024
_LEFT, _RIGHT = ("\x1b[D", "\x1bOD", "\x02"), ("\x1b[C", "\x1bOC", "\x06")
_HOME, _END = ("\x1b[H", "\x1bOH", "\x1b[1~", "\x01"), ("\x1b[F", "\x1bOF", "\x1b[4~", "\x05")
_BACK, _DELETE = ("\x7f", "\x08"), ("\x1b[3~",)
_CANCEL = ("\x1b", "\x03", "\x04")


class Line:
    """The line and where the next letter goes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = len(text)
        self.done = False
        self.cancelled = False
        self._decoder = getincrementaldecoder("utf-8")("replace")

    def typed(self, data: bytes) -> None:
        """Takes what one read gave: a key, or text that was pasted."""
        text = self._decoder.decode(data)
        if text in ("\r", "\n"):
            self.done = True
        elif text in _CANCEL:
            self.done = self.cancelled = True
        elif text in _LEFT:
            self.at = max(0, self.at - 1)
        elif text in _RIGHT:
            self.at = min(len(self.text), self.at + 1)
        elif text in _HOME:
            self.at = 0
        elif text in _END:
            self.at = len(self.text)
        elif text in _BACK:
            self._cut(max(0, self.at - 1), self.at)
        elif text in _DELETE:
            self._cut(self.at, self.at + 1)
        elif text == "\x15":  # Ctrl-U
            self._cut(0, self.at)
        elif text == "\x0b":  # Ctrl-K
            self._cut(self.at, len(self.text))
        elif text == "\x17":  # Ctrl-W
            kept = self.text[: self.at].rstrip(" ").rpartition(" ")
            self._cut(len(kept[0] + kept[1]), self.at)
        elif not text.startswith("\x1b"):
            # Text with a line end in it was pasted: only Enter by itself says that it is finished.
            self._insert(text.replace("\r\n", "\n").replace("\r", "\n"))

    def shown(self, columns: int) -> tuple[str, int]:
        """The stretch of the line around its cursor that fits, and the cursor's column."""
        room = max(4, columns - len(PROMPT) - 3)
        start, used = self.at, 0
        while start > 0 and used + cell(self.text[start - 1])[1] <= room * 2 // 3:
            start -= 1
            used += cell(self.text[start])[1]
        cursor = used
        end = self.at
        while end < len(self.text) and used + cell(self.text[end])[1] <= room:
            used += cell(self.text[end])[1]
            end += 1
        inside = "".join(cell(char)[0] for char in self.text[start:end])
        before = "<" if start else " "
        after = ">" if end < len(self.text) else ""
        return f"{PROMPT}{before}{inside}{after}", len(PROMPT) + 1 + cursor

    def _cut(self, start: int, end: int) -> None:
        self.text = self.text[:start] + self.text[end:]
        self.at = start

    def _insert(self, text: str) -> None:
        kept = "".join(char for char in text if char.isprintable() or char in "\n\t")
        kept = kept[: max(0, LONGEST - len(self.text))]
        self.text = self.text[: self.at] + kept + self.text[self.at :]
        self.at += len(kept)
