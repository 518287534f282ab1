"""A person's terminal: single keys or whole lines from it, never what was typed before."""

from __future__ import annotations

import os
import select
import termios
from contextlib import contextmanager, suppress

from redoma.ask import moments
from redoma.ask.card import Look

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
            left = until - moments.uptime()
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
