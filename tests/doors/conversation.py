"""A conversation with the MCP server as the official client has it, over a real process."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, ElicitResult, ListRootsResult, Root

from tests.house.tree import ROOT
from tests.pipeline.place import Place


def environment(place: Place) -> dict[str, str]:
    """The server's own places, and nothing of whoever runs the tests."""
    names = ("PATH", "XDG_CACHE_HOME")
    return {
        **{name: os.environ[name] for name in names if name in os.environ},
        "HOME": str(place.base / "home"),
        "XDG_CONFIG_HOME": str(place.base / "config"),
        "XDG_STATE_HOME": str(place.base / "state"),
        "PYTHONPATH": str(ROOT / "src"),
        "REDOMA_LANGUAGE": "en",
    }


@asynccontextmanager
async def conversation(
    place: Place,
    *options: str,
    mode: str = "auto",
    answers: Callable[[str], ElicitResult] | None = None,
    roots: tuple[Path, ...] = (),
    cwd: Path | None = None,
) -> AsyncIterator[Client]:
    """A client that has said hello to a server of its own."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "redoma", "mcp", *options],
        env=environment(place),
        cwd=cwd or place.workspace,
    )

    async def elicit(_context: object, asked: object) -> ElicitResult:
        assert answers is not None
        return answers(asked.message)  # type: ignore[attr-defined]

    async def tell_roots(_context: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=one.as_uri()) for one in roots])  # type: ignore[arg-type]

    async with Client(
        stdio_client(server),
        mode=mode,
        elicitation_callback=elicit if answers is not None else None,
        list_roots_callback=tell_roots if roots else None,
        read_timeout_seconds=60,
    ) as client:
        yield client


async def told(client: Client, tool: str, **arguments: object) -> dict[str, object]:
    """A tool's structured answer; an error of the tool fails the test."""
    found: CallToolResult = await client.call_tool(tool, arguments)
    assert not found.is_error, found.content
    assert found.structured_content is not None
    return found.structured_content


def says(choice: str, asked: list[str]) -> Callable[[str], ElicitResult]:
    """A person who always gives one answer, and what they were asked."""

    def answer(message: str) -> ElicitResult:
        asked.append(message)
        return ElicitResult(action="accept", content={"choice": choice})

    return answer
