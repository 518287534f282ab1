"""A component: Python that someone else wrote, to be read before it runs; and what was found."""

from __future__ import annotations

from redoma.model.value import Value


class Problem(Value):
    """One reason why a component is refused, and where it stands; line and column begin at one."""

    __module__ = "redoma"

    line: int
    column: int
    reason: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.reason}"


class Validation(Value):
    """What reading a component found; it may run only where there is nothing."""

    __module__ = "redoma"

    problems: tuple[Problem, ...] = ()
    # Whether it is no Python at all; the one problem then says where.
    syntax_error: bool = False

    @property
    def ok(self) -> bool:
        return not self.problems

    def __bool__(self) -> bool:
        return self.ok
