"""What a client can read: the policy in force, what this machine enforces, diffs, the audit log."""

from __future__ import annotations

import asyncio
import json

from mcp.server.mcpserver.exceptions import ResourceError

from redoma.cli.audit_report import as_json as audit_json
from redoma.cli.doctor import as_json as doctor_json
from redoma.model.errors import RedomaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from redoma.mcp.workspaces import Workspaces

JSON = "application/json"
ENTRIES = 100


def add_resources(server: MCPServer[None], workspaces: Workspaces, session: str) -> None:
    """Gives a server its resources; of the audit log, what this session did and no other."""

    @server.resource("redoma://policy", title="The policy in force", mime_type="text/plain")
    async def policy() -> str:
        """The policy that holds in the workspace, as `redoma policy show` prints it."""
        return await asyncio.to_thread(_policy, workspaces.first)

    @server.resource("redoma://doctor", title="What is enforced here", mime_type=JSON)
    async def doctor() -> str:
        """What this machine can enforce, what is missing, and what would help."""
        from redoma.pipeline.doctor import examine

        return json.dumps(doctor_json(await asyncio.to_thread(examine)))

    @server.resource("redoma://audit", title="The audit log", mime_type=JSON)
    async def audit() -> str:
        """What this session did: the newest entries of the audit log, without secrets."""
        from redoma.pipeline.audit_reader import EntryFilter, newest

        found = await asyncio.to_thread(newest, ENTRIES, EntryFilter(session=session))
        return json.dumps([audit_json(entry) for entry in found])

    @server.resource("redoma://previews/{id}/diff", title="A diff", mime_type="text/x-diff")
    async def diff(id: str) -> str:
        """Everything that a preview or a run changed, as one unified diff."""
        return await asyncio.to_thread(_diff, id)


def _policy(workspace: str) -> str:
    from redoma.cli.policies import settings_text
    from redoma.pipeline.decisions.policy_tools import shown

    return settings_text(shown(workspace, None))


def _diff(id: str) -> str:
    from redoma.pipeline import stored_changes
    from redoma.pipeline.preview import unified

    try:
        return unified(stored_changes.load(stored_changes.resolve(id)))
    except RedomaError as error:
        raise ResourceError(str(error)) from error
