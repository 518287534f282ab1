"""What the path knows of this machine and this sandbox, for one call."""

from __future__ import annotations

import os
import stat

from redoma.base.ids import short_id
from redoma.jail.engines.choice import plan as make_plan
from redoma.model.access import Apply, Network, Syscalls, Writes
from redoma.model.arguments import flag, number
from redoma.model.errors import NoEngine
from redoma.model.guarantee import Guarantee
from redoma.model.network import Reach
from redoma.model.request import Mode
from redoma.model.value import replace
from redoma.pipeline.audit_events import Told
from redoma.pipeline.requests import shell_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.access import Grant
    from redoma.model.change import Changes
    from redoma.model.decision import Decision
    from redoma.model.plan import Plan
    from redoma.model.question import Question
    from redoma.model.request import Request
    from redoma.pipeline.sandbox import Sandbox


_HELD = frozenset((Guarantee.CHANGES_HELD, Guarantee.NETWORK_CLOSED))


class World:
    """The path's view of one call on a sandbox: its policy is read once, and holds throughout."""

    def __init__(
        self,
        sandbox: Sandbox,
        timeout: float | None = None,
        *,
        terminal: bool = False,
        trace_files: bool = False,
        instead: str = "",
        mocks: bool = False,
        stdin: bytes | int | None = b"",
    ) -> None:
        """`instead` is what runs in the place of the command that is judged: its own dry run.

        `mocks` answers what a preview asks of the network, where this machine can. `stdin` is what
        the command reads: said here alone, so that what it reads is what was asked about.
        """
        self._timeout = None if timeout is None else number("timeout", timeout)
        self._terminal = flag("terminal", terminal)
        self._trace_files = flag("trace_files", trace_files)
        self.policy = sandbox.policy()
        self._sandbox = sandbox
        self._instead = instead
        self._mocks = mocks
        self.stdin = stdin

    def judge(self, request: Request, changes: Changes | None = None) -> Decision:
        from redoma.pipeline.check import check

        around = self._sandbox.circumstances(request, self.policy)
        if changes is not None:
            around = replace(around, files_affected=len(changes.items))
        decision = check(
            request.workload.shown,
            cwd=os.path.join(self._sandbox.workspace, request.cwd),
            policy=self.policy,
            circumstances=around,
        )
        return decision if changes is None else self._sandbox.judged_by_changes(decision, changes)

    def grant(self, request: Request, decision: Decision) -> Grant:
        grant = self._sandbox.grant(
            self.policy, decision, held_in_layer=request.mode is Mode.PREVIEW
        )
        if self._timeout is None:
            return grant
        most = self.policy.resources.max_execution_time_seconds
        seconds = self._timeout if most is None else min(most, self._timeout)
        return replace(grant, limits=replace(grant.limits, wall_seconds=seconds))

    def plan(self, request: Request, grant: Grant) -> Plan:
        if self._instead:
            request = replace(request, workload=shell_command(self._instead))
        if self._mocks and request.mode is Mode.PREVIEW and can_mock():
            try:
                return self._planned(request, mocked(grant))
            except NoEngine:
                pass  # closed is what every engine for previews can do
        return self._planned(request, grant)

    def _planned(self, request: Request, grant: Grant) -> Plan:
        from redoma.pipeline.execute import refuse_unwaited

        refuse_unwaited()  # what the machine can enforce is tried out with children of ours
        host = self._sandbox.host
        return make_plan(
            request,
            grant,
            host,
            terminal=self._terminal,
            trace_files=self._trace_files,
            alone=not host.has_run,
        )

    def question(
        self, request: Request, decision: Decision, plan: Plan, changes: Changes | None
    ) -> Question:
        from redoma.pipeline.questions import question

        found = question(request, decision, grant=plan.grant, policy=self.policy, changes=changes)
        if not unseen(self.stdin):
            return found
        # Attack: what is piped in is part of what runs, and nobody has seen it. An approval is for
        # this input alone: it is neither remembered nor good for another run.
        return replace(found, digest=f"{found.digest}:{short_id()}", argvs=(), joins=())

    def modified(self, request: Request, command: str) -> Request:
        return replace(request, id=short_id(), workload=shell_command(command))

    def told(self, request: Request) -> Told:
        return Told(request, self.policy.logging)


def unseen(stdin: bytes | int | None) -> bool:
    """Whether a command reads something that is neither known here nor typed by a person."""
    if not isinstance(stdin, int):
        return False
    try:
        if os.isatty(stdin):
            return False
        found, nothing = os.fstat(stdin), os.stat(os.devnull)
    except OSError:
        return False
    return found.st_rdev != nothing.st_rdev or not stat.S_ISCHR(found.st_mode)


def can_mock() -> bool:
    """Whether the libraries that read requests are installed."""
    from importlib.util import find_spec

    return find_spec("h11") is not None and find_spec("cryptography") is not None


def mocked(grant: Grant) -> Grant:
    """The same with every request answered by a mock; closed stays closed where a level says so."""
    from redoma.egress.grants import gated

    if not grant.network_grants or grant.syscalls is Syscalls.STRICTEST:
        return grant
    reach = replace(Reach(), mock=True, mocks=grant.reach.mocks)
    return gated(grant, replace(reach, blocked_ports=grant.reach.blocked_ports))


def held(grant: Grant) -> Grant:
    """The same with writes held, and the network closed whatever the level says."""
    return replace(
        grant,
        writes=Writes.LAYER,
        apply=Apply.NEVER,
        network=Network.CLOSED,
        # No layer lies over these: a preview that wrote there would be none.
        writable=(),
        readable=(*grant.readable, *grant.writable),
        require=grant.require - {Guarantee.PROTECTED_PATHS} | _HELD,
    )
