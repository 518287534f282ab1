"""A person's terminal: single keys or whole lines from it, never what was typed before."""

from __future__ import annotations

import os
import select
import termios
from codecs import getincrementaldecoder
from contextlib import contextmanager, suppress

from redoma.ask import answers
from redoma.ask.card import Look
from redoma.base.text import cell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PIECE = 512


class Gone(Exception):
    """The terminal was closed, or takes no more output in time."""


class Terminal:
    """Two ends of one terminal; what it can do is what its user's environment says."""

    def __init__(self, source: int, screen: int, environ: Mapping[str, str]) -> None:
        self._source = source
        self._screen = screen
        self.dumb = environ.get("TERM", "") in ("", "dumb", "unknown")
        self._colour = not self.dumb and not environ.get("NO_COLOR")
        said = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
        # Attack: to a terminal that does not read UTF-8 the byte 0x9b in a letter is an order.
        self._encoding = "utf-8" if said.lower().replace("-", "").endswith("utf8") else "ascii"

    def look(self) -> Look:
        """The screen as it is now; its size may change at any time."""
        try:
            size = os.get_terminal_size(self._screen)
        except OSError:
            return Look(colour=self._colour)
        return Look(columns=size.columns or 80, rows=size.lines or 24, colour=self._colour)

    def write(self, text: str, until: float) -> None:
        """Shows text; a terminal that was stopped cannot hold us longer than the question."""
        data = text.encode(self._encoding, "backslashreplace")
        while data:
            left = until - answers.uptime()
            if left <= 0 or not select.select([], [self._screen], [], left)[1]:
                raise Gone
            try:
                data = data[os.write(self._screen, data[:PIECE]) :]
            except OSError as error:
                raise Gone from error

    def read(self, seconds: float) -> bytes | None:
        """What was typed, at once or within so many seconds; None for nothing."""
        if not select.select([self._source], [], [], max(0.0, seconds))[0]:
            return None
        try:
            data = os.read(self._source, 4096)
        except OSError as error:
            raise Gone from error
        if not data:
            raise Gone
        return data

    def forget_what_was_typed(self) -> None:
        """Throws away keys that were pressed before there was anything to answer."""
        try:
            termios.tcflush(self._source, termios.TCIFLUSH)
        except termios.error as error:
            raise Gone from error

    @contextmanager
    def by_keys(self) -> Iterator[None]:
        """Each key comes at once and unseen, Ctrl-C as well, until the block ends."""
        try:
            before = termios.tcgetattr(self._source)
            ours = termios.tcgetattr(self._source)
        except termios.error as error:
            raise Gone from error
        ours[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN)
        ours[6][termios.VMIN] = 1
        ours[6][termios.VTIME] = 0
        try:
            termios.tcsetattr(self._source, termios.TCSADRAIN, ours)
            yield
        finally:
            with suppress(termios.error):  # the terminal may be gone
                termios.tcsetattr(self._source, termios.TCSADRAIN, before)


@contextmanager
def opened(ends: tuple[int, int] | None, environ: Mapping[str, str]) -> Iterator[Terminal | None]:
    """The terminal of these ends, or the process's own; None where no person can be behind it."""
    if ends is not None:
        usable = all(os.isatty(end) for end in ends)
        yield Terminal(*ends, environ) if usable else None
        return
    # Standard input that is no terminal says that nobody sits here, whatever /dev/tty would say.
    handle = _own() if _is_terminal(0) else -1
    try:
        yield Terminal(handle, handle, environ) if handle >= 0 else None
    finally:
        if handle >= 0:
            os.close(handle)


def _own() -> int:
    try:
        handle = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return -1
    try:
        # In the background we would be stopped at the first key; nobody looks at us there.
        if os.tcgetpgrp(handle) == os.getpgrp():
            return handle
    except OSError:
        pass
    os.close(handle)
    return -1


def _is_terminal(handle: int) -> bool:
    try:
        return os.isatty(handle)
    except OSError:
        return False


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
