"""The standard streams, signals while something is at work, and what Redoma logs of itself.

A stream that whoever started us closed is opened onto nothing first.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

from redoma.base import signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from redoma.cli.console import Drawing, Plain
    from redoma.pipeline.this_host import Control


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
        self._filters: dict[int, Plain | Drawing] = {}
        # Why it could not be written, where that is not a reader's own choice.
        self.trouble: OSError | None = None

    def made_plain(self) -> Writer:
        """The same; where a person reads it, nothing in it acts."""
        if any(os.isatty(own) for own in self._onto.values()):
            from redoma.cli.console import Plain

            self._filters = {s: Plain() for s, own in self._onto.items() if os.isatty(own)}
        return self

    def made_drawing(self) -> Writer:
        """The same; what draws passes, and nothing else acts."""
        from redoma.cli.console import Drawing

        self._filters = {stream: Drawing() for stream in self._onto}
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


def terminal_writer(*, obeyed: bool) -> Writer:
    """The same for a terminal's output; a person's own terminal obeys all of it where asked to.

    Attack: a question to the terminal (where is the cursor) is answered after the command has
    ended, and the answer is typed into the person's shell; a clipboard is set.
    """
    made = Writer({1: 1, 2: 2})
    return made if obeyed else made.made_drawing()


_TO_THE_COMMAND = (signals.SIGINT, signals.SIGTERM, signals.SIGHUP, signals.SIGQUIT)


@contextmanager
def steered() -> Iterator[Control]:
    """A hand on what runs in the block: signals go to it, and afterwards to us again."""
    import signal

    from redoma.pipeline.this_host import Control

    control = Control()
    before = {number: signal.getsignal(number) for number in _TO_THE_COMMAND}
    pass_signals_on(control)
    try:
        yield control
    finally:
        control.close()
        # From here on Ctrl-C is meant for the showing: there is no command any more to get it.
        for number, handler in before.items():
            signal.signal(number, handler)


def pass_signals_on(control: Control) -> None:
    """Ctrl-C and friends go to the command; the second time they end it."""
    seen: list[int] = []

    def handler(number: int, _frame: object) -> None:
        if control.over:
            raise signals.Stopped(number)
        seen.append(number)
        if len(seen) > 1:
            control.cancel()
        else:
            control.signal(number)

    for number in _TO_THE_COMMAND:
        if not signals.ignored(number):
            signals.handle(number, handler)
    if signals.ignored(signals.SIGCHLD):
        # Whoever started us ignored it; so nobody would be told how the command ended.
        signals.handle(signals.SIGCHLD, lambda _number, _frame: None)


def stop_on_signals() -> None:
    """What would end us stops us instead, so that it can be told what became of the work."""

    def handler(number: int, _frame: object) -> None:
        raise signals.Stopped(number)

    for number in _TO_THE_COMMAND:
        if not signals.ignored(number):
            signals.handle(number, handler)


def print_log(level: str) -> None:
    """Prints the operator's log from this level on; no line has a secret in it."""
    from redoma.base.log import configure
    from redoma.pipeline.secrets import redact

    configure(level, redact)
