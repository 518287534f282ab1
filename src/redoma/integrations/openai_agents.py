"""Tools for the OpenAI Agents SDK (`pip install openai-agents`)."""

from __future__ import annotations

from redoma.integrations.tools import SandboxTools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agents import FunctionTool

    from redoma import Sandbox


def tools(sandbox: Sandbox | None = None) -> list[FunctionTool]:
    """The sandbox as `tools` of an `Agent`."""
    from agents import function_tool

    return [function_tool(one) for one in SandboxTools(sandbox).functions()]
