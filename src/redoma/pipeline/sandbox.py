"""`Sandbox`: runs commands in a workspace: judged, confirmed, enclosed and written down."""

from __future__ import annotations

import os

from redoma.jail.levels import load
from redoma.jail.own import INTERPRETER  # noqa: F401 — looked up before anything runs
from redoma.model.access import Writes
from redoma.model.guarantee import Guarantee
from redoma.model.request import Mode
from redoma.model.value import replace
from redoma.pipeline.context import World, held
from redoma.pipeline.credentials import reach_of
from redoma.pipeline.drive import drive
from redoma.pipeline.overrides import Given, checked, given_policy, policy_beside
from redoma.pipeline.path import path
from redoma.pipeline.requests import Who, request_for
from redoma.pipeline.restrictions import Narrowing
from redoma.pipeline.step_runner import Hands
from redoma.pipeline.this_host import this_host
from redoma.pipeline.workspace import READ, WRITTEN, granted_path
from redoma.pipeline.workspace import workspace as usable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Self, TypeVar

    from redoma.ask.answerers import AnswererChain
    from redoma.audit.log import AuditLog
    from redoma.jail.probe.host import Host
    from redoma.jail.supervisor.control import Control
    from redoma.jail.supervisor.streams import Sink
    from redoma.model.access import Grant
    from redoma.model.call import Call
    from redoma.model.change import Changes
    from redoma.model.decision import Decision
    from redoma.model.intent import StepConstraints
    from redoma.model.policy import Circumstances, Policy
    from redoma.model.question import Answer, Answerer, Choice, Question
    from redoma.model.request import Request
    from redoma.model.result import Result
    from redoma.pipeline.confirming import Confirmed
    from redoma.pipeline.preview import Preview

    T = TypeVar("T")

__all__ = ["Sandbox", "this_host"]

USUAL = "standard"


