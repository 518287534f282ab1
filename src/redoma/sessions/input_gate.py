"""What may be typed into a session, decided where it is written and nowhere before."""

from __future__ import annotations

import fcntl
import os
import termios
from _thread import allocate_lock
from collections import deque
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

HOST = "host"
TERMINAL = "terminal"
"""Who types beside the guests: the host, and the session's own terminal when it is asked."""
_PIECE = 1024
_OTHER_SIDE = 0x5441  # TIOCGPTPEER
_MOST_WAITING = 256 << 10


class InputGate:
    """A queue of what people typed; the permission is looked at for each piece that is written.

    The lock is taken for a piece's look and its write together: so when `revoke` returns, whatever
    its person typed before is either written or gone, and nothing of theirs follows.
    """

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._queue: deque[tuple[str, bytes]] = deque()
        self._sizes: dict[str, int] = {}
        self._may: set[str] = {HOST, TERMINAL}
        self._frozen = False
        self._own = -1
        self._last = ""
        self._typed: dict[str, None] = {}
        self.wake: Callable[[], None] = lambda: None
        # Is told what people typed, but not where a program asks for a line without showing it.
        self.written: Callable[[bytes], None] | None = None

    def type(self, who: str, data: bytes) -> bool:
        """Takes what someone typed; False where they may not type, or type more than is read."""
        with self._lock:
            if not self._passes(who):
                return False
            size = self._sizes.get(who, 0) + len(data)
            if size > _MOST_WAITING:
                return False
            self._sizes[who] = size
            # Small pieces: so a revocation finds at most one of them on its way.
            self._queue.extend(
                (who, data[start : start + _PIECE]) for start in range(0, len(data), _PIECE)
            )
        self.wake()
        return True

    def allow(self, who: str) -> None:
        with self._lock:
            self._may.add(who)

    def revoke(self, who: str) -> None:
        """From here on nothing of theirs is written, what they typed before included."""
        with self._lock:
            self._may.discard(who)
            self._purge()
            if self._last == who:
                self._forget_unread()

    def freeze(self) -> None:
        """Nobody but the session's own terminal types until it thaws; what waits is gone."""
        with self._lock:
            self._frozen = True
            self._purge()
            if self._last not in ("", HOST, TERMINAL):
                self._forget_unread()

    def thaw(self) -> None:
        with self._lock:
            self._frozen = False

    def typists(self) -> tuple[str, ...]:
        """Who typed since this was asked last."""
        with self._lock:
            found, self._typed = tuple(self._typed), {}
        return found

    @property
    def waits(self) -> bool:
        """Whether there is something to write."""
        return bool(self._queue)

    def write_to(self, terminal: int) -> None:
        """Writes what may be written and what the terminal takes; called by the supervisor."""
        with self._lock:
            if self._own < 0:
                self._own = os.dup(terminal)
            while self._queue:
                who, data = self._queue.popleft()
                if not self._passes(who):
                    self._count(who, data)
                    continue
                hidden = self.written is not None and _asks_in_secret(terminal)
                try:
                    size = os.write(terminal, data)
                except BlockingIOError:
                    self._queue.appendleft((who, data))
                    return
                except OSError:  # the command is gone: what is left has no reader
                    self._queue.clear()
                    self._sizes.clear()
                    return
                self._last = who
                if who != TERMINAL:
                    self._typed[who] = None
                self._count(who, data[:size])
                if self.written is not None and who != TERMINAL and not hidden:
                    self.written(data[:size])
                if size < len(data):
                    self._queue.appendleft((who, data[size:]))

    def renew(self, first: bytes) -> None:
        """What waits was meant for a shell that is gone; `first` is typed into the next one."""
        with self._lock:
            self._queue.clear()
            self._sizes.clear()
            self._typed, self._last = {}, ""
            if self._own >= 0:
                os.close(self._own)
                self._own = -1
            if first:
                self._queue.append((TERMINAL, first))
        self.wake()

    def close(self) -> None:
        """Nothing is written any more."""
        with self._lock:
            self._may.clear()
            self._purge()
            if self._own >= 0:
                os.close(self._own)
                self._own = -1

    def _passes(self, who: str) -> bool:
        return who in self._may and (not self._frozen or who == TERMINAL)

    def _purge(self) -> None:
        left = [(who, data) for who, data in self._queue if self._passes(who)]
        self._queue = deque(left)
        self._sizes = {}
        for who, data in left:
            self._sizes[who] = self._sizes.get(who, 0) + len(data)

    def _count(self, who: str, data: bytes) -> None:
        self._sizes[who] = max(0, self._sizes.get(who, 0) - len(data))

    def _forget_unread(self) -> None:
        """Attack: lines typed while a program sleeps are in the kernel, and run when it wakes."""
        if self._own >= 0:
            with suppress(termios.error, OSError):
                # What was written and not read lies with the other side, and is let go there.
                other = fcntl.ioctl(self._own, _OTHER_SIDE, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
                try:
                    termios.tcflush(other, termios.TCIFLUSH)
                finally:
                    os.close(other)


def _asks_in_secret(terminal: int) -> bool:
    """Whether a program reads a line and lets nobody see it, as one does for a password."""
    try:
        modes = termios.tcgetattr(terminal)[3]
    except (termios.error, OSError):
        return False
    return bool(modes & termios.ICANON) and not modes & termios.ECHO
