"""What the path knows of this machine and this sandbox, for one call."""

from __future__ import annotations

import os

from redoma.flow.events import Told
from redoma.jail.levels import LEVELS
from redoma.jail.plan import plan as make_plan
from redoma.model.access import Apply, Writes
from redoma.model.guarantee import Guarantee
from redoma.model.request import Mode, ShellCommand
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.flow.sandbox import Sandbox
    from redoma.model.access import Grant
    from redoma.model.change import Changes
    from redoma.model.decision import Decision
    from redoma.model.plan import Plan
    from redoma.model.question import Question
    from redoma.model.request import Request


class World:
    """The path's view of one call on a sandbox: its policy is read once, and holds throughout."""

    def __init__(self, sandbox: Sandbox, timeout: float | None, *, terminal: bool) -> None:
        self.policy = sandbox.policy()
        self._sandbox = sandbox
        self._timeout = timeout
        self._terminal = terminal

    def judge(self, request: Request) -> Decision:
        from redoma.flow.check import check

        return check(
            request.workload.shown,
            pack=self.policy.pack,
            cwd=request.cwd or self._sandbox.workspace,
            policy=self.policy,
            circumstances=self._sandbox.circumstances(request, self.policy),
        )

    def grant(self, request: Request, decision: Decision) -> Grant:
        level = strictest(self._sandbox.level(self.policy), decision.isolation)
        grant = self._sandbox.grant(level, self.policy, held_in_layer=request.mode is Mode.PREVIEW)
        if self._timeout is None:
            return grant
        wall = grant.limits.wall_seconds
        seconds = self._timeout if wall is None else min(wall, self._timeout)
        return replace(grant, limits=replace(grant.limits, wall_seconds=seconds))

    def plan(self, request: Request, grant: Grant) -> Plan:
        return make_plan(request, grant, self._sandbox.host, terminal=self._terminal)

    def question(
        self, request: Request, decision: Decision, plan: Plan, changes: Changes | None
    ) -> Question:
        from redoma.flow.questions import question

        return question(request, decision, plan, self.policy, changes=changes)

    def modified(self, request: Request, command: str) -> Request:
        from redoma.flow.requests import shell
        from redoma.model.ids import short_id

        return replace(request, id=short_id(), workload=ShellCommand(text=command, shell=shell()))

    def review(self, decision: Decision, plan: Plan, changes: Changes) -> str:
        if decision.preview:
            return decision.preview
        above = self.policy.dry_run.above_files
        if above is not None and len(changes.items) > above:
            return f"this changes {len(changes.items)} files, and the policy wants to see that"
        return "the profile asks before it applies" if plan.grant.apply is Apply.ASK else ""

    def told(self, request: Request) -> Told:
        logging = self.policy.logging
        return Told(
            request, verbose=logging.level == "verbose", output=logging.include_command_output
        )

    def digest(self, request: Request) -> str:
        return command_digest(request, self._sandbox.workspace)


def strictest(chosen: str, wanted: str) -> str:
    """The level to use: the wanted one unless the chosen is at least as strict."""
    if not wanted or wanted == chosen:
        return chosen
    if chosen in LEVELS and wanted in LEVELS:
        return max(chosen, wanted, key=LEVELS.index)
    return wanted


def command_digest(request: Request, workspace: str) -> str:
    """The same for the same workload in the same directory, and for nothing else."""
    from _blake2 import blake2b

    workload = request.workload
    words = (workload.shell, workload.text) if isinstance(workload, ShellCommand) else workload.argv
    parts = (type(workload).__name__, os.path.join(workspace, request.cwd), *words)
    made = blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogateescape")
        made.update(b"%d:" % len(data) + data)
    return made.hexdigest()


def held(grant: Grant) -> Grant:
    """The same grant with everything that is written held in a layer."""
    return replace(
        grant,
        writes=Writes.LAYER,
        apply=Apply.NEVER,
        require=grant.require - {Guarantee.PROTECTED_PATHS} | {Guarantee.CHANGES_HELD},
    )
