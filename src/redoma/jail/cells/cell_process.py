"""One command in a cell, seen from outside: its streams, its end, and its time."""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress

from redoma.base.cores import AF_UNIX, SOCK_SEQPACKET, socketpair
from redoma.jail.cells.description import packed
from redoma.jail.forkserver import messages
from redoma.model.cell import CellError, CellResult, NoSuchUser
from redoma.model.result import Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.jail.cells.cell import Cell

_CHUNK = 1 << 16
_BEGINS_WITHIN = 60.0
_ENDS_WITHIN = 10.0
# After a command has ended by itself, how long its output is still listened to where something
# that it left running holds it open.
_SETTLES, _LISTENS = 0.05, 1.0
_FOREVER = 10.0**6


class CellProcess:
    """A command that runs in a cell; `close` ends it with everything that it started."""

    __module__ = "redoma"

    def __init__(self, cell: Cell, request: dict[str, Any], *, errors: bool = True) -> None:
        """Sends the request; it returns before the command has begun."""
        self._cell = cell
        self._request = request
        self._control, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
        inputs, self.stdin = os.pipe()
        self.stdout, outputs = os.pipe()
        self.stderr, complaints = os.pipe() if errors else (-1, os.dup(outputs))
        self._said: bytes | None = None
        self._stopped = False
        file = packed(request)
        try:
            cell.send([file, theirs.fileno(), inputs, outputs, complaints])
        except BaseException:
            self.close()
            raise
        finally:
            theirs.close()
            for fd in (file, inputs, outputs, complaints):
                os.close(fd)

    def begin(self) -> None:
        """Returns when the program runs; the error of whatever kept it from that otherwise."""
        said = self._hear(_BEGINS_WITHIN)
        if said == b"begun":
            return
        self.close()
        if said == b"user":
            raise NoSuchUser("unable to find user {user} in the cell", user=self._request["user"])
        if not said.startswith(b"failed "):
            raise self._lost()
        step, number = said.split()[1:3]
        code = int(number)
        names = {b"program": self._request.get("argv", [""])[0], b"cwd": self._request["cwd"]}
        if step == b"user":
            user = self._request["user"]
            raise NoSuchUser("this cell cannot run anything as {user}", user=user, possible=False)
        raise OSError(code, os.strerror(code), names.get(step, self._request.get("file", "")))

    def _hear(self, patience: float) -> bytes:
        poll = select.poll()
        poll.register(self._control.fileno(), select.POLLIN)
        if not poll.poll(patience * 1000):
            return b""
        for _ in range(2):
            # Where it ended before it read what we had sent, the kernel says that first, and only
            # then gives what it had said.
            with suppress(OSError):
                return messages.receive(self._control)[0]
        return b""

    def _lost(self) -> CellError:
        """Attack: a command ends what watches it, to outlive its time: so the cell ends."""
        self._cell.close()
        return CellError("the cell has ended, and with it what ran in it", hint="make another one")

    def signal(self, number: int) -> None:
        """Sends a signal to the command and those of its process group."""
        with suppress(OSError):
            messages.send(self._control, b"s%d" % number)

    def kill(self) -> None:
        """Ends the command with everything that it started; safe to call from any thread."""
        self._stopped = True
        with suppress(OSError):
            messages.send(self._control, b"kill")

    def communicate(
        self,
        given: bytes = b"",
        *,
        timeout: float | None = None,
        output_limit: int | None = None,
    ) -> CellResult:
        """Gives it input, reads what it prints to the end, and says how it ended.

        Past its time, or past `output_limit` bytes of one stream, it is ended with all it started.
        """
        reading = _Reading(self, given, output_limit)
        until = None if timeout is None else time.monotonic() + timeout
        outcome: Outcome | None = None
        last = 0.0
        while self._said is None or reading.streams:
            now = time.monotonic()
            if self._said is not None:
                last = last or now + _LISTENS
                patience = min(_SETTLES, last - now)
            elif outcome is not None:
                patience = last - now
            else:
                patience = _FOREVER if until is None else until - now
            found = reading.poll.poll(max(0.0, patience) * 1000)
            if self._control.fileno() in [fd for fd, _ in found]:
                self._said = self._hear(0)
                reading.poll.unregister(self._control.fileno())
                last = 0.0
            elif not found and self._said is not None:
                break
            elif not found and outcome is not None:
                self.close()
                raise self._lost()
            too_much = reading.go_on(found)
            if outcome is None and self._said is None and (too_much or not found):
                outcome = Outcome.OUTPUT_TOO_LARGE if too_much else Outcome.TIMED_OUT
                last = time.monotonic() + _ENDS_WITHIN
                self.kill()
        if reading.too_much:
            outcome = Outcome.OUTPUT_TOO_LARGE
        return self._result(outcome, reading)

    def _result(self, outcome: Outcome | None, reading: _Reading) -> CellResult:
        said, stopped = self._said or b"", self._stopped
        self.close()
        code: int | None = None
        if said.startswith(b"exit "):
            code = int(said.split()[1])
        elif said != b"killed":
            raise self._lost()
        if outcome is None:
            outcome = Outcome.EXITED if code is not None and code >= 0 else Outcome.SIGNALLED
            outcome = Outcome.CANCELLED if stopped and code is None else outcome
        if code is not None and code < 0:
            code = 128 - code
        return CellResult(
            exit_code=code, outcome=outcome,
            stdout=bytes(reading.output), stderr=bytes(reading.errors),
        )  # fmt: skip

    @property
    def control(self) -> int:
        """Readable when the command has ended."""
        return self._control.fileno()

    def end_input(self) -> None:
        """Closes its standard input."""
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def close(self) -> None:
        """Lets it go; where it still runs it is ended, with everything that it started."""
        self._control.close()
        for name in ("stdin", "stdout", "stderr"):
            fd = getattr(self, name, -1)
            if fd >= 0:
                os.close(fd)
                setattr(self, name, -1)


class _Reading:
    """What one command is given and what it has printed so far."""

    def __init__(self, process: CellProcess, given: bytes, limit: int | None) -> None:
        self.output, self.errors = bytearray(), bytearray()
        self.streams = {process.stdout: self.output}
        if process.stderr >= 0:
            self.streams[process.stderr] = self.errors
        self.too_much = False
        self.poll = select.poll()
        for fd in (*self.streams, process.control):
            self.poll.register(fd, select.POLLIN)
        self._process = process
        self._limit = limit
        self._left = memoryview(given)
        if given:
            os.set_blocking(process.stdin, False)
            self.poll.register(process.stdin, select.POLLOUT)
        else:
            process.end_input()

    def go_on(self, found: list[tuple[int, int]]) -> bool:
        """Reads and writes what can be; whether a stream is longer now than it may be."""
        for fd, _ in found:
            if fd == self._process.stdin and fd >= 0:
                self._give()
            elif fd in self.streams:
                self._take(fd)
        return self.too_much

    def _give(self) -> None:
        try:
            self._left = self._left[os.write(self._process.stdin, self._left[: 16 * _CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:
            self._left = memoryview(b"")  # the command has closed its input
        if not self._left:
            self.poll.unregister(self._process.stdin)
            self._process.end_input()

    def _take(self, fd: int) -> None:
        data, text = os.read(fd, _CHUNK), self.streams[fd]
        text += data
        if self._limit is not None and len(text) > self._limit:
            del text[self._limit :]
            self.too_much = True
        if not data or self.too_much:
            self.poll.unregister(fd)
            del self.streams[fd]
