"""The container service whose commands walk the path: judged, asked about, and written down."""

from __future__ import annotations

import asyncio

from redoma.jail.containers import lifecycle
from redoma.jail.containers.create_request import PROJECT, WORKSPACE
from redoma.jail.containers.engine_socket import drive as asked_of
from redoma.jail.containers.exec_stream import AsyncExecStream
from redoma.jail.containers.service import AsyncContainerOperations, ContainerOperations
from redoma.model.decision import Verdict
from redoma.model.errors import Declined, Denied
from redoma.model.grant import Grant
from redoma.model.request import Program
from redoma.model.value import replace
from redoma.pipeline.checks import PipelineContext
from redoma.pipeline.decisions.check import check
from redoma.pipeline.requests import Caller
from redoma.pipeline.steps import AuditStep, StepRunner, drive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from redoma.audit.log import AuditLog
    from redoma.jail.containers.exec_stream import ExecStream
    from redoma.model.event import Event
    from redoma.model.policy import Policy
    from redoma.model.request import Request
    from redoma.pipeline.checks import Ask
    from redoma.pipeline.steps import Path


class ContainerCommands:
    """Who judges the commands of a service's containers, who is asked, and where it is written."""

    def __init__(
        self,
        policy: Policy | None = None,
        ask: Ask | None = None,
        audit: AuditLog | str | None = None,
        caller: Caller | None = None,
    ) -> None:
        self._policy = policy
        self._ask = ask
        self._audit = audit
        self._caller = caller or Caller()

    def admit(self, service: ContainerOperations, container: str, argv: tuple[str, ...]) -> None:
        """Returns where the command may start, and that is on disk; Denied or Declined else."""
        told = asked_of(lifecycle.inspected(container), service.socket)
        project = str(told["Config"]["Labels"].get(PROJECT, ""))
        policy = self._policy
        if policy is None:
            from redoma.pipeline.decisions.policies import load_policy

            policy = load_policy(project)
        context = PipelineContext(policy, self._caller, audit=self._audit, ask=self._ask)
        request = self._caller.request(Program(argv=argv), cwd=WORKSPACE)
        steps = _admitted(request, context, project, str(told["Id"]))
        drive(steps, StepRunner(context))


def _admitted(
    request: Request, context: PipelineContext, project: str, container: str
) -> Path[None]:
    """The path as far as the answer; whoever started the container has granted what it may do."""
    from redoma.pipeline.path import ask

    events = context.events(request)
    decision = check(request.workload.shown, cwd=WORKSPACE, policy=context.policy)
    judged = _in(container, project, events.judged(decision))
    if decision.verdict is Verdict.DENY:
        why = "; ".join(decision.because)
        yield AuditStep(events=(judged, events.refused(why, "denied")))
        raise Denied(decision)
    if decision.verdict is not Verdict.CONFIRM:
        yield AuditStep(events=(judged,))
        return
    from redoma.pipeline.questions import question

    grant = Grant(level="container", workspace=project)
    asked = question(request, decision, grant=grant, policy=context.policy)
    answer = yield from ask(events, asked, judged)
    # Attack: an answer to another question, or one that puts another command in its place.
    if answer is None or not answer.approves(asked):
        yield AuditStep(events=(events.refused("nobody approved this command", "declined"),))
        raise Declined("nobody approved this command")


def _in(container: str, project: str, event: Event) -> Event:
    return replace(event, details={**event.details, "container": container, "workspace": project})


class ContainerService(ContainerOperations):
    """Containers of Docker Engine or Podman, whichever is there.

    `socket` names one engine; without it the first that answers is used, and NoEngine says how to
    install one where none does. Every operation takes the id of a container of ours, and raises
    ContainerError for any other. What `exec` starts is judged by `policy` (that of the container's
    project, where none is given), asked about by `ask` and written to the log at `audit`, each as
    a `Sandbox` takes it; `exec_unjudged` does none of that.
    """

    __module__ = "redoma"

    def __init__(
        self,
        socket: str = "",
        *,
        policy: Policy | None = None,
        ask: Ask | None = None,
        audit: AuditLog | str | None = None,
        caller: Caller | None = None,
    ) -> None:
        super().__init__(socket)
        self._commands = ContainerCommands(policy, ask, audit, caller)

    def exec(self, container_id: str, argv: Sequence[str], *, terminal: bool = False) -> ExecStream:
        """Starts a command in a container that runs, if it may; its stream goes both ways.

        Denied where policy says no, Declined where nobody said yes.
        """
        self._commands.admit(self, container_id, tuple(argv))
        return self.exec_unjudged(container_id, argv, terminal=terminal)


class AsyncContainerService(AsyncContainerOperations):
    """The same operations as `ContainerService`, awaited."""

    __module__ = "redoma"

    def __init__(
        self,
        socket: str = "",
        *,
        policy: Policy | None = None,
        ask: Ask | None = None,
        audit: AuditLog | str | None = None,
        caller: Caller | None = None,
    ) -> None:
        super().__init__(socket)
        self._same = ContainerService(socket, policy=policy, ask=ask, audit=audit, caller=caller)

    async def exec(
        self, container_id: str, argv: Sequence[str], *, terminal: bool = False
    ) -> AsyncExecStream:
        """Starts a command in a container that runs, if it may; its stream goes both ways."""
        made = await asyncio.to_thread(self._same.exec, container_id, argv, terminal=terminal)
        return AsyncExecStream(made)
