"""`SandboxedTool`: a tool whose own methods run under constraints."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from redoma.dialects.tools.constraints import SandboxConstraints, given_or_safe

if TYPE_CHECKING:
    from redoma.dialects.tools.executor import Confirm, SandboxExecutor

T = TypeVar("T")


class SandboxedTool:
    """The base of a tool; what its methods give to `execute_safe` runs inside."""

    def __init__(
        self, constraints: SandboxConstraints | None = None, *, ask: Confirm | None = None
    ) -> None:
        self.constraints = given_or_safe(constraints)
        self._ask = ask
        self._executor: SandboxExecutor | None = None

    @property
    def executor(self) -> SandboxExecutor:
        """Who runs what this tool does."""
        from redoma.dialects.tools.executor import SandboxExecutor

        if self._executor is None:
            self._executor = SandboxExecutor(self.constraints, ask=self._ask)
        return self._executor

    def execute_safe(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """What a function returns that runs under this tool's constraints."""
        return self.executor.execute(function, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        # A method goes inside with its tool; who is asked, and who runs it, stay outside.
        return {**self.__dict__, "_executor": None, "_ask": None}
