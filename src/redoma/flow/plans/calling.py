"""Brings a step's work onto the one path: as a command, or as a call of a function by its name."""

from __future__ import annotations

from redoma.flow.requests import request_for
from redoma.model.request import Mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.flow.plans.operations import Work
    from redoma.flow.requests import Who
    from redoma.flow.sandbox import Sandbox
    from redoma.jail.run.control import Control
    from redoma.jail.run.streams import Sink
    from redoma.model.request import Request
    from redoma.model.result import Result


def request_of(work: Work, who: Who, mode: Mode) -> Request:
    """The request for a step's work."""
    return request_for(work.command, work.cwd, mode, who, stdin=work.stdin)


def perform(work: Work, sandbox: Sandbox, sink: Sink | None, control: Control | None) -> Result:
    """Runs a step's work in its sandbox."""
    return sandbox.run(
        work.command,
        stdin=work.stdin,
        cwd=work.cwd,
        sink=sink if work.prints else None,
        control=control,
    )
