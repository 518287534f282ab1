"""Asks the machine's own resolver, in threads that may wait, and keeps the answers for a while."""

from __future__ import annotations

import time
from _queue import SimpleQueue
from _thread import start_new_thread
from socket import SOCK_STREAM, getaddrinfo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    Then: TypeAlias = Callable[[tuple[str, ...]], None]

MOST_NAMES = 1000
_MOST_THREADS = 4
_MOST_WAITING = 512
_KEPT, _KEPT_ABSENCE = 60.0, 5.0


class Resolver:
    """Where names are. Everything but the asking itself happens in the caller's own thread."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._questions: SimpleQueue[Any] = SimpleQueue()
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._known: dict[str, tuple[float, tuple[str, ...]]] = {}
        self._waiting: dict[str, list[Then]] = {}
        self._threads = 0

    def ask(self, name: str, then: Then) -> None:
        """Calls `then` with the addresses of a name, at once where they are known."""
        known = self._known.get(name)
        if known is not None and known[0] > time.monotonic():
            then(known[1])
            return
        waiting = self._waiting.get(name)
        if waiting is not None:
            waiting.append(then)
        elif len(self._waiting) >= _MOST_WAITING or (
            known is None and len(self._known) + len(self._waiting) >= MOST_NAMES
        ):
            # Attack: below a granted star every name is a message to whoever owns the domain.
            then(())
        else:
            self._waiting[name] = [then]
            if self._threads < min(_MOST_THREADS, len(self._waiting)):
                self._threads += 1
                start_new_thread(self._work, ())
            self._questions.put(name)

    def deliver(self) -> None:
        """Hands out the answers that have come."""
        while not self._answers.empty():
            name, addresses = self._answers.get()
            kept = _KEPT if addresses else _KEPT_ABSENCE
            self._known[name] = (time.monotonic() + kept, addresses)
            for then in self._waiting.pop(name, ()):
                then(addresses)

    def close(self) -> None:
        """Ends the threads, each when its question is answered."""
        self._wake = lambda: None
        for _ in range(self._threads):
            self._questions.put(None)

    def _work(self) -> None:
        while (name := self._questions.get()) is not None:
            try:
                found = getaddrinfo(name, None, type=SOCK_STREAM)
                addresses = tuple(dict.fromkeys(str(each[4][0]) for each in found))
            except (OSError, UnicodeError, ValueError):
                addresses = ()
            self._answers.put((name, addresses))
            self._wake()
