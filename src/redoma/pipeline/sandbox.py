"""`Sandbox`: runs commands in a workspace: judged, confirmed, enclosed and written down."""

from __future__ import annotations

from redoma.jail.profiles.profile import load
from redoma.jail.protect.installation import INTERPRETER  # noqa: F401 — looked up before anything runs
from redoma.model.request import Mode
from redoma.pipeline.check_path import check_path
from redoma.pipeline.credentials import reach_of
from redoma.pipeline.overrides import Overrides, checked, given_policy, policy_beside
from redoma.pipeline.path import confirm_path, path
from redoma.pipeline.requests import Caller, request_for
from redoma.pipeline.restrictions import Restrictions
from redoma.pipeline.run_context import RunContext, SandboxConfig
from redoma.pipeline.step_runner import RunStepRunner, StepRunner
from redoma.pipeline.steps import drive
from redoma.pipeline.workspace import READ, WRITTEN, granted_path
from redoma.pipeline.workspace import workspace as usable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Self, TypeVar

    from redoma.audit.log import AuditLog
    from redoma.jail.supervisor.control import Control
    from redoma.jail.supervisor.streams import Sink
    from redoma.model.call import Call
    from redoma.model.decision import Decision
    from redoma.model.policy import Policy
    from redoma.model.question import Answer, Answerer, Choice, Question
    from redoma.model.result import Result
    from redoma.model.transaction import Applied, Undone
    from redoma.pipeline.path import Confirmed
    from redoma.pipeline.preview import Preview
    from redoma.pipeline.transactions import Transactions

    T = TypeVar("T")


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
        if level:
            load(level)  # a level that is not there is said now
        root = usable(workspace)
        overrides = Overrides(
            engine,
            limits=limits or {},
            at_most=at_most or {},
            writable=tuple(
                granted_path(path, WRITTEN, wide=hide is not None, root=root)
                for path in allow_write
            ),
            readable=tuple(granted_path(path, READ, root=root) for path in allow_read),
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
        self._config = SandboxConfig(
            root=root,
            level=level,
            overrides=overrides,
            restrictions=Restrictions(hide, subprocesses),
            policy=given_policy(policy),
            project=project or root,
            beside=policy_beside(pack, rules),
            ask=ask,
            audit=record,
            caller=Caller(name=caller, session=session, phase=phase),
        )

    @property
    def workspace(self) -> str:
        """The directory that commands work in, absolute and without links."""
        return self._config.root

    @property
    def config(self) -> SandboxConfig:
        """What all runs of this sandbox share; for the pipeline itself."""
        return self._config

    def check(self, command: str | Sequence[str], *, cwd: str = "") -> Decision:
        """What the policy says of a command; nothing runs."""
        request = request_for(command, cwd, Mode.CHECK, self._config.caller)
        context = RunContext(self._config)
        return drive(check_path((request,), context), StepRunner(context))[0]

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
        where = self._config.started_in(cwd)
        request = request_for(command, where, caller=self._config.caller, stdin=stdin)
        context = RunContext(
            self._config, timeout, terminal=terminal, trace_files=trace_files, stdin=stdin
        )
        return drive(path(request, context), RunStepRunner(context, sink=sink, control=control))

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
        from redoma.pipeline.dry_run import OverlayRun, dry_run
        from redoma.pipeline.preview import Preview

        run = OverlayRun(
            self._config, stdin=stdin, sink=sink, control=control, cwd=cwd, timeout=timeout
        )
        usual = RunContext(self._config).usual_seconds
        return Preview(dry_run(command, run, duration=usual), self)

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
        from redoma.pipeline.python_call import CallContext, CallRunner, request_for_call

        request = request_for_call(call, self._config)
        context = CallContext(self._config, call.timeout)
        return drive(path(request, context), CallRunner(context, call, sink=sink, control=control))

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

        where = self._config.started_in(cwd)
        request = request_for(command, where, caller=self._config.caller)
        about = Context(
            triggered_by=request.caller,
            workflow_phase=request.phase,
            previous_commands=tuple(previous),
        )
        context = RunContext(self._config)
        return drive(confirm_path(request, context, about, timeout), StepRunner(context))

    def as_preview(self, command: str, result: Result) -> Preview:
        """The preview that a run became because whoever was asked wanted a dry run."""
        from redoma.pipeline.dry_run import report_of_run
        from redoma.pipeline.preview import Preview

        return Preview(report_of_run(command, result, self._config), self)

    def apply(
        self,
        id: str,
        paths: Iterable[str] | None = None,
        *,
        allow_write: Iterable[str] = (),
        no_undo: bool = False,
    ) -> Applied:
        """Makes stored changes real, all of them or those at or below `paths`."""
        undo = self._config.overrides.undo and not no_undo
        return self._transactions().apply(id, paths, allow_write=allow_write, undo=undo)

    def discard(self, id: str) -> None:
        """Lets stored changes go; the workspace is not touched."""
        self._transactions().discard(id)

    def undo(self, id: str = "") -> Undone:
        """Takes back what was applied; without an id, the last of this workspace."""
        return self._transactions().undo(id or None, workspace=self.workspace)

    def _transactions(self) -> Transactions:
        from redoma.pipeline.transactions import Transactions

        return Transactions(RunContext(self._config))

    def close(self) -> None:
        """Nothing of a sandbox outlives its runs; what is kept ready belongs to the process."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
