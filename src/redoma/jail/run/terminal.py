"""Terminals: sizes, and a person's own terminal in raw mode while a command has it."""

from __future__ import annotations

import fcntl
import struct
import termios
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


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
