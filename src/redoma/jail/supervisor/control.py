"""How a caller reaches a run that is going on: cancels it, signals it, resizes its terminal."""

from __future__ import annotations

import os
from _thread import allocate_lock
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.model.network import Connection


class Control:
    """Safe to use from any thread and from a signal handler."""

    __module__ = "redoma"

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._lock = allocate_lock()
        self._closed = False
        self.cancelled = False
        # Whether the command is gone, and a signal is meant for what we do with its changes.
        self.over = False
        self.signals: list[int] = []
        self.size: tuple[int, int] | None = None
        self.input: list[bytes] = []
        self.input_over = False
        # Words each connection as it happens, for whoever watches; nobody is told without it.
        self.narrate: Callable[[Connection], bytes] | None = None

    @property
    def fd(self) -> int:
        """Readable when there is something to do."""
        return self._read

    def cancel(self) -> None:
        """Ends the run and its whole tree."""
        self.cancelled = True
        self.wake()

    def signal(self, number: int) -> None:
        """Passes a signal on to the command."""
        self.signals.append(number)
        self.wake()

    def resize(self, rows: int, columns: int) -> None:
        """Tells the command's terminal its new size."""
        self.size = (rows, columns)
        self.wake()

    def write(self, data: bytes) -> None:
        """Adds to the command's standard input."""
        self.input.append(data)
        self.wake()

    def end_input(self) -> None:
        """Closes the command's standard input after what was written."""
        self.input_over = True
        self.wake()

    def drain(self) -> None:
        """Takes the wake-ups out of the pipe."""
        os.read(self._read, 4096)

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                os.close(self._read)
                os.close(self._write)

    def wake(self) -> None:
        """Has the supervisor look at everything anew."""
        with self._lock:
            if not self._closed:
                with suppress(BlockingIOError):  # it has been woken often enough
                    os.write(self._write, b"!")
