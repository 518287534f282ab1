"""What is to happen later, each by its name: naming it again puts the earlier one off."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


class Timers:
    """The timers of one session, in its loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._handles: dict[str, asyncio.TimerHandle] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._handles

    def later(self, name: str, seconds: float, work: Callable[[], None]) -> None:
        """Does this when so much time has gone, unless it is cancelled."""

        def run() -> None:
            self._handles.pop(name, None)
            work()

        self.cancel(name)
        self._handles[name] = self._loop.call_later(seconds, run)

    def left(self, name: str) -> float:
        """How many seconds there still are."""
        return max(0.0, self._handles[name].when() - self._loop.time())

    def cancel(self, name: str) -> None:
        timer = self._handles.pop(name, None)
        if timer is not None:
            timer.cancel()

    def cancel_all(self) -> None:
        for name in list(self._handles):
            self.cancel(name)
