"""The stream of a command in a container: both ways, as pipes or as a terminal of its own."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from contextlib import suppress

from redoma.base import signals
from redoma.jail.containers.engine_socket import ApiCall
from redoma.jail.containers.held import processes_inside
from redoma.model.container import ContainerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

    from redoma.jail.containers.engine_socket import EngineSocket

_HEADER = 8
_CHUNK = 1 << 16
_LONGEST_END = 5.0
OUTPUT, ERRORS = 1, 2


class FrameDecoder:
    """Takes apart what an engine sends: `(stream, bytes)`, in whatever pieces it comes."""

    def __init__(self, *, terminal: bool) -> None:
        self._terminal = terminal
        self._pending = b""

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """What is complete by now; a terminal has one stream and no frames."""
        if self._terminal:
            return [(OUTPUT, data)] if data else []
        self._pending += data
        found = []
        while len(self._pending) >= _HEADER:
            size = int.from_bytes(self._pending[4:_HEADER], "big")
            # What has come of a large frame is given on as it comes.
            here = self._pending[_HEADER : _HEADER + size]
            number = ERRORS if self._pending[0] == ERRORS else OUTPUT
            if here or size == 0:
                found += [(number, here)] if here else []
            if len(here) < size:
                left = (size - len(here)).to_bytes(4, "big")
                self._pending = self._pending[:4] + left
                break
            self._pending = self._pending[_HEADER + size :]
        return found


class ExecStream:
    """A command that runs in a container, as a stream that is read and written.

    `read` gives what it printed, both streams in their order; `read_frame` says which of the two.
    `close` ends the command where it still runs.
    """

    __module__ = "redoma"

    def __init__(self, engine: EngineSocket, exec_id: str, first: int, *, terminal: bool) -> None:
        self._engine = engine
        self._id = exec_id
        self._first = first
        self.terminal = terminal
        body = {"Detach": False, "Tty": terminal}
        self.socket, rest = engine.upgrade(f"/exec/{exec_id}/start", body)
        self._decoder = FrameDecoder(terminal=terminal)
        self._frames = self._decoder.feed(rest)
        self._closed = False

    def fileno(self) -> int:
        """The descriptor to wait on; `pending` says what was read already."""
        return self.socket.fileno()

    @property
    def pending(self) -> bool:
        """Whether something was read that nobody has taken yet."""
        return bool(self._frames)

    def feed(self, data: bytes) -> None:
        """Takes in what somebody else has received."""
        self._frames += self._decoder.feed(data)

    def put_back(self, number: int, data: bytes) -> None:
        """Has a piece that was too long read again."""
        if data:
            self._frames.insert(0, (number, data))

    def read_frame(self) -> tuple[int, bytes]:
        """The next piece of output and its stream, 1 or 2; (0, b"") at the end."""
        while not self._frames:
            data = self._received()
            if not data:
                return 0, b""
            self.feed(data)
        return self._frames.pop(0)

    def read(self, size: int = -1) -> bytes:
        """Some bytes of output, at most `size`; without a size, everything to the end."""
        if size < 0:
            return b"".join(iter(lambda: self.read_frame()[1], b""))
        number, data = self.read_frame()
        self.put_back(number, data[size:])
        return data[:size]

    def write(self, data: bytes) -> int:
        """Gives the command input."""
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise ContainerError(f"the command takes no input any more: {error}") from error
        return len(data)

    def end_input(self) -> None:
        """Closes the command's standard input; its output goes on."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def resize(self, rows: int, columns: int) -> None:
        """Tells the command's terminal its size."""
        reply = self._engine.ask(
            ApiCall(method="POST", path=f"/exec/{self._id}/resize?h={rows:d}&w={columns:d}")
        )
        if not reply.ok:
            raise ContainerError(f"the terminal cannot be resized: {reply.message}")

    def wait(self) -> int:
        """The exit status, once the output has come to its end."""
        until = time.monotonic() + _LONGEST_END
        while time.monotonic() < until:
            told = self._told()
            if not told.get("Running") and told.get("ExitCode") is not None:
                return int(told["ExitCode"])
            time.sleep(0.01)
        raise ContainerError("the command still runs", hint="read to its end first, or close it")

    def close(self) -> None:
        """Ends the command if it still runs, and lets the stream go."""
        if self._closed:
            return
        self._closed = True
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        with suppress(ContainerError):
            told = self._told()
            pid = int(told.get("Pid") or 0)
            # Attack: the number may be another's by now; one of this container's it has to be.
            if told.get("Running") and pid in processes_inside(self._first):
                with suppress(OSError):
                    process = os.pidfd_open(pid)
                    try:
                        if pid in processes_inside(self._first):
                            signals.send(process, signals.SIGKILL)
                    finally:
                        os.close(process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _told(self) -> dict[str, Any]:
        reply = self._engine.ask(ApiCall(method="GET", path=f"/exec/{self._id}/json"))
        if not reply.ok:
            raise ContainerError(f"the engine knows nothing of the command: {reply.message}")
        found: dict[str, Any] = reply.json
        return found

    def _received(self) -> bytes:
        try:
            return self.socket.recv(_CHUNK)
        except OSError as error:
            if self._closed:
                return b""
            raise ContainerError(f"the stream of the command broke: {error}") from error


class AsyncExecStream:
    """The same stream, awaited; a cancelled read loses nothing."""

    __module__ = "redoma"

    def __init__(self, stream: ExecStream) -> None:
        self._stream = stream
        stream.socket.settimeout(0)

    async def read_frame(self) -> tuple[int, bytes]:
        """The next piece of output and its stream, 1 or 2; (0, b"") at the end."""
        while not self._stream.pending:
            data = await asyncio.get_running_loop().sock_recv(self._stream.socket, _CHUNK)
            if not data:
                return 0, b""
            self._stream.feed(data)
        return self._stream.read_frame()

    async def read(self, size: int = -1) -> bytes:
        """Some bytes of output, at most `size`; without a size, everything to the end."""
        if size >= 0:
            number, data = await self.read_frame()
            self._stream.put_back(number, data[size:])
            return data[:size]
        found = []
        while data := (await self.read_frame())[1]:
            found.append(data)
        return b"".join(found)

    async def write(self, data: bytes) -> int:
        """Gives the command input."""
        try:
            await asyncio.get_running_loop().sock_sendall(self._stream.socket, data)
        except OSError as error:
            raise ContainerError(f"the command takes no input any more: {error}") from error
        return len(data)

    async def end_input(self) -> None:
        """Closes the command's standard input; its output goes on."""
        self._stream.end_input()

    async def resize(self, rows: int, columns: int) -> None:
        """Tells the command's terminal its size."""
        await asyncio.to_thread(self._stream.resize, rows, columns)

    async def wait(self) -> int:
        """The exit status, once the output has come to its end."""
        return await asyncio.to_thread(self._stream.wait)

    async def close(self) -> None:
        """Ends the command if it still runs, and lets the stream go."""
        await asyncio.to_thread(self._stream.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
