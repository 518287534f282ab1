"""`Sandbox`: runs commands in a workspace, each in an enclosure of its own."""

from __future__ import annotations

import atexit
import os
from _thread import allocate_lock

from redoma.flow.drive import drive
from redoma.flow.path import path
from redoma.flow.workspace import granted_path, workspace
from redoma.jail.levels import Profile, load
from redoma.jail.plan import plan as make_plan
from redoma.jail.probe.host import Host
from redoma.model.errors import UsageError
from redoma.model.request import Mode, Program, Request, ShellCommand
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    from redoma.flow.steps import Ask, Execute
    from redoma.jail.run.control import Control
    from redoma.jail.run.streams import Sink
    from redoma.model.access import Grant, Limits
    from redoma.model.decision import Decision
    from redoma.model.plan import Plan
    from redoma.model.result import Result

_BASH = "/bin/bash"
_lock = allocate_lock()
_hosts: list[Host] = []


# A forked child has none of our threads, and none of what its parent keeps ready is its own.
os.register_at_fork(after_in_child=_hosts.clear)


def this_host() -> Host:
    """The one host of this process; what it keeps ready is removed when the process ends."""
    with _lock:
        if not _hosts:
            from redoma.jail.guard.journal import finish_others
            from redoma.jail.overlay.recovery import recover

            finish_others()
            recover()
            _hosts.append(Host())
            atexit.register(_hosts[0].close)
        return _hosts[0]


class Sandbox:
    """A workspace and what commands may do in it."""

    def __init__(  # noqa: PLR0913 — each by its own name
        self,
        workspace: str = "",
        *,
        level: str = "standard",
        engine: str = "",
        limits: Mapping[str, int | float | None] | None = None,
        allow_write: Sequence[str] = (),
        allow_read: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        judge: Callable[[Request], Decision] | None = None,
        confirm: Callable[[Decision], bool] | None = None,
    ) -> None:
        """`level` is a level's name or a profile's file; the rest tightens or widens it by name."""
        self.judge = judge
        self._confirm = confirm
        self._engine = engine
        self._profile = load(level)
        root = _workspace(workspace)
        self._grant = _grant(
            self._profile,
            root,
            engine,
            limits=limits or {},
            allow_write=allow_write,
            allow_read=allow_read,
            env=env or {},
        )

    @property
    def workspace(self) -> str:
        return self._grant.workspace

    @property
    def _host(self) -> Host:
        return this_host()

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
    ) -> Result:
        """Runs a shell command (text) or a program (a sequence) and returns its whole story."""
        hands = Hands(self._host, self._confirm, stdin=stdin, sink=sink, control=control)
        request = request_for(command, cwd)
        return drive(path(request, _World(self, timeout, terminal=terminal)), hands)

    def close(self) -> None:
        """Nothing of a sandbox outlives its runs; what is kept ready belongs to the process."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _plan(self, request: Request, grant: Grant, *, terminal: bool) -> Plan:
        return make_plan(request, grant, self._host, terminal=terminal)


class _World:
    """The path's view of one call on a sandbox."""

    def __init__(self, sandbox: Sandbox, timeout: float | None, *, terminal: bool) -> None:
        self.judge = sandbox.judge
        self._sandbox = sandbox
        self._timeout = timeout
        self._terminal = terminal

    def grant(self, request: Request, decision: Decision | None) -> Grant:
        del request, decision
        grant = self._sandbox._grant
        if self._timeout is None:
            return grant
        return replace(grant, limits=replace(grant.limits, wall_seconds=self._timeout))

    def plan(self, request: Request, grant: Grant) -> Plan:
        return self._sandbox._plan(request, grant, terminal=self._terminal)


class Hands:
    """Performs a path's steps on this machine."""

    def __init__(
        self,
        host: Host,
        confirm: Callable[[Decision], bool] | None,
        *,
        stdin: bytes | int | None,
        sink: Sink | None,
        control: Control | None,
    ) -> None:
        self._host = host
        self._confirm = confirm
        self._stdin = stdin
        self._sink = sink
        self._control = control

    def ask(self, step: Ask) -> bool:
        return self._confirm is not None and self._confirm(step.decision) is True

    def execute(self, step: Execute) -> Result:
        from redoma.flow.execute import execute

        return execute(
            step.plan, self._host, stdin=self._stdin, sink=self._sink, control=self._control
        )


def request_for(command: str | Sequence[str], cwd: str = "", mode: Mode = Mode.RUN) -> Request:
    """The request for a shell command or a program."""
    words = (command,) if isinstance(command, str) else tuple(command)
    if not words or not words[0]:
        raise UsageError("there is no command to run")
    if any("\0" in word for word in (*words, cwd)):
        raise UsageError("a command cannot contain a NUL byte")
    if isinstance(command, str):
        shell = _BASH if os.path.exists(_BASH) else "/bin/sh"
        return Request(workload=ShellCommand(text=command, shell=shell), cwd=cwd, mode=mode)
    return Request(workload=Program(argv=tuple(command)), cwd=cwd, mode=mode)


def _workspace(path: str) -> str:
    return workspace(path)


def _grant(
    profile: Profile,
    root: str,
    engine: str,
    *,
    limits: Mapping[str, int | float | None],
    allow_write: Sequence[str],
    allow_read: Sequence[str],
    env: Mapping[str, str],
) -> Grant:
    grant = profile.grant(root)
    changed: Limits = replace(grant.limits, **limits) if limits else grant.limits
    require = grant.require
    if limits.get("cpu_percent"):
        from redoma.model.guarantee import Guarantee

        require |= {Guarantee.CPU_CAPPED}
    if engine == "direct":
        require = frozenset()  # asked for by name: nothing is required, and nothing is claimed
    return replace(
        grant,
        limits=changed,
        writable=tuple(granted_path(path, "--allow-write") for path in allow_write),
        readable=tuple(granted_path(path, "--allow-read") for path in allow_read),
        env=tuple(env.items()),
        require=require,
        prefer=(engine,) if engine else grant.prefer,
    )
