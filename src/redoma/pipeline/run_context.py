"""The context of one run: what its sandbox was given, the policy that holds, how it is started."""

from __future__ import annotations

import os
import stat

from redoma.base.identity import short_id
from redoma.base.log import logger
from redoma.jail.engines.choice import plan as make_plan
from redoma.jail.profiles.profile import load
from redoma.model.arguments import flag, number
from redoma.model.containment import containment_of_plan
from redoma.model.decision import Verdict
from redoma.model.errors import NoEngine
from redoma.model.grant import Apply, Guarantee, NetworkMode, Syscalls, Writes
from redoma.model.network import Reach
from redoma.model.request import Mode, ShellCommand
from redoma.model.value import replace
from redoma.pipeline.checks import PipelineContext
from redoma.pipeline.requests import shell_command
from redoma.pipeline.this_host import this_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from redoma.audit.log import AuditLog
    from redoma.jail.supervisor.host import Host
    from redoma.model.change import Changes
    from redoma.model.decision import Decision
    from redoma.model.grant import Grant, RunPlan
    from redoma.model.intent import StepConstraints
    from redoma.model.policy import Circumstances, Policy
    from redoma.model.request import Answerer, Question, Request
    from redoma.pipeline.checks import Ask
    from redoma.pipeline.overrides import Overrides, Restrictions
    from redoma.pipeline.requests import Caller

log = logger(__name__)
USUAL = "standard"
_HELD = frozenset((Guarantee.CHANGES_HELD, Guarantee.NETWORK_CLOSED))


class SandboxConfig:
    """What a sandbox was given, checked and resolved; all its runs share it."""

    def __init__(  # noqa: PLR0913 — each by its own name
        self,
        *,
        root: str,
        level: str,
        overrides: Overrides,
        restrictions: Restrictions,
        policy: Policy | None,
        project: str,
        beside: Policy | None,
        ask: Ask | None,
        audit: AuditLog | str | None,
        caller: Caller,
        kept: bool = False,
    ) -> None:
        """`policy` is read from the files of `project` where none is given; `beside` holds too."""
        self.root = root
        self.overrides = overrides
        self.ask = ask
        self.audit = audit
        self.caller = caller
        # Who is asked before `ask`, and what one step of a plan is held to.
        self.first: Answerer | None = None
        self.constraints: StepConstraints | None = None
        self._level = level
        self._restrictions = restrictions
        self._policy = policy
        self._project = project
        self._beside = beside
        self._grants: dict[tuple[object, ...], Grant] = {}
        # Whether something is granted that was kept, and may be for one run only.
        self._kept = kept

    def for_step(
        self, constraints: StepConstraints, plan: str, step: str, first: Answerer | None
    ) -> SandboxConfig:
        """The same for one step of a plan, held tighter: nothing in it is wider."""
        from copy import copy  # a run that is no step of a plan does without

        made = copy(self)
        made.constraints = constraints
        made.first = first
        made.caller = replace(self.caller, plan=plan, step=step)
        made._grants = {}
        return made

    def begin(self) -> None:
        """A run begins: what was granted to one run is spent with it."""
        if self._kept:
            from redoma.pipeline.kept_grants import spend_once

            spend_once(self.root)

    def with_env(self, env: Mapping[str, str]) -> SandboxConfig:
        """The same for commands that get more environment variables."""
        from copy import copy

        made = copy(self)
        made.overrides = self.overrides.with_env(env)
        made._grants = {}
        return made

    def policy(self) -> Policy:
        """The policy that holds now: given, or read from the files where it stands."""
        found = self._policy
        if found is None:
            from redoma.pipeline.decisions.policies import load_policy

            found = load_policy(self._project)
        if self._beside is None:
            return found
        from redoma.pipeline.decisions.own_rules import over

        return over(found, self._beside)

    def level(self, policy: Policy) -> str:
        """The level that was chosen, the policy's own, or the usual one."""
        return self._level or policy.isolation.default_level or USUAL

    def started_in(self, cwd: str) -> str:
        """The directory of a command, as its sandbox has to be told it."""
        return os.path.join(self.root, cwd) if self.overrides.temporary else cwd

    def grant(self, policy: Policy, decision: Decision, *, held_in_layer: bool) -> Grant:
        """What a command may do here under this decision; the same value for the same answer."""
        key = (policy.digest, decision.isolation, held_in_layer)
        known = self._grants.get(key)
        if known is None:
            from redoma.pipeline.decisions.policies import tightened

            grant = self.overrides.applied_to(load(self.level(policy)).grant(self.root))
            grant = self.overrides.when(tightened(grant, policy, decision))
            grant = self._restrictions.applied_to(grant)
            if policy.dry_run.auto_enable_for and grant.writes is Writes.DIRECT:
                # Who wants to see changes first cannot have them written straight away.
                grant = replace(
                    grant, writes=Writes.LAYER, require=grant.require | {Guarantee.CHANGES_HELD}
                )
            if self.constraints is not None:
                from redoma.pipeline.step_constraints import narrowed

                grant = narrowed(grant, self.constraints)
            known = self._grants[key] = held(grant) if held_in_layer else grant
        return known


