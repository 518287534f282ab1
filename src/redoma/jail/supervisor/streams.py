"""A command's streams: its input is written as it reads, its output kept up to a cap and shown.

Attack: a command prints until nobody reads any more. If the supervisor waited for the reader, time
would stand still for it, and no limit would be looked at again. So a thread of its own hands the
output on.

A person's terminal: its size, raw mode while a command has it, and the pager that shows text.
"""

from __future__ import annotations

import fcntl
import os
import struct
import termios
import time
from _thread import allocate_lock, start_new_thread
from contextlib import contextmanager, suppress

from redoma.base.cores import SimpleQueue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Protocol, TypeAlias

    from redoma.base.secret_search import SecretSearch
    from redoma.jail.supervisor.run import Supervisor
    from redoma.jail.supervisor.start import Control
    from redoma.model.network import Connection

    Sink: TypeAlias = Callable[[int, bytes], None]

    class InputSource(Protocol):
        """Keeps what was typed, and decides for each piece whether it is written."""

        @property
        def waits(self) -> bool: ...

        def write_to(self, terminal: int) -> None: ...

    # A stream, what is for it, and how much of that is the command's own.
    Item = tuple[int, bytes, int]

_CHUNK = 1 << 16
_FULL_TERMINAL = 4095
_KEPT = 8 << 20  # of each stream, where nobody said how much
ANSWER = 3  # the number of the stream on which a Python call answers
# So much is taken from a command before it has to wait for its reader.
_MOST_WAITING = 256 << 10
_LOOK = 0.2
# How long a reader may be stuck after we ended the command ourselves.
_PATIENCE = 5.0
ABANDONED = "nobody read the last of the output"


class Output:
    """One stream: read to its end whatever happens, so that the command never blocks on us.

    `cap` is how much of it is kept and shown; without one all of it is shown, and some kept.
    `hidden` is kept and shown as stars.
    """

    def __init__(
        self,
        fd: int,
        number: int,
        cap: int | None,
        sink: Sink | None,
        hidden: tuple[bytes, ...] = (),
    ) -> None:
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
        # How much is kept of what is shown without a cap.
        self.most_kept = _KEPT
        self._search: SecretSearch | None = None
        if hidden:
            from redoma.base.secret_search import SecretSearch

            self._search = SecretSearch(hidden)
        os.set_blocking(fd, False)

    def read(self) -> bool:
        """Reads what is there once; False when nothing was."""
        try:
            data = os.read(self.fd, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:  # a terminal whose other side is gone
            data = b""
        if len(data) >= _FULL_TERMINAL:
            data = self._drained(data)
        if not data:
            self.open = False
            return False
        self.total += len(data)
        # Attack: a secret of which the cap cuts off a part is found in no part; so before that.
        self._take(data if self._search is None else self._search.feed(data))
        return True

    def _drained(self, data: bytes) -> bytes:
        """The same with what follows at once: a terminal gives 4 KiB at a time."""
        parts, size = [data], len(data)
        with suppress(
            OSError
        ):  # nothing more now, or the other side is gone: the next read says it
            while len(parts[-1]) >= _FULL_TERMINAL and size < _CHUNK:
                parts.append(os.read(self.fd, _CHUNK - size))
                size += len(parts[-1])
        return b"".join(parts)

    def _take(self, data: bytes) -> None:
        keep = data[: max(0, (self.most_kept if self._cap is None else self._cap) - self._size)]
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

    def shut(self) -> None:
        """Reads no more: who still writes gets SIGPIPE, as in a shell's pipe."""
        self.open, self.unread = False, True
        os.close(self.fd)
        self.fd = -1

    def rest(self) -> None:
        """Reads what is left after the tree has ended."""
        while self.open and self.read():
            pass
        if self._search is not None:
            self._take(self._search.finish())

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


class GatedInput:
    """A terminal's input that somebody else decides on, at the moment in which it is written."""

    hungry = False

    def __init__(self, fd: int, gate: InputSource) -> None:
        self.fd = fd
        self.open = True
        self._gate = gate
        os.set_blocking(fd, False)

    @property
    def wants(self) -> bool:
        return self.open and self._gate.waits

    def add(self, data: bytes, *, over: bool) -> None:
        """Nothing passes by the gate."""

    def write(self) -> None:
        self._gate.write_to(self.fd)

    def close(self) -> None:
        if self.open:
            self.open = False
            os.close(self.fd)


def terminal_input(run: Supervisor, stdin: bytes | None) -> Input | GatedInput:
    """Who types into a run's terminal: its caller, or somebody who decides piece by piece."""
    typed = run.control.typed
    if typed is None:
        return Input(os.dup(run.master), stdin or b"", over=False)
    run.outputs[0].most_kept = 0  # hours of a session, which others keep
    return GatedInput(os.dup(run.master), typed)


class Outlet:
    """The way from a command's output to whoever wants it as it comes."""

    def __init__(self, sink: Sink, wake: Callable[[], None]) -> None:
        self._sink = sink
        self._wake = wake
        self._items: SimpleQueue[Item | None] = SimpleQueue()
        # Each is written by one thread only: what came, and what was handed on.
        self._came = self._handed = 0
        self.error: BaseException | None = None
        # Streams whose reader stopped reading, as the sink says by `BrokenPipeError`.
        self.gone: set[int] = set()
        self.abandoned = False
        self._over = allocate_lock()
        self._over.acquire()
        start_new_thread(self._work, ())

    def put(self, stream: int, data: bytes) -> None:
        """Something more to hand on."""
        self._came += len(data)
        self._items.put((stream, data, len(data)))

    def say(self, stream: int, data: bytes) -> None:
        """Something of our own in between, from any thread; it never counts as the command's."""
        self._items.put((stream, data, 0))

    @property
    def full(self) -> bool:
        """Whether the command has to wait for its reader."""
        return self._came - self._handed > _MOST_WAITING

    def finish(self, control: Control, *, ended_by_us: bool) -> None:
        """Returns when everything was handed on; of what we ended, nothing is waited for long.

        A person who reads page by page gets every page of a command that ended by itself.
        """
        self.close()
        seen, since = self._handed, time.monotonic()
        while not self._over.acquire(timeout=_LOOK):
            now = time.monotonic()
            if self._handed != seen:
                seen, since = self._handed, now
            if control.cancelled or (ended_by_us and now - since > _PATIENCE):
                self.abandoned = True
                return
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        """Nothing more will come."""
        self._items.put(None)

    def _work(self) -> None:
        while self.error is None and (item := self._items.get()) is not None:
            went = False
            try:
                if item[0] not in self.gone:
                    self._sink(item[0], item[1])
            except BrokenPipeError:
                self.gone.add(item[0])
                went = True
            except BaseException as error:
                self.error = error
            size = item[2]
            self._handed += size
            # In this order: either the supervisor sees that there is room, or we see that it waits.
            if self._came - self._handed + size > _MOST_WAITING or went or self.error is not None:
                self._wake()
        self._over.release()


def narrated(control: Control, outlet: Outlet | None) -> Callable[[Connection], None] | None:
    """Shows connections between the command's own lines; the gate never waits for the reader."""
    words = control.narrate
    if words is None or outlet is None:
        return None
    return lambda connection: outlet.say(2, words(connection))


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
        # What was typed ahead is for the command, as in a shell.
        tty.setraw(fd, termios.TCSADRAIN)
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
