"""The error of a command that may not run, as code around `subprocess` expects it."""

from __future__ import annotations

import errno

from redoma.model.errors import RedomaError, Refused
from redoma.model.result import Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.result import Result


class CommandRefused(Refused, PermissionError):
    """A command was refused, or what it changed was: `result` has the whole story.

    It is a `PermissionError` with `errno.EACCES`, so that code which catches `OSError` around a
    command goes on working; `cmd` is the command as it was given.
    """

    __module__ = "redoma.subprocess"

    code = "command-refused"

    def __init__(self, cmd: object, result: Result) -> None:
        why: RedomaError | None = None
        try:
            result.raise_for_outcome()
        except RedomaError as error:
            why = error
        super().__init__("{why}", why=why or result.outcome.words, hint=why.hint if why else "")
        self.cmd = cmd
        self.result = result
        self.errno = errno.EACCES
        self.strerror = str(self.args[0])

    def __str__(self) -> str:
        return str(self.args[0])


def is_refused(result: Result) -> bool:
    """Whether the command did not run, or what it changed may not become real."""
    return result.outcome in (Outcome.DENIED, Outcome.DECLINED, Outcome.PREVIEWED)