class RunContext(PipelineContext):
    """What the path knows of one run: judges it, grants, plans, and asks about it."""

    def __init__(
        self,
        config: SandboxConfig,
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
        super().__init__(
            config.policy(),
            config.caller,
            audit=config.audit,
            ask=config.ask,
            first=config.first,
            secrets=config.overrides.secrets(),
        )
        self.config = config
        self.stdin = stdin
        self._timeout = None if timeout is None else number("timeout", timeout)
        self._terminal = flag("terminal", terminal)
        self._trace_files = flag("trace_files", trace_files)
        self._instead = instead
        self._mocks = mocks

    @property
    def host(self) -> Host:
        """The machine that it runs on."""
        return this_host()

    def judge(
        self, request: Request, changes: Changes | None = None, plan: RunPlan | None = None
    ) -> Decision:
        """Whether it may happen, by policy; `changes` are what it did in an overlay.

        What the `plan` of its run holds is no question.
        """
        around = self._circumstances(request)
        if changes is not None:
            around = replace(around, files_affected=len(changes.items))
        # A plan of steps is confirmed as its document says, wherever its steps run.
        step = self.config.constraints is not None
        if plan is not None and request.mode is not Mode.PREVIEW and not step:
            around = replace(around, containment=containment_of_plan(plan))
        decision = self._decided(request, around)
        granted = self.config.overrides.granted
        if granted and request.mode is not Mode.PREVIEW:  # which gets none, and is not asked about
            from redoma.judge.policy.secret_names import with_secrets

            decision = with_secrets(decision, self.policy, granted)
        log.info(
            "run %s: %s, %s by policy %s",
            request.id,
            decision.assessment.risk.name.lower(),
            decision.verdict.label,
            decision.policy,
        )
        if changes is None or self.config.constraints is None:
            return decision
        from redoma.pipeline.step_constraints import refuse_outside

        return refuse_outside(decision, changes, self.config.constraints)

    def _decided(self, request: Request, around: Circumstances) -> Decision:
        from redoma.pipeline.decisions.check import check

        cwd = os.path.join(self.config.root, request.cwd)
        return check(request.workload.shown, cwd=cwd, policy=self.policy, circumstances=around)

    def _circumstances(self, request: Request) -> Circumstances:
        """What a decision depends on besides the command."""
        from redoma.model.policy import BUILT_IN, Circumstances

        first: bool | None = None
        if self.policy is not BUILT_IN and self.policy.dry_run.auto_enable_for:
            log = self.audit_log()
            first = not log.has_run(log.digest_of(request.workload.shown))
        return Circumstances(
            phase=request.phase,
            profile=self.config.level(self.policy),
            first_execution=first,
            workspace=self.config.root,
        )

    def enclosed(self, request: Request) -> tuple[Decision, RunPlan | None]:
        """The decision on a run that would be made here, weighed against the plan of it.

        None where it is refused anyway. NoEngine where nothing here could enforce what it needs.
        """
        decision = self.judge(request)
        if decision.verdict is Verdict.DENY:
            return decision, None
        plan = self.plan(request, self.grant(request, decision))
        if decision.verdict is Verdict.CONFIRM:
            decision = self.judge(request, None, plan)
        return decision, plan

    def grant(self, request: Request, decision: Decision) -> Grant:
        """What this request may do."""
        preview = request.mode is Mode.PREVIEW
        grant = self.config.grant(self.policy, decision, held_in_layer=preview)
        if self._timeout is None:
            return grant
        most = self.policy.resources.max_execution_time_seconds
        seconds = self._timeout if most is None else min(most, self._timeout)
        return replace(grant, limits=replace(grant.limits, wall_seconds=seconds))

    def offered(
        self, request: Request, decision: Decision, plan: RunPlan
    ) -> tuple[RunPlan, tuple[str, ...]] | None:
        """The plan with what an approval would give this one run beside it, and that in words."""
        from redoma.pipeline.offers import offer_for, published_facts, publishes

        if not publishes(decision) or not isinstance(request.workload, ShellCommand):
            return None
        from redoma.pipeline.questions import place

        cwd = place(request, plan.grant)
        facts = published_facts(request.workload.shown, cwd)
        offer = offer_for(facts, plan.grant, self.policy, cwd)
        if offer is None:
            return None
        try:
            return self._planned(request, offer.grant), offer.words
        except NoEngine:
            return None  # nothing here has a gate

    def plan(self, request: Request, grant: Grant) -> RunPlan:
        """How it will be run; NoEngine where that cannot be enforced."""
        if self._instead:
            request = replace(request, workload=shell_command(self._instead))
        if self._mocks and request.mode is Mode.PREVIEW and can_mock():
            try:
                return self._planned(request, mocked(grant))
            except NoEngine:
                pass  # closed is what every engine for previews can do
        return self._planned(request, grant)

    def _planned(self, request: Request, grant: Grant) -> RunPlan:
        from redoma.pipeline.execute import refuse_unwaited

        refuse_unwaited()  # what the machine can enforce is tried out with children of ours
        return make_plan(
            request,
            grant,
            self.host,
            terminal=self._terminal,
            trace_files=self._trace_files,
            alone=not self.host.has_run,
        )

    def question(
        self, request: Request, decision: Decision, plan: RunPlan, changes: Changes | None
    ) -> Question:
        """What to ask a person, with what is known of the impact."""
        from redoma.pipeline.questions import about_unseen_input, question

        found = question(request, decision, grant=plan.grant, policy=self.policy, changes=changes)
        return about_unseen_input(found) if unseen(self.stdin) else found

    def modified(self, request: Request, command: str) -> Request:
        """The request for the command that a person put in place of this one's."""
        return replace(request, id=short_id(), workload=shell_command(command))

    def usual_seconds(self, command: str) -> float | None:
        """How long a command took here before, by the audit log; None where it never ran."""
        log = self.audit_log()
        took = sorted(log.durations(log.digest_of(command)))
        return took[len(took) // 2] if took else None


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
        network=NetworkMode.CLOSED,
        # No overlay lies over these: a preview that wrote there would be none.
        writable=(),
        readable=(*grant.readable, *grant.writable),
        secrets=(),  # nobody is asked about a preview
        require=grant.require - {Guarantee.PROTECTED_PATHS} | _HELD,
    )
