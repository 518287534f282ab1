"""Hands output on in a thread of its own, so that a reader who is stuck holds up no limit.

Attack: a command prints until nobody reads any more. If the supervisor waited for the reader, time
would stand still for it, and no limit would be looked at again.
"""

from __future__ import annotations

import time
from _queue import SimpleQueue
from _thread import allocate_lock, start_new_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.jail.run.control import Control
    from redoma.jail.run.streams import Sink
    from redoma.model.network import Connection

    # A stream, what is for it, and how much of that is the command's own.
    Item = tuple[int, bytes, int]

# So much is taken from a command before it has to wait for its reader.
_MOST_WAITING = 256 << 10
_LOOK = 0.2
# How long a reader may be stuck after we ended the command ourselves.
_PATIENCE = 5.0
ABANDONED = "nobody read the last of the output"


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
