"""The directories that an agent may name: those the person gave, and the client's roots."""

from __future__ import annotations

import asyncio
import os
from urllib.parse import unquote, urlsplit

from mcp_types.version import is_version_at_least

from redoma.base.paths import is_within
from redoma.model.errors import UsageError
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from mcp.server.mcpserver import Context

# From this revision on a server cannot ask a client for its roots in the middle of a call.
WITHOUT_ROOTS = "2026-07-28"
PATIENCE = 5.0


class Workspaces:
    """Which directory a call works in; an agent chooses among what was opened to it."""

    def __init__(self, given: Sequence[str]) -> None:
        self._given = tuple(map(os.path.realpath, given))
        self._here = os.path.realpath(".")

    @property
    def first(self) -> str:
        """The directory that is meant where nobody says which."""
        return (self._given or (self._here,))[0]

    async def chosen(self, context: Context[Any, Any], wanted: str) -> str:
        """The directory of a call, without links; UsageError where it was not opened."""
        opened = self._given or await roots_of(context) or (self._here,)
        if not wanted:
            return opened[0]
        # Attack: a link in the workspace that leads out of it, named as a workspace of its own.
        place = os.path.realpath(os.path.join(opened[0], wanted))
        if any(is_within(place, one) for one in opened):
            return place
        raise UsageError(
            "{place} is none of the workspaces that were opened to you",
            place=wanted,
            hint=Message("one at or below: {places}", places=", ".join(opened)),
        )


async def roots_of(context: Context[Any, Any]) -> tuple[str, ...]:
    """The client's roots that are directories here; none where it has none to tell."""
    able = context.client_capabilities
    version = context.protocol_version or ""
    if able is None or able.roots is None or is_version_at_least(version, WITHOUT_ROOTS):
        return ()
    try:
        async with asyncio.timeout(PATIENCE):
            listed = await context.session.list_roots()
    except TimeoutError:
        return ()
    return tuple(place for root in listed.roots if (place := _directory(str(root.uri))))


def _directory(uri: str) -> str:
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return ""
    place = os.path.realpath(unquote(parts.path))
    return place if os.path.isdir(place) else ""
