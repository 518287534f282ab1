"""Moves bytes from one socket to another, in the kernel where nobody has to read them."""

from __future__ import annotations

import os
from contextlib import suppress
from fcntl import F_SETPIPE_SZ, fcntl
from socket import SHUT_WR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

_PIPE = 1 << 19
_AT_ONCE = 1 << 19
_READ = 1 << 16
_TURNS = 32
_KEPT_PIPES = 16
_HOW = os.SPLICE_F_MOVE | os.SPLICE_F_NONBLOCK


class Pipes:
    """Pipes for what is under way; a connection that rests has none, so a thousand cost nothing."""

    def __init__(self) -> None:
        self._free: list[tuple[int, int]] = []

    def take(self) -> tuple[int, int]:
        """An empty pipe."""
        if self._free:
            return self._free.pop()
        read, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        with suppress(OSError):  # an ordinary user may have so many large ones, and then small ones
            fcntl(write, F_SETPIPE_SZ, _PIPE)
        return read, write

    def give(self, pipe: tuple[int, int]) -> None:
        """Takes an empty pipe back."""
        if len(self._free) < _KEPT_PIPES:
            self._free.append(pipe)
        else:
            drop(pipe)

    def close(self) -> None:
        while self._free:
            drop(self._free.pop())


def drop(pipe: tuple[int, int]) -> None:
    """Closes a pipe with whatever is in it."""
    os.close(pipe[0])
    os.close(pipe[1])


class Flow:
    """One direction of a connection."""

    def __init__(self, source: socket, target: socket, pipes: Pipes) -> None:
        self.source = source
        self.target = target
        # While there is a reader, it sees every byte and says which pass.
        self.reader: Callable[[bytes], bytes] | None = None
        self.stopped = False
        self.ended = False
        self.over = False
        self.moved = 0
        self._pending = b""
        self._pipes = pipes
        self._pipe: tuple[int, int] | None = None
        self._in_pipe = 0

    def put(self, data: bytes) -> None:
        """Sends this before anything else."""
        self._pending += data

    @property
    def empty(self) -> bool:
        """Whether nothing is under way."""
        return not self._pending and not self._in_pipe

    def move(self) -> bool:
        """Moves what can be moved now; whether there is more that only waits for its turn.

        A broken connection is an OSError.
        """
        for _ in range(_TURNS):
            try:
                if self._pending:
                    sent = self.target.send(self._pending)
                    self.moved += sent
                    self._pending = self._pending[sent:]
                elif self._in_pipe:
                    self._out()
                elif self.ended:
                    self._finish()
                    return False
                elif self.stopped:
                    return False
                elif self.reader is not None:
                    data = self.source.recv(_READ)
                    self.ended = not data
                    if data:
                        self._pending = self.reader(data)
                else:
                    self._in()
            except BlockingIOError:
                self._rest()
                return False
        return True

    def _in(self) -> None:
        if self._pipe is None:
            self._pipe = self._pipes.take()
        taken = os.splice(self.source.fileno(), self._pipe[1], _AT_ONCE, flags=_HOW)
        self._in_pipe += taken
        self.ended = not taken

    def _out(self) -> None:
        assert self._pipe is not None
        sent = os.splice(self._pipe[0], self.target.fileno(), self._in_pipe, flags=_HOW)
        self._in_pipe -= sent
        self.moved += sent

    def _rest(self) -> None:
        if self._pipe is not None and not self._in_pipe:
            self._pipes.give(self._pipe)
            self._pipe = None

    def _finish(self) -> None:
        self._rest()
        if not self.over:
            self.over = True
            self.target.shutdown(SHUT_WR)

    def close(self) -> None:
        """Gives the pipe back, or away with what is left in it."""
        if self._pipe is not None:
            if self._in_pipe:
                drop(self._pipe)
            else:
                self._pipes.give(self._pipe)
            self._pipe = None
