"""One connection that watches: what is to be sent to it, and how far behind it may fall.

Nobody waits for a viewer. One that falls too far behind loses what it has not seen, and is drawn
the screen anew when it reads again.
"""

from __future__ import annotations

import asyncio
from collections import deque

from redoma.sessions import frames
from redoma.sessions.people import PermissionLevel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MOST_BEHIND = 1 << 20
_IN_FLIGHT = 1 << 20
_AT_ONCE = 16
_MOST_MESSAGES = 1000


class Viewer:
    """What one connection is sent, in order; `guest` is empty for the host."""

    def __init__(self, guest: str, snapshot: Callable[[Viewer], list[bytes]]) -> None:
        """`snapshot` draws the screen as it is now, and says so by `drawn`."""
        self.guest = guest
        self.watching = False
        self.permission = PermissionLevel.NONE
        # Since when it watches a screen of a program's own, behind which there is another.
        self.saw_alternate = False
        self.close_reason = ""
        self._snapshot = snapshot
        self._messages: deque[bytes] = deque()
        self._output: deque[bytes] = deque()
        self._waiting = 0
        self._stale = False
        self._sent = self._seen = 0
        self._ready = asyncio.Event()
        # Makes the connection end; set by whoever serves it.
        self.hang_up: Callable[[], None] = lambda: None

    @property
    def is_host(self) -> bool:
        return not self.guest

    def tell(self, message: Mapping[str, object]) -> None:
        """A control message; who reads none for long is let go."""
        if len(self._messages) >= _MOST_MESSAGES:
            self.end("slow")
            return
        self._messages.append(frames.control(message))
        self._ready.set()

    def answer(self, frame: bytes) -> None:
        """A frame that is no output."""
        if len(self._messages) < _MOST_MESSAGES:
            self._messages.append(frame)
            self._ready.set()

    def watch(self) -> None:
        """From now on it sees the terminal, beginning with how it looks."""
        self.watching = True
        self.draw_anew()

    def unwatch(self) -> None:
        """From now on it sees nothing of the terminal; what it has not got is gone."""
        self.watching = False
        self._forget()
        self._stale = False

    def draw_anew(self) -> None:
        if self.watching:
            self._forget()
            self._stale = True
            self._ready.set()

    def show(self, frame: bytes) -> None:
        """A frame of output, shared with everyone else."""
        if self._stale or not self.watching:
            return
        self._waiting += len(frame)
        if self._waiting > MOST_BEHIND:
            self.draw_anew()
            return
        self._output.append(frame)
        self._ready.set()

    def saw(self, sequence: int) -> None:
        """It has shown the output up to here."""
        if self._seen < sequence <= self._sent:
            self._seen = sequence
            self._ready.set()

    def drawn(self, sequence: int) -> None:
        """It is being sent the screen as of this point."""
        self._sent = self._seen = sequence

    def end(self, reason: str) -> None:
        """Ends the connection when what was to be said is sent."""
        self.close_reason = self.close_reason or reason
        self._ready.set()

    async def next(self) -> list[bytes]:
        """What to send now; nothing more where the connection is to end."""
        while True:
            if self._messages:
                found = list(self._messages)
                self._messages.clear()
                return found
            if self.close_reason and not (self._output and self.close_reason == "ended"):
                return []
            if self._sent - self._seen <= _IN_FLIGHT:
                if self._stale:
                    self._stale = False
                    return self._snapshot(self)
                if self._output:
                    return self._taken()
            elif self.close_reason:
                return []
            self._ready.clear()
            await self._ready.wait()

    def _taken(self) -> list[bytes]:
        found: list[bytes] = []
        while self._output and len(found) < _AT_ONCE:
            frame = self._output.popleft()
            self._waiting -= len(frame)
            found.append(frame)
            if frame[0] == frames.FrameKind.OUTPUT:
                self._sent += len(frame) - 9
        return found

    def _forget(self) -> None:
        self._output.clear()
        self._waiting = 0
