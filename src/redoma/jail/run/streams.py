"""What a command prints: kept up to a cap, passed on as it comes, and never a reason to wait."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Sink: TypeAlias = Callable[[int, bytes], None]

_CHUNK = 1 << 16
_KEPT = 8 << 20  # of each stream, where nobody said how much
ANSWER = 3  # the number of the stream on which a Python call answers


class Output:
    """One stream: read to its end whatever happens, so that the command never blocks on us.

    `cap` is how much of it is kept and shown; without one all of it is shown, and some kept.
    """

    def __init__(self, fd: int, number: int, cap: int | None, sink: Sink | None) -> None:
        self.fd = fd
        self.number = number
        self._cap = cap
        self._sink = sink
        self._kept: list[bytes] = []
        self._size = 0
        self.total = 0
        self.truncated = self.limited = False
        # Whether its reader stopped reading while the command ran.
        self.unread = False
        self.open = True
        os.set_blocking(fd, False)

    def read(self) -> bool:
        """Reads what is there once; False when nothing was."""
        try:
            data = os.read(self.fd, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:  # a terminal whose other side is gone
            data = b""
        if not data:
            self.open = False
            return False
        self.total += len(data)
        keep = data[: max(0, (_KEPT if self._cap is None else self._cap) - self._size)]
        if len(keep) < len(data):
            self.truncated = True
            # Whoever is shown all of it as it comes has lost nothing that is not kept.
            self.limited = self._cap is not None or self._sink is None
        if keep:
            self._size += len(keep)
            self._kept.append(keep)
        shown = data if self._cap is None else keep
        if shown and self._sink is not None:
            self._sink(self.number, shown)
        return True

    def shut(self) -> None:
        """Reads no more: who still writes gets SIGPIPE, as in a shell's pipe."""
        self.open, self.unread = False, True
        os.close(self.fd)
        self.fd = -1

    def rest(self) -> None:
        """Reads what is left after the tree has ended."""
        while self.open and self.read():
            pass

    @property
    def data(self) -> bytes:
        return b"".join(self._kept)


class Input:
    """A command's standard input, written as fast as it is read."""

    def __init__(self, fd: int, data: bytes, *, over: bool) -> None:
        self.fd = fd
        self._left = memoryview(data)
        self._over = over
        self.open = True
        os.set_blocking(fd, False)

    @property
    def wants(self) -> bool:
        return self.open and len(self._left) > 0

    @property
    def hungry(self) -> bool:
        """Whether everything so far was taken and more may come."""
        return self.open and not len(self._left) and not self._over

    def add(self, data: bytes, *, over: bool) -> None:
        self._left = memoryview(bytes(self._left) + data)
        self._over = self._over or over
        self.close_if_over()

    def write(self) -> None:
        try:
            self._left = self._left[os.write(self.fd, self._left[:_CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # the command closed its side: what is left has no reader
            self._left, self._over = memoryview(b""), True
        self.close_if_over()

    def close_if_over(self) -> None:
        if self.open and self._over and not len(self._left):
            self.close()

    def close(self) -> None:
        if self.open:
            self.open = False
            os.close(self.fd)
