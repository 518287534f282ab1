"""Tools for Pydantic AI (`pip install pydantic-ai-slim`)."""

from __future__ import annotations

from redoma.integrations.tools import SandboxTools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pydantic_ai import FunctionToolset

    from redoma import Sandbox


def toolset(sandbox: Sandbox | None = None) -> FunctionToolset[None]:
    """The sandbox as one of an agent's `toolsets`."""
    from pydantic_ai import FunctionToolset

    return FunctionToolset(tools=SandboxTools(sandbox).functions())
