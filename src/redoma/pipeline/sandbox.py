"""`Sandbox`: runs commands in a workspace: judged, confirmed, enclosed and written down."""

from __future__ import annotations

import os

from redoma.base import own_directories
from redoma.jail.profiles.profile import load
from redoma.jail.protect.installation import INTERPRETER  # noqa: F401 — looked up before anything runs
from redoma.model.errors import PolicyError, StateUnavailable
from redoma.model.policy import NO_GRANTS
from redoma.model.request import Mode
from redoma.pipeline.checks import check_path
from redoma.pipeline.overrides import Overrides, Restrictions, policy_beside, policy_named
from redoma.pipeline.path import confirm_path, path
from redoma.pipeline.requests import Caller, request_for
from redoma.pipeline.run_context import USUAL, RunContext, SandboxConfig
from redoma.pipeline.secret_grants import read_grants
from redoma.pipeline.secrets import reach_of
from redoma.pipeline.settings import Access, Network, PolicyChoice, checked, limits_by_name
from redoma.pipeline.steps import RunStepRunner, StepRunner, drive
from redoma.pipeline.this_host import READ, WRITTEN, granted_path
from redoma.pipeline.this_host import workspace as usable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Self, TypeVar

    from redoma.audit.log import AuditLog
    from redoma.jail.supervisor.start import Control
    from redoma.jail.supervisor.streams import Sink
    from redoma.model.call import Call
    from redoma.model.change import Applied, Undone
    from redoma.model.decision import Decision
    from redoma.model.grant import Limits
    from redoma.model.policy import Policy
    from redoma.model.request import Answer, Answerer, Choice, Context, Question, Request
    from redoma.model.result import Result
    from redoma.pipeline.path import Confirmed
    from redoma.pipeline.preview import Preview
    from redoma.pipeline.transactions import Transactions

    T = TypeVar("T")


