"""What stops a piece of work: a path that the machine refuses, a conflict, a signal that comes.

An exception out of a signal's handler comes at any instruction. In the middle of an apply it would
find some of the moves done and the list of them about to change. So while things are moved the
handlers only take note, and we look between two moves whether to take all of it back.
"""

from __future__ import annotations

import errno
import os
from _thread import get_ident
from contextlib import contextmanager

from redoma.base import signals
from redoma.base.signals import Stopped
from redoma.model.message import Message
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

    from redoma.base.signals import Handler

_SIGNALS = (signals.SIGHUP, signals.SIGQUIT, signals.SIGTERM, signals.SIGINT)
_MOST_TOLD = 20
_WHY = {
    errno.EXDEV: "it lies on another file system, which is mounted inside the workspace",
    errno.ELOOP: "a link stands in its place",
}


class PathFailure(OSError):
    """One call that failed: the path below the workspace, and what was to be done with it."""

    def __init__(self, error: OSError, path: str, what: str) -> None:
        super().__init__(error.errno, error.strerror or str(error), path)
        self.path = path
        self.what = what

    def __str__(self) -> str:
        path, what = self.path or ".", Message(self.what)
        return Message("{path} cannot be {what}: {why}", path=path, what=what, why=reason(self))


@contextmanager
def at(path: str, what: str) -> Iterator[None]:
    """An error of the machine in this block is about `path`, which cannot be `what` ("moved")."""
    try:
        yield
    except PathFailure:
        raise
    except OSError as error:
        raise PathFailure(error, path, what) from error


def failure_text(error: OSError) -> str:
    """An error as it follows a colon: with its path, where that is known."""
    if isinstance(error, PathFailure):
        return str(error)
    path = os.fsdecode(error.filename) if error.filename else ""
    return Message("{why} ({path})", why=reason(error), path=path) if path else reason(error)


def reason(error: OSError) -> str:
    """What the kernel meant, without the path."""
    ours = _WHY.get(error.errno or 0)
    return Message(ours) if ours else error.strerror or str(error.args)


class Conflict(Value):
    """A path and what is wrong with it, as it follows the path in a sentence."""

    path: str
    why: str


def conflict_lines(conflicts: Sequence[Conflict]) -> str:
    """Conflicts as lines, the first of them."""
    lines = [
        Message("{path} {why}", path=each.path, why=Message(each.why))
        for each in conflicts[:_MOST_TOLD]
    ]
    if len(conflicts) > _MOST_TOLD:
        lines.append(Message("and {count} more", count=len(conflicts) - _MOST_TOLD))
    return Message.joined("\n", lines)


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


_working: dict[int, Interruption] = {}


def look() -> None:
    """Stops the work of this thread where that was asked for, and is still possible."""
    if _working and (found := _working.get(get_ident())) is not None:
        found.look()


def heed_no_more() -> None:
    """From here on the work of this thread comes to its end, whoever asks."""
    if (found := _working.get(get_ident())) is not None:
        found.heeds = False
