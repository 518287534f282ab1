"""A person's terminal: its size, raw mode while a command has it, and the pager that shows text."""

from __future__ import annotations

import fcntl
import struct
import termios
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def set_size(fd: int, rows: int, columns: int) -> None:
    """Gives a terminal its size; whoever runs on it is told."""
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def size_of(fd: int) -> tuple[int, int]:
    """Rows and columns of a terminal."""
    rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(fd, termios.TIOCGWINSZ, b"\0" * 8))
    return rows, columns


@contextmanager
def raw(fd: int) -> Iterator[None]:
    """Every key goes to the command, unchanged, until the block ends."""
    import tty

    before = termios.tcgetattr(fd)
    try:
        tty.setraw(fd)
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def fed(command: Sequence[str], parts: Iterable[bytes]) -> bool:
    """Feeds text to the reader's own pager; False where it could not be started."""
    import subprocess

    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE)  # noqa: S603 — the reader's own
    except OSError:
        return False
    assert process.stdin is not None
    try:
        # A reader who has seen enough closes the pager: that ends the writing, not the command.
        with suppress(BrokenPipeError), process.stdin as to_pager:
            for part in parts:
                to_pager.write(part)
    finally:
        while True:
            with suppress(KeyboardInterrupt):  # the pager decides what Ctrl-C means to it
                process.wait()
                break
    return True
