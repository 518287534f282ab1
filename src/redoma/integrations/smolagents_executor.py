"""The cell as smolagents' own executor: `CodeAgent(executor=CellExecutor(), …)`."""

from __future__ import annotations

from typing import Any

from smolagents.local_python_executor import (  # type: ignore[import-untyped]
    CodeOutput,
    PythonExecutor,
)

from redoma import Cell
from redoma.integrations.cell_interpreter import CellInterpreter


class CellExecutor(PythonExecutor):  # type: ignore[misc]
    """Runs an agent's code in one cell; its tools run outside, as they would without it."""

    def __init__(self, cell: Cell | None = None, *, timeout: float = 60.0) -> None:
        """`timeout` is for one step; a cell of its own ends with `cleanup`."""
        self._own = cell is None
        self.cell = cell or Cell()
        self._interpreter = CellInterpreter(self.cell, timeout)
        # Where the framework looks for what a step that failed had printed.
        self.state: dict[str, Any] = {}

    def send_tools(self, tools: dict[str, Any]) -> None:
        """Tools that the code may call by name."""
        self._interpreter.give_tools({n: t for n, t in tools.items() if n != "final_answer"})

    def send_variables(self, variables: dict[str, Any]) -> None:
        """Variables that the code finds; data only."""
        self._interpreter.give_variables(variables)

    def __call__(self, code_action: str) -> Any:
        """The value of a step and what it printed."""
        try:
            value, final = self._interpreter.run(code_action)
        finally:
            self.state["_print_outputs"] = self._interpreter.printed
        return CodeOutput(output=value, logs=self._interpreter.printed, is_final_answer=final)

    def cleanup(self) -> None:
        """Ends the interpreter, and the cell where it is its own."""
        self._interpreter.close()
        if self._own:
            self.cell.close()
