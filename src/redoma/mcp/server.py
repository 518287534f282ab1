"""The tools: check, run, preview, apply, undo, history and confirm, each a walk of the one path."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import InputRequiredResult, ToolAnnotations
from pydantic import Field

import redoma
from redoma.mcp import reports
from redoma.mcp.approvals import Approvals
from redoma.mcp.resources import add_resources
from redoma.mcp.workspaces import Workspaces
from redoma.model.errors import RedomaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

INSTRUCTIONS = (
    "Runs shell commands in a sandbox on this machine. Writes stay in the workspace and can be"
    " taken back with undo; the network is closed unless the person granted hosts. check says what"
    " the policy makes of a command; preview shows what it would change. A refusal names its reason"
    " and often a safer way: take that, do not look for a way around it."
)
READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
RUNS = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
)
HOLDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
CHANGES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)
MOST_SHOWN = 32 << 10
TELL_EVERY = 0.2

Command = Annotated[str, Field(description="shell text, as for bash -c", min_length=1)]
Workspace = Annotated[
    str, Field(description="a directory at or below one that the person opened; by default that")
]
Directory = Annotated[str, Field(description="where to run, relative to the workspace")]
Shown = Annotated[int, Field(description="characters of each stream in the answer", ge=0)]


def server(workspaces: Workspaces, **how: Any) -> MCPServer[None]:
    """The MCP server for some workspaces.

    `how` are arguments of `Sandbox` for every call, `caller` among them.
    """
    approvals = Approvals()

    @asynccontextmanager
    async def lifespan(_: MCPServer[None]) -> AsyncIterator[None]:
        try:
            yield None
        finally:
            await approvals.close()

    made: MCPServer[None] = MCPServer(
        "redoma",
        title="Redoma",
        version=redoma.__version__,
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        log_level="WARNING",
    )
    doors = Tools(workspaces, approvals, how)
    made.tool(title="Judge a command", annotations=READS)(doors.check)
    made.tool(title="Run a command in a sandbox", annotations=RUNS)(doors.run)
    made.tool(title="Show what a command would change", annotations=HOLDS)(doors.preview)
    made.tool(title="Make previewed changes real", annotations=CHANGES)(doors.apply)
    made.tool(title="Take changes back", annotations=CHANGES)(doors.undo)
    made.tool(title="What was changed before", annotations=READS)(doors.history)
    made.tool(title="Ask the person about a command", annotations=HOLDS)(doors.confirm)
    add_resources(made, workspaces, how["caller"].session)
    return made


class Tools:
    """Each method is one tool; its arguments are the tool's input schema."""

    def __init__(self, workspaces: Workspaces, approvals: Approvals, how: dict[str, Any]) -> None:
        self._workspaces = workspaces
        self._approvals = approvals
        self._how = how

    async def check(
        self, command: Command, context: Context[Any, Any], workspace: Workspace = ""
    ) -> reports.CheckReport:
        """Says what a command would do, how bad that is, and what the policy makes of it."""
        with ErrorsTold():
            sandbox = await self._sandbox(context, workspace)
            return reports.check_report(await sandbox.check(command))

    async def run(  # noqa: PLR0917 — each is a field of the tool's input
        self,
        command: Command,
        context: Context[Any, Any],
        workspace: Workspace = "",
        cwd: Directory = "",
        timeout: Annotated[float | None, Field(description="seconds", gt=0)] = None,
        stdin: Annotated[str, Field(description="what the command reads")] = "",
        max_output: Shown = MOST_SHOWN,
    ) -> reports.RunReport | InputRequiredResult:
        """Runs a command in the sandbox and applies what it wrote when it has ended; undo takes it
        back. Where the policy wants that, the person is asked first."""

        async def work(ask: object) -> reports.RunReport:
            sandbox = await self._sandbox(context, workspace, ask)
            async with told_on(context) as sink:
                result = await sandbox.run(
                    command,
                    cwd=_inside(sandbox.workspace, cwd),
                    timeout=timeout,
                    stdin=stdin.encode(),
                    sink=sink,
                )
            return reports.run_report(result, max_output)

        with ErrorsTold():
            return await self._approvals.during(context, work)

    async def preview(
        self,
        command: Command,
        context: Context[Any, Any],
        workspace: Workspace = "",
        cwd: Directory = "",
        timeout: Annotated[float | None, Field(description="seconds", gt=0)] = None,
        max_output: Shown = MOST_SHOWN,
    ) -> reports.PreviewReport:
        """Runs a command on an overlay and shows what it would change; the workspace stays."""
        with ErrorsTold():
            sandbox = await self._sandbox(context, workspace)
            async with told_on(context) as sink:
                held = await sandbox.preview(
                    command, cwd=_inside(sandbox.workspace, cwd), timeout=timeout, sink=sink
                )
            return await asyncio.to_thread(reports.preview_report, held, max_output)

    async def apply(
        self,
        id: Annotated[str, Field(description="of a preview, or of a run that was held")],
        context: Context[Any, Any],
        paths: Annotated[list[str] | None, Field(description="only these; all by default")] = None,
        workspace: Workspace = "",
    ) -> reports.ChangedPaths | InputRequiredResult:
        """Makes held changes real, all or some. Where the command itself needed a confirmation,
        the person is asked now."""

        async def work(ask: object) -> reports.ChangedPaths:
            sandbox = await self._sandbox(context, workspace, ask)
            return reports.changed_paths(await sandbox.apply(id, paths))

        with ErrorsTold():
            return await self._approvals.during(context, work)

    async def undo(
        self,
        context: Context[Any, Any],
        id: Annotated[str, Field(description="of a run or an apply; the last by default")] = "",
        workspace: Workspace = "",
    ) -> reports.ChangedPaths:
        """Takes back what was applied; refused where a file has changed since."""
        with ErrorsTold():
            sandbox = await self._sandbox(context, workspace)
            return reports.changed_paths(await sandbox.undo(id))

    async def history(
        self,
        context: Context[Any, Any],
        workspace: Workspace = "",
        limit: Annotated[int, Field(ge=1, le=200)] = 20,
    ) -> reports.HistoryReport:
        """What was previewed, applied and undone in the workspace, the newest first."""
        from redoma.pipeline import stored_changes

        with ErrorsTold():
            place = await self._workspaces.chosen(context, workspace)
            entries = await asyncio.to_thread(stored_changes.history, place)
            return reports.history_report(entries, limit)

    async def confirm(
        self, command: Command, context: Context[Any, Any], workspace: Workspace = ""
    ) -> reports.ConfirmReport | InputRequiredResult:
        """Asks the person about a command as a run of it would, and runs nothing."""

        async def work(ask: object) -> reports.ConfirmReport:
            sandbox = await self._sandbox(context, workspace, ask)
            return reports.confirm_report(await sandbox.confirm(command))

        with ErrorsTold():
            return await self._approvals.during(context, work)

    async def _sandbox(
        self, context: Context[Any, Any], workspace: str, ask: object = None
    ) -> redoma.AsyncSandbox:
        place = await self._workspaces.chosen(context, workspace)
        return await asyncio.to_thread(lambda: redoma.AsyncSandbox(place, **self._how, ask=ask))


@asynccontextmanager
async def told_on(
    context: Context[Any, Any],
) -> AsyncIterator[Callable[[int, bytes], None]]:
    """Passes output on as progress while the command runs, a few times a second at most."""
    waiting: list[bytes] = []
    total = 0

    def sink(_stream: int, data: bytes) -> None:
        waiting.append(data)

    async def tell() -> None:
        nonlocal total
        if not waiting:
            return
        data = b"".join(waiting[: len(waiting)])
        del waiting[:]
        total += len(data)
        await context.report_progress(total, None, data[-4096:].decode(errors="replace"))

    async def keep_telling() -> None:
        while True:
            await asyncio.sleep(TELL_EVERY)
            await tell()

    teller = asyncio.create_task(keep_telling())
    try:
        yield sink
        await tell()
    finally:
        teller.cancel()
        with suppress(asyncio.CancelledError):
            await teller


class ErrorsTold:
    """Turns our errors into tool errors: what happened, and what to do next."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, RedomaError):
            hint = f"\nhint: {error.hint}" if error.hint else ""
            raise ToolError(f"{error}{hint}") from error


def _inside(workspace: str, cwd: str) -> str:
    """Where a command starts: a path below its workspace."""
    return os.path.join(workspace, cwd) if cwd else ""
