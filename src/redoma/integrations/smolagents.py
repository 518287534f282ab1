"""Tools for smolagents (`pip install smolagents`)."""

from __future__ import annotations

from redoma.integrations.function_calls import FunctionCalls
from redoma.integrations.tools import SandboxTools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from smolagents import Tool  # type: ignore[import-untyped]

    from redoma import Sandbox


def tools(sandbox: Sandbox | None = None) -> list[Tool]:
    """The sandbox as tools of a `ToolCallingAgent` or a `CodeAgent`."""
    functions = SandboxTools(sandbox).functions()
    schemas = FunctionCalls(sandbox).schemas()
    return [_tool(one, schema) for one, schema in zip(functions, schemas, strict=True)]


def _tool(function: Callable[..., str], schema: dict[str, object]) -> Tool:
    from smolagents import Tool

    parameters = schema["parameters"]
    assert isinstance(parameters, dict)
    required = parameters["required"]
    made = {
        "name": schema["name"],
        "description": schema["description"],
        "inputs": {
            key: one if key in required else {**one, "nullable": True}
            for key, one in parameters["properties"].items()
        },
        "output_type": "string",
        # The function's own arguments are what the framework reads a tool's inputs from.
        "forward": staticmethod(function),
        "skip_forward_signature_validation": True,
    }
    kind: type[Tool] = type(f"Redoma_{function.__name__}", (Tool,), made)
    return kind()
