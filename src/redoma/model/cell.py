"""What a cell is asked for and what it answers; a cell is a sandbox that stays."""

from __future__ import annotations

from redoma.model.errors import IsolationError
from redoma.model.grant import Limits
from redoma.model.result import Outcome
from redoma.model.value import Value

DEFAULT_LIMITS = Limits(memory=4 << 30, processes=1024, temporary=4 << 30)
WORKSPACE = "/workspace"
"""Where a cell's commands begin: an empty directory of its own."""
DEFAULT_USER = "redoma"
DEFAULT_UID = 1000


class CellError(IsolationError):
    """A cell has ended, or cannot do what was asked of it."""

    __module__ = "redoma"

    code = "cell"


class NoSuchUser(CellError):
    """A cell knows no user of that name, or can have no other user than its own here."""

    code = "cell-user"

    def __init__(self, message: str, /, *, hint: str = "", possible: bool = True, **v: object):
        """`possible` says whether the cell could have such a user at all."""
        super().__init__(message, hint=hint, **v)
        self.possible = possible


class CellResult(Value):
    """How one command in a cell ended, and what it printed."""

    __module__ = "redoma"

    # 128 and the signal's number for one that a signal ended; None where we ended it.
    exit_code: int | None
    outcome: Outcome
    stdout: bytes = b""
    stderr: bytes = b""

    @property
    def ok(self) -> bool:
        """Whether it ran to its end and said that all went well."""
        return self.outcome is Outcome.EXITED and self.exit_code == 0
