"""The standard streams: what stands on them is read, what a command prints is written.

A stream that whoever started us closed is opened onto nothing first.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from redoma.cli.console import Plain

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


def open_closed() -> None:
    """Opens what was closed onto nothing.

    Attack: the next file that we open would get the number of a closed stream; then what a command
    prints would be written into it, be it the audit log.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number: this one
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 — it stays
            setattr(sys, name, stream)


def own_input() -> int | bytes:
    """Our own standard input; nothing where reading it would stop a job in the background."""
    try:
        if os.isatty(0) and os.tcgetpgrp(0) != os.getpgrp():
            return b""
        os.fstat(0)
    except OSError:
        return b""
    return 0


class Writer:
    """Writes what a command prints; `BrokenPipeError` where nobody takes it any more."""

    def __init__(self, onto: dict[int, int]) -> None:
        """`onto` says which of our descriptors each stream of the command goes to."""
        self._onto = onto
        self._filters: dict[int, Plain] = {}
        # Why it could not be written, where that is not a reader's own choice.
        self.trouble: OSError | None = None

    def made_plain(self) -> Writer:
        """The same; where a person reads it, nothing in it acts."""
        if any(os.isatty(own) for own in self._onto.values()):
            from redoma.cli.console import Plain

            self._filters = {s: Plain() for s, own in self._onto.items() if os.isatty(own)}
        return self

    def __call__(self, stream: int, data: bytes) -> None:
        if stream in self._filters:
            data = self._filters[stream].filtered(data)
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._onto[stream], view) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            self.trouble = error
            raise BrokenPipeError(error.errno, error.strerror) from error


def writer(out: int = 1) -> Writer:
    """Writes what the command prints.

    `out` is where its standard output goes: to our standard error where ours is kept for data.
    """
    return Writer({1: out, 2: 2}).made_plain()


def raw_writer() -> Writer:
    """The same for a terminal's output, which a person's own terminal is to obey."""
    return Writer({1: 1, 2: 2})
