"""Lets nobody stop us between two moves: a signal that comes is heeded where that is safe.

An exception out of a signal's handler comes at any instruction. In the middle of an apply it would
find some of the moves done and the list of them about to change. So while things are moved the
handlers only take note, and we look between two moves whether to take all of it back.
"""

from __future__ import annotations

from _thread import get_ident

from redoma.base import signals
from redoma.base.signals import Stopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from redoma.base.signals import Handler

_SIGNALS = (signals.SIGHUP, signals.SIGQUIT, signals.SIGTERM, signals.SIGINT)
_working: dict[int, Interruption] = {}


class Interruption:
    """A piece of work during which signals wait; `heeds` says whether it could still be stopped."""

    def __init__(self) -> None:
        self.heeds = True
        self._asked = 0
        self._handlers: dict[int, Handler] = {}

    def __enter__(self) -> Self:
        try:
            for number, handler in signals.handlers(*_SIGNALS).items():
                self._handlers[number] = handler
                signals.handle(number, self._note)
        except ValueError:
            self._handlers.clear()  # another thread than the first: no signal comes to it
        except BaseException:
            self._put_back()
            raise
        _working[get_ident()] = self
        return self

    def __exit__(self, *_: object) -> None:
        _working.pop(get_ident(), None)
        self._put_back()

    def _put_back(self) -> None:
        while self._handlers:
            signals.handle(*self._handlers.popitem())

    def _note(self, number: int, _frame: object) -> None:
        self._asked = self._asked or number

    def look(self) -> None:
        """Stops here where that was asked for, and is still possible."""
        if self._asked and self.heeds:
            self.heeds = False
            raise Stopped(self._asked)


def look() -> None:
    """Stops the work of this thread where that was asked for, and is still possible."""
    if _working and (found := _working.get(get_ident())) is not None:
        found.look()


def heed_no_more() -> None:
    """From here on the work of this thread comes to its end, whoever asks."""
    if (found := _working.get(get_ident())) is not None:
        found.heeds = False