class Sandbox:
    """A workspace, the policy that holds there, and what commands may do in it."""

    @checked
    def __init__(  # noqa: PLR0913 — each by its own name
        self,
        workspace: str = "",
        *,
        level: str = "",
        engine: str = "",
        limits: Mapping[str, int | float | None] | None = None,
        at_most: Mapping[str, int | float] | None = None,
        allow_write: Sequence[str] = (),
        allow_read: Sequence[str] = (),
        hide: Sequence[str] | None = None,
        subprocesses: int | None = None,
        allow_hosts: Sequence[str] = (),
        any_host: bool = False,
        publish: Sequence[int] = (),
        inspect: bool = False,
        cache_hosts: Sequence[str] = (),
        credentials: Sequence[str] = (),
        mock: bool | str = False,
        env: Mapping[str, str] | None = None,
        direct: bool = False,
        temporary: bool = False,
        apply: str = "",
        no_undo: bool = False,
        policy: Policy | str | None = None,
        project: str = "",
        pack: str = "",
        rules: Sequence[tuple[str, str, str]] = (),
        ask: Answerer | Callable[[Question], bool | Choice | Answer] | None = None,
        record: AuditLog | str | None = None,
        caller: str = "",
        session: str = "",
        phase: str = "",
    ) -> None:
        """What holds in a workspace; the rest tightens or widens it by name.

        `limits` replaces limits of the level by name, None for no limit; `at_most` lowers those
        that are larger.
        `any_host` lets every public host be reached, through a gate, and nothing of this machine.
        `inspect` reads requests one by one, in TLS as well, and `credentials` has the gate add
        secrets to them: `api.example.com=TOKEN` or `api.example.com=vault:NAME`.
        `mock` answers every request itself, so that nothing leaves, as a file of mocks says where
        its path is given.
        `direct` writes straight into the workspace where the level would hold what is written;
        `apply` says when what was held becomes real: `on_success`, `always`, `ask` or `never`, and
        with `no_undo` nothing is kept to take it back.
        `temporary` lets commands work on the machine's own /tmp, held in the workspace's place.
        `hide` are paths that are not there for a command, whatever else is given; who says what
        is hidden may give a whole home. `subprocesses` is how many a Python call may start.

        `level` is a level's name or a profile's file; the policy's own by default. `policy` is
        read from the user's and the project's `sandbox.yaml` where none is given (`project` is
        where those are looked for, where that is not the workspace); a name is one
        that ships. `pack` and `rules` (name, condition, action) count beside it, and the stricter
        decides; where there is no file they stand alone. `ask` is who confirms: a callback or an
        answerer; nobody by default. `record` is where it is written down: the user's own record by
        default.
        """
        self._level = level
        if level:
            load(level)  # a level that is not there is said now
        self._engine = engine
        self._root = usable(workspace)
        self._given = Given(
            engine,
            limits=limits or {},
            at_most=at_most or {},
            writable=tuple(
                granted_path(path, WRITTEN, wide=hide is not None, root=self._root)
                for path in allow_write
            ),
            readable=tuple(granted_path(path, READ, root=self._root) for path in allow_read),
            env=tuple((env or {}).items()),
            reach=reach_of(
                allow_hosts,
                publish,
                credentials,
                inspect=inspect,
                mock=mock,
                cache=cache_hosts,
                anyone=any_host,
            ),
            direct=direct,
            temporary=temporary,
            apply=apply,
            undo=not no_undo,
        )
        self._narrowing = Narrowing(hide, subprocesses)
        self._grants: dict[tuple[object, ...], Grant] = {}
        self._constraints: StepConstraints | None = None
        self._first: Answerer | None = None
        self._policy = given_policy(policy)
        self._project = project or self._root
        self._beside = policy_beside(pack, rules)
        self._ask = ask
        self._record = record
        self.who = Who(caller=caller, session=session, phase=phase)

    def narrowed(
        self,
        constraints: StepConstraints,
        *,
        plan: str = "",
        step: str = "",
        first: Answerer | None = None,
    ) -> Sandbox:
        """The same sandbox for one step of a plan, held tighter: nothing in it is wider.

        `first` is asked before whoever confirms here.
        """
        from copy import copy

        made = copy(self)
        made._constraints = constraints
        made._grants = {}
        made._first = first
        made.who = replace(self.who, plan=plan, step=step)
        return made

    @property
    def workspace(self) -> str:
        return self._root

    def started_in(self, cwd: str) -> str:
        """The directory of a command, as the enclosure has to be told it."""
        return os.path.join(self._root, cwd) if self._given.temporary else cwd

    @property
    def also_writable(self) -> tuple[str, ...]:
        """What was given to be written beside the workspace."""
        return self._given.writable

    @property
    def undo(self) -> bool:
        """Whether what is replaced is kept."""
        return self._given.undo

    @property
    def host(self) -> Host:
        return this_host()

    def check(self, command: str | Sequence[str], *, cwd: str = "") -> Decision:
        """What the policy says of a command; nothing runs."""
        request = request_for(command, cwd, Mode.CHECK, self.who)
        world = World(self, None, terminal=False)
        decision = drive(path(request, world), self.hands(world)).decision
        assert decision is not None
        return decision

    def run(
        self,
        command: str | Sequence[str],
        *,
        timeout: float | None = None,
        stdin: bytes | int | None = b"",
        cwd: str = "",
        sink: Sink | None = None,
        control: Control | None = None,
        terminal: bool = False,
        trace_files: bool = False,
    ) -> Result:
        """Runs a shell command (text) or a program (a sequence) and returns its whole story."""
        request = request_for(command, self.started_in(cwd), who=self.who, stdin=stdin)
        world = World(self, timeout, terminal=terminal, trace_files=trace_files, stdin=stdin)
        hands = self.hands(world, sink=sink, control=control)
        return drive(path(request, world), hands)

    def preview(
        self,
        command: str | Sequence[str],
        *,
        timeout: float | None = None,
        stdin: bytes | int | None = b"",
        cwd: str = "",
        sink: Sink | None = None,
        control: Control | None = None,
    ) -> Preview:
        """Runs a command with its writes held, to be looked at, applied or let go."""
        from redoma.pipeline.dry_run import preview
        from redoma.pipeline.held import HeldRun
        from redoma.pipeline.preview import Preview

        run = HeldRun(self, stdin=stdin, sink=sink, control=control, cwd=cwd, timeout=timeout)
        return Preview(preview(command, run, duration=self.usual_seconds), self)

    def call(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """What a function returns, run inside; raises what it raised, or why it could not run."""
        from redoma.model.call import Call

        result = self.perform(Call(function, args, kwargs))
        value: T = result.raise_for_outcome().value  # type: ignore[assignment] # data of any kind
        return value

    def perform(
        self, call: Call, *, sink: Sink | None = None, control: Control | None = None
    ) -> Result:
        """Runs a Python call and returns its whole story, its value or its failure included."""
        from redoma.pipeline.python_call import CallHands, CallWorld, request_for_call

        request = request_for_call(call, self)
        world = CallWorld(self, call.timeout)
        hands = CallHands(world, self, call, sink=sink, control=control)
        return drive(path(request, world), hands)

    def as_preview(self, command: str, result: Result) -> Preview:
        """The preview that a run became because whoever was asked wanted a dry run."""
        from redoma.pipeline.dry_run import told_of
        from redoma.pipeline.preview import Preview

        return Preview(told_of(command, result, self._root, self.usual_seconds), self)

    def confirm(
        self,
        command: str | Sequence[str],
        *,
        cwd: str = "",
        timeout: float | None = None,
        previous: Sequence[str] = (),
    ) -> Confirmed:
        """Asks about a command as a run of it would, and runs nothing."""
        from redoma.model.question import Context
        from redoma.pipeline.confirming import confirming

        request = request_for(command, self.started_in(cwd), who=self.who)
        context = Context(
            triggered_by=request.caller,
            workflow_phase=request.phase,
            previous_commands=tuple(previous),
        )
        world = World(self)
        return drive(confirming(request, world, context, timeout), self.hands(world))

    def usual_seconds(self, command: str) -> float | None:
        """How long a command took here before, by the record; None where it never ran."""
        record = self.record(self.policy())
        took = sorted(record.durations(record.digest_of(command)))
        return took[len(took) // 2] if took else None

    def close(self) -> None:
        """Nothing of a sandbox outlives its runs; what is kept ready belongs to the process."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def hands(
        self,
        world: World,
        *,
        sink: Sink | None = None,
        control: Control | None = None,
    ) -> Hands:
        """What performs the steps of one call."""
        return Hands(world, self, stdin=world.stdin, sink=sink, control=control)

    def record(self, policy: Policy) -> AuditLog:
        """Where it is written down."""
        from redoma.pipeline.wiring import record

        if self._record is None or isinstance(self._record, str):
            return record(self._record or "", policy, self._given.secrets())
        return self._record

    def answerer(self, policy: Policy) -> AnswererChain:
        """Who is asked."""
        from redoma.pipeline.wiring import answerer

        chain = answerer(self._ask, policy)
        return chain if self._first is None else chain.led_by(self._first)

    def policy(self) -> Policy:
        """The policy that holds now: given, or read from the files where it stands."""
        found = self._policy
        if found is None:
            from redoma.pipeline.policies import load as load_policy

            found = load_policy(self._project)
        if self._beside is None:
            return found
        from redoma.pipeline.caller_rules import over

        return over(found, self._beside)

    def circumstances(self, request: Request, policy: Policy) -> Circumstances:
        """What a decision depends on besides the command."""
        from redoma.model.policy import BUILT_IN, Circumstances

        first: bool | None = None
        if policy is not BUILT_IN and policy.dry_run.auto_enable_for:
            record = self.record(policy)
            first = not record.has_run(record.digest_of(request.workload.shown))
        return Circumstances(
            phase=request.phase,
            profile=self.level(policy),
            first_execution=first,
            workspace=self._root,
        )

    def judged_by_changes(self, decision: Decision, changes: Changes) -> Decision:
        """The decision, now that it is known what the command did in its layer."""
        if self._constraints is None:
            return decision
        from redoma.pipeline.plans.narrowing import refuse_outside

        return refuse_outside(decision, changes, self._constraints)

    def level(self, policy: Policy) -> str:
        """The level that was chosen, the policy's own, or the usual one."""
        return self._level or policy.isolation.default_level or USUAL

    def grant(self, policy: Policy, decision: Decision, *, held_in_layer: bool) -> Grant:
        """What a command may do here under this decision; the same value for the same answer."""
        key = (policy.digest, decision.isolation, held_in_layer)
        known = self._grants.get(key)
        if known is None:
            from redoma.pipeline.policies import tightened

            grant = self._given.applied_to(load(self.level(policy)).grant(self._root))
            grant = self._given.when(tightened(grant, policy, decision))
            grant = self._narrowing.applied_to(grant)
            if policy.dry_run.auto_enable_for and grant.writes is Writes.DIRECT:
                # Who wants to see changes first cannot have them written straight away.
                grant = replace(
                    grant, writes=Writes.LAYER, require=grant.require | {Guarantee.CHANGES_HELD}
                )
            if self._constraints is not None:
                from redoma.pipeline.plans.narrowing import narrowed

                grant = narrowed(grant, self._constraints)
            known = self._grants[key] = held(grant) if held_in_layer else grant
        return known
