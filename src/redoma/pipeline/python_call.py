"""Python calls on the one path: judged, planned, written down and run as any command is."""

from __future__ import annotations

import os
import sys

from redoma.jail.calls.call_result import answered, made_hidden
from redoma.jail.calls.payload import sent
from redoma.jail.calls.wire import CallOrders
from redoma.jail.engines.hidden_paths import in_everything
from redoma.jail.protect.installation import environment_in
from redoma.model.errors import Declined, UsageError
from redoma.model.grant import NetworkMode, Writes
from redoma.model.request import PythonCall, Request
from redoma.model.result import Outcome
from redoma.model.value import replace
from redoma.pipeline.run_context import RunContext
from redoma.pipeline.steps import RunStepRunner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.jail.supervisor.start import Control
    from redoma.jail.supervisor.streams import Sink
    from redoma.model.call import Call
    from redoma.model.decision import Decision
    from redoma.model.grant import Grant, RunPlan
    from redoma.model.policy import Circumstances
    from redoma.model.result import Result
    from redoma.pipeline.run_context import SandboxConfig
    from redoma.pipeline.steps import ExecuteStep

# What every sandbox shows; /etc is a copy of a few entries, and so is not among it.
_SHOWN = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store")


def request_for_call(call: Call, config: SandboxConfig, **more: Any) -> Request:
    """The request for a call; NotSendable where it cannot be put into bytes."""
    harness = sys.modules.get("redoma.jail.calls.harness")
    if harness is not None and harness.running:
        raise UsageError(
            "this function already runs in a sandbox, and there is none inside another",
            hint="call the function itself: it is held by the same sandbox",
        )
    roots = (config.root, *config.overrides.writable)
    return config.caller.request(sent(call, roots), **more)


class CallContext(RunContext):
    """The context of one call: judged as code, and shown the code that it needs."""

    def _decided(self, request: Request, around: Circumstances) -> Decision:
        from redoma.pipeline.decisions.check import check_call

        return check_call(
            _workload(request), cwd=self.config.root, policy=self.policy, circumstances=around
        )

    def grant(self, request: Request, decision: Decision) -> Grant:
        grant = super().grant(request, decision)
        given = (grant.workspace, *grant.writable, *grant.readable)
        missing = tuple(p for p in _workload(request).places if not _within(p, given))
        return _widened(grant, missing) if missing else grant

    def plan(self, request: Request, grant: Grant) -> RunPlan:
        # Relative paths mean the same inside as they do to whoever calls.
        here = _here()
        if not request.cwd and _within(here, (grant.workspace, *grant.writable, *grant.readable)):
            request = replace(request, cwd=here)
        return super().plan(request, grant)

    def modified(self, request: Request, command: str) -> Request:
        raise Declined("a call cannot be changed by whoever is asked, only approved or declined")


class CallRunner(RunStepRunner):
    """Performs the steps of one call: sends it in, and reads what comes back."""

    def __init__(
        self,
        context: CallContext,
        call: Call,
        *,
        sink: Sink | None = None,
        control: Control | None = None,
    ) -> None:
        super().__init__(context, sink=sink, control=control)
        self._call = call
        self._hidden: tuple[str, ...] = ()
        self._given: tuple[str, ...] = ()

    def stdin(self, step: ExecuteStep) -> bytes:
        grant = step.plan.grant
        self._hidden = grant.hidden
        self._given = (grant.workspace, *grant.writable, *grant.readable)
        return orders_for(step.plan).written()

    def finished(self, result: Result) -> Result:
        read = answered(result, self._call.returns, self._given)
        if read.exit is not None:
            read = replace(read, exit=replace(read.exit, answer=b""))  # it may be large
        # Attack: what is hidden was not there, and is made by a route that nobody looked on.
        made = [held.path for held in result.held_back if _within(held.path, self._hidden)]
        if made and read.failure is None and read.outcome is Outcome.EXITED:
            return replace(read, value=None, failure=made_hidden(made[0]))
        return read


def orders_for(plan: RunPlan) -> CallOrders:
    """What the call's process is told, under this plan."""
    grant, workload = plan.grant, _workload(plan.request)
    written = () if grant.writes is Writes.NONE else (grant.workspace,)
    return CallOrders(
        payload=workload.payload,
        path=workload.path,
        seen=(*_SHOWN, grant.workspace, *grant.readable, *grant.writable),
        writable=(*written, *grant.writable),
        hidden=tuple(path for path in grant.hidden if not environment_in(path)),
        network=grant.network is not NetworkMode.CLOSED,
        subprocesses=grant.subprocesses,
        collects=workload.collects,
    )


def _workload(request: Request) -> PythonCall:
    assert isinstance(request.workload, PythonCall)
    return request.workload


def _within(path: str, roots: tuple[str, ...]) -> bool:
    return any(
        path == root or path.startswith(f"{root}/") or (root == "/" and in_everything(path))
        for root in roots
    )


_lately: list[tuple[Grant, tuple[str, ...], Grant]] = []
_MOST_LATELY = 16


def _widened(grant: Grant, readable: tuple[str, ...]) -> Grant:
    """The grant with more to read; the same value for the same grant, as engines remember them."""
    for before, beside, made in _lately:
        if before is grant and beside == readable:
            return made
    made = replace(grant, readable=(*grant.readable, *readable))
    _lately[:0] = [(grant, readable, made)]
    del _lately[_MOST_LATELY:]
    return made


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "/nonexistent"
