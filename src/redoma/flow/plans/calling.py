"""Brings a step's work onto the one path: as a command, or as a call of a function by its name."""

from __future__ import annotations

import os

from redoma.flow.requests import request_for
from redoma.model.request import Mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.flow.plans.operations import Work
    from redoma.flow.sandbox import Sandbox
    from redoma.jail.run.control import Control
    from redoma.jail.run.streams import Sink
    from redoma.model.request import Request
    from redoma.model.result import Result


def directory(work: Work, sandbox: Sandbox) -> str:
    """Where a step works, absolute; empty for the workspace itself."""
    return os.path.normpath(os.path.join(sandbox.workspace, work.cwd)) if work.cwd else ""


def request_of(work: Work, sandbox: Sandbox, mode: Mode) -> Request:
    """The request for a step's work."""
    cwd = directory(work, sandbox)
    return request_for(work.command, cwd, mode, sandbox.who, stdin=work.stdin)


def perform(work: Work, sandbox: Sandbox, sink: Sink | None, control: Control | None) -> Result:
    """Runs a step's work in its sandbox."""
    return sandbox.run(
        work.command,
        stdin=work.stdin,
        cwd=directory(work, sandbox),
        sink=sink if work.prints else None,
        control=control,
    )
