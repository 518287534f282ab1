"""Tools for LangChain and LangGraph (`pip install langchain-core`)."""

from __future__ import annotations

from redoma.integrations.tools import SandboxTools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from redoma import Sandbox


def tools(sandbox: Sandbox | None = None) -> list[BaseTool]:
    """The sandbox as tools of a chat model or of a graph's tool node."""
    from langchain_core.tools import StructuredTool

    return [
        StructuredTool.from_function(one, parse_docstring=True)
        for one in SandboxTools(sandbox).functions()
    ]