class Sandbox:
    """A workspace, the policy that holds there, and what commands may do in it.

    Every command is judged, confirmed where the policy wants that, run in a sandbox of the kernel,
    and written to the audit log. What it changed can be looked at first, and taken back.

    >>> import redoma, tempfile
    >>> with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
    ...     sandbox = redoma.Sandbox(place, network=redoma.Network(hosts=("pypi.org",)))
    ...     sandbox.check("rm -rf ~").verdict
    <Verdict.DENY: 3>
    """

    __module__ = "redoma"

    @checked
    def __init__(  # noqa: PLR0913 — each by its own name
        self,
        workspace: str = "",
        *,
        level: str = "",
        engine: str = "",
        access: Access | None = None,
        network: Network | None = None,
        limits: Limits | None = None,
        at_most: Limits | None = None,
        policy: Policy | PolicyChoice | str | None = None,
        ask: Answerer | Callable[[Question], bool | Choice | Answer] | None = None,
        audit: AuditLog | str | None = None,
        caller: Caller | str = "",
    ) -> None:
        """What holds in a workspace (this directory by default); the rest says it by name.

        `level` is a level's name or a profile's file; the policy's own by default. `engine` is
        one by name. `access` and `network` widen or tighten what the level gives; `limits`
        replaces limits of the level, `NO_LIMIT` takes one off, and `at_most` lowers those that are
        larger. `policy` is read from the user's and the project's `sandbox.yaml` where none is
        given. `ask` is who confirms, a function or an answerer; nobody by default, which is a no.
        `audit` is the directory of the audit log, or the log; the user's own by default. `caller`
        says who asks.

        UsageError where an argument cannot be used: it names the argument, and is a TypeError or
        a ValueError as well.
        """
        if level:
            load(level)  # a level that is not there is said now
        root = usable(workspace)
        access, network = access or Access(), network or Network()
        given, asked = limits_by_name(limits), (access, network)
        if policy is None or policy == PolicyChoice():
            access, network, given = _with_kept(access, network, given, level=level, root=root)
        hosts, env = tuple(network.hosts), dict(access.env or {})
        inspect, self._tool_notes = network.inspect, tuple[str, ...]()
        if any("tool:" in host for host in hosts):
            from redoma.pipeline.tool_grants import expanded

            tools = expanded(hosts, root)
            hosts, self._tool_notes = tools.hosts, tools.notes
            inspect = inspect or any(" " in host for host in hosts)
            env = {**dict(tools.env), **env}
        fixed, chosen = None, PolicyChoice()
        if isinstance(policy, PolicyChoice | str):
            chosen = policy if isinstance(policy, PolicyChoice) else PolicyChoice(name=policy)
        else:
            fixed = policy
        overrides = Overrides(
            engine,
            limits=given,
            at_most=limits_by_name(at_most),
            writable=tuple(
                granted_path(path, WRITTEN, wide=access.hide is not None, root=root)
                for path in access.write
            ),
            readable=tuple(granted_path(path, READ, root=root) for path in access.read),
            env=tuple(env.items()),
            secrets=read_grants(access.secrets),
            reach=reach_of(
                hosts,
                network.publish,
                network.credentials,
                inspect=inspect,
                mock=network.mock,
                cache=network.cache,
                anyone=network.any_host,
            ),
            direct=access.direct,
            temporary=access.temporary,
            apply=access.apply,
            undo=access.undo,
        )
        self._config = SandboxConfig(
            root=root,
            level=level,
            overrides=overrides,
            restrictions=Restrictions(access.hide, access.subprocesses),
            policy=fixed or policy_named(chosen.name),
            project=chosen.project or root,
            beside=policy_beside(chosen.pack, chosen.rules),
            ask=ask,
            audit=audit,
            caller=caller if isinstance(caller, Caller) else Caller(name=caller),
            kept=asked != (access, network),
        )

    @property
    def tool_notes(self) -> tuple[str, ...]:
        """What `tool:NAME` among the hosts granted, and what else a person should know of it."""
        return self._tool_notes

    @property
    def workspace(self) -> str:
        """The directory that commands work in, absolute and without links."""
        return self._config.root

    @property
    def config(self) -> SandboxConfig:
        """What all runs of this sandbox share; for the pipeline itself."""
        return self._config

    def with_env(self, env: Mapping[str, str]) -> Sandbox:
        """The same sandbox, whose commands get these environment variables as well."""
        from copy import copy

        from redoma.pipeline.settings import variables

        made = copy(self)
        made._config = self._config.with_env(variables("env", env))
        return made

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
        context = RunContext(self._config)
        request, about = confirmation(command, self._config, cwd, previous)
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


def confirmation(
    command: str | Sequence[str], config: SandboxConfig, cwd: str, previous: Sequence[str]
) -> tuple[Request, Context]:
    """The request that somebody is asked about, and what led to it."""
    from redoma.model.request import Context

    request = request_for(command, config.started_in(cwd), caller=config.caller)
    about = Context(
        triggered_by=request.caller,
        workflow_phase=request.phase,
        previous_commands=tuple(previous),
    )
    return request, about


def _with_kept(
    access: Access,
    network: Network,
    limits: dict[str, int | float | None],
    *,
    level: str,
    root: str,
) -> tuple[Access, Network, dict[str, int | float | None]]:
    """What was asked for by name with what is granted for good; the files alone say that.

    A caller that chooses another policy has what it gave, and no more.
    """
    from redoma.pipeline.decisions.policies import load_policy

    try:
        policy = load_policy(root)
        kept_for_projects = os.path.exists(f"{own_directories.state()}/trust")
    except (PolicyError, StateUnavailable):
        return access, network, limits  # the run itself says why
    if policy.grants == NO_GRANTS and not policy.requests and not kept_for_projects:
        return access, network, limits
    from redoma.pipeline.kept_grants import kept_grants, kept_limits, with_kept

    kept = kept_grants(policy, root)
    profile = load(level or policy.isolation.default_level or USUAL)
    access, network = with_kept(access, network, kept, level=profile, policy=policy, root=root)
    return access, network, kept_limits(kept, limits)
