"""A person at a real terminal: what they see, and the keys they press."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import termios
import threading
import time
from collections.abc import Callable

from redoma.ask.terminal import TerminalAnswerer
from redoma.model.request import Answer, Question

SEQUENCE = re.compile(rb"\x1b\[([0-9;]*)([A-Za-z])")
UTF8 = {"TERM": "xterm-256color", "LANG": "C.UTF-8"}
DUMB = {"TERM": "dumb", "LANG": "C.UTF-8"}


class Person:
    """Sits at a terminal of some size; `answering` starts the question there."""

    def __init__(self, *, columns: int = 80, rows: int = 40) -> None:
        self.ours, self.theirs = pty.openpty()
        self.resize(columns, rows)
        self.shown = b""
        self._seen = 0
        self._answer: list[Answer | None] = []
        self._thread: threading.Thread | None = None

    def resize(self, columns: int, rows: int = 40) -> None:
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def answering(
        self,
        question: Question,
        environ: dict[str, str] = UTF8,
        redact: Callable[[str], str] = lambda text: text,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        here = TerminalAnswerer(
            ends=(self.theirs, self.theirs), environ=environ, redact=redact, name="ana"
        )
        self._thread = threading.Thread(
            target=lambda: self._answer.append(here.ask(question, stop)), daemon=True
        )
        self._thread.start()

    def sees(self, words: str, seconds: float = 5.0) -> None:
        """Waits until the words appear, after what was seen before."""
        until = time.monotonic() + seconds
        while (found := self.shown.find(words.encode(), self._seen)) < 0:
            self._look(0.05)
            assert time.monotonic() < until, f"{words!r} is not in {self.shown.decode()}"
        self._seen = found + len(words.encode())

    def presses(self, keys: bytes) -> None:
        os.write(self.ours, keys)

    def answered(self, seconds: float = 5.0) -> Answer | None:
        """The answer, when the asking is over."""
        assert self._thread is not None
        until = time.monotonic() + seconds
        while self._thread.is_alive() and time.monotonic() < until:
            self._look(0.02)
            self._thread.join(0.01)
        self._look(0)
        assert self._answer, f"no answer yet: {self.shown.decode(errors='replace')}"
        return self._answer[0]

    def _look(self, seconds: float) -> None:
        while select.select([self.ours], [], [], seconds)[0]:
            data = os.read(self.ours, 65536)
            if not data:
                return
            self.shown += data
            seconds = 0

    def close(self) -> None:
        os.close(self.ours)
        os.close(self.theirs)


def lines_on_screen(shown: bytes) -> list[str]:
    """The screen after these bytes, without colours; any order but the few of ours fails."""
    rows: list[list[str]] = [[]]
    column = at = 0
    while at < len(shown):
        order = SEQUENCE.match(shown, at)
        if order:
            assert order[2] in b"mKC", f"an order of another kind: {order[0]!r}"
            if order[2] == b"K":
                del rows[-1][column:]
            elif order[2] == b"C":
                column += int(order[1])
            at = order.end()
            continue
        byte = shown[at]
        if byte == 0x0A:
            rows.append([])
            column = 0
            at += 1
        elif byte == 0x0D:
            column = 0
            at += 1
        else:
            size = 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            char = shown[at : at + size].decode()
            assert char >= " ", f"a control character: {char!r}"
            rows[-1][column : column + 1] = [char]
            column += 1
            at += size
    return ["".join(row) for row in rows]
