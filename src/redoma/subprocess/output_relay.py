"""Writes a command's output where its caller wants it, and never keeps its end waiting for that."""

from __future__ import annotations

import os
import select
import stat
from threading import Thread

# What a pipe takes without blocking when it says that it has room.
_PIPE_ROOM = 4096
_FILE_ROOM = 1 << 16


class OutputRelay:
    """Each stream of a command onto a descriptor of its own; one without is let go.

    While the command runs it waits for whoever reads, as it would for the reader of a pipe. Once
    it has ended nothing waits: what nobody has read yet is written as it is read.
    """

    def __init__(self, onto: dict[int, int]) -> None:
        """`onto` are our own descriptors by the number of the stream; they are closed at the end.

        Two streams may have the same.
        """
        self._onto = onto
        self._ended = os.eventfd(0, os.EFD_CLOEXEC)
        self._over = False
        self._unread: list[tuple[int, bytes]] = []
        self._gone: set[int] = set()
        self._room = {fd: _room(fd) for fd in onto.values()}
        # Why something could not be written, where that is not a reader's own choice.
        self.trouble: OSError | None = None

    def __call__(self, stream: int, data: bytes) -> None:
        """Hands on what the command wrote; `BrokenPipeError` where nobody takes it any more."""
        fd = self._onto.get(stream, -1)
        if fd < 0:
            return
        left = memoryview(data)
        while left:
            if fd in self._gone:
                raise BrokenPipeError
            if any(waiting == fd for waiting, _ in self._unread) or not self._has_room(fd):
                self._unread.append((fd, bytes(left)))
                return
            left = left[self._write(fd, left[: self._room[fd]]) :]

    def command_ended(self) -> None:
        """From now on nothing waits for a reader; safe from any thread."""
        self._over = True
        os.eventfd_write(self._ended, 1)

    def close(self) -> None:
        """Closes what was written to, once somebody has read the rest of it."""
        if self._unread:
            Thread(target=self._write_rest, name="redoma-output", daemon=True).start()
        else:
            self._close()

    def _has_room(self, fd: int) -> bool:
        """Whether a part can be written now; waits for it while the command runs."""
        poll = select.poll()
        poll.register(fd, select.POLLOUT)
        if self._over:
            return bool(poll.poll(0))
        poll.register(self._ended, select.POLLIN)
        return any(ready == fd for ready, _ in poll.poll())

    def _write(self, fd: int, data: memoryview) -> int:
        try:
            return os.write(fd, data)
        except OSError as error:
            self._gone.add(fd)
            if not isinstance(error, BrokenPipeError):
                self.trouble = self.trouble or error
            raise BrokenPipeError(error.errno, error.strerror) from error

    def _write_rest(self) -> None:
        try:
            for fd, data in self._unread:
                left = memoryview(data)
                while left and fd not in self._gone:
                    try:
                        left = left[self._write(fd, left) :]
                    except BrokenPipeError:
                        break
        finally:
            self._close()

    def _close(self) -> None:
        for fd in {*self._onto.values(), self._ended}:
            os.close(fd)


def _room(fd: int) -> int:
    kind = os.fstat(fd).st_mode
    return _FILE_ROOM if stat.S_ISREG(kind) else _PIPE_ROOM
