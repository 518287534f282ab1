"""Brings a step's work onto the one path: as a command, or as a call of a function by its name."""

from __future__ import annotations

import os

from redoma.model.request import Mode
from redoma.model.value import replace
from redoma.pipeline.context import World
from redoma.pipeline.drive import drive
from redoma.pipeline.path import path
from redoma.pipeline.requests import request_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.supervisor.control import Control
    from redoma.jail.supervisor.streams import Sink
    from redoma.model.call import Call
    from redoma.model.request import Request
    from redoma.model.result import Result
    from redoma.pipeline.plans.work import Work
    from redoma.pipeline.sandbox import Sandbox


def directory(work: Work, sandbox: Sandbox) -> str:
    """Where a step works, absolute; empty for the workspace itself."""
    return os.path.normpath(os.path.join(sandbox.workspace, work.cwd)) if work.cwd else ""


def request_of(work: Work, sandbox: Sandbox, mode: Mode) -> Request:
    """The request for a step's work."""
    if not work.target:
        cwd = directory(work, sandbox)
        return request_for(work.command, cwd, mode, sandbox.who, stdin=work.stdin)
    from redoma.model.request import PythonCall
    from redoma.pipeline.python_call import request_for_call

    made = request_for_call(_call(work, sandbox), sandbox)
    assert isinstance(made.workload, PythonCall)
    # Judged, asked about and written down by the function's own name, not by who calls it.
    name, arguments = work.target.replace(":", "."), work.shown[len(work.target) + 1 : -1]
    source = _source(work)
    shown = replace(made.workload, name=name, arguments=arguments, source=source)
    return replace(made, workload=shown, mode=mode, cwd=sandbox.workspace)


def _source(work: Work) -> str:
    """The call as somebody would write it: what it is judged by."""
    module, _, function = work.target.partition(":")
    given = [repr(each) for each in work.args]
    for name, value in work.kwargs.items():
        plain = name.isidentifier() and name.isascii()
        given.append(f"{name}={value!r}" if plain else f"**{{{name!r}: {value!r}}}")
    return f"import {module}\n" + f"{module}.{function}({', '.join(given)})"


def world_of(work: Work, sandbox: Sandbox) -> World:
    """The path's view of a step's work."""
    if not work.target:
        return World(sandbox, stdin=work.stdin)
    from redoma.pipeline.python_call import CallWorld

    return CallWorld(sandbox)


def perform(
    work: Work,
    sandbox: Sandbox,
    sink: Sink | None,
    control: Control | None,
    *,
    mode: Mode = Mode.RUN,
    onto: str = "",
) -> Result:
    """Runs a step's work in its sandbox; `onto` names held changes that a preview goes on from."""
    shown = sink if work.prints else None
    request = replace(request_of(work, sandbox, mode), onto=onto)
    world = world_of(work, sandbox)
    if not work.target:
        hands = sandbox.hands(world, sink=shown, control=control)
        return drive(path(request, world), hands)
    from redoma.pipeline.python_call import CallHands

    call = _call(work, sandbox)
    return drive(path(request, world), CallHands(world, sandbox, call, sink=shown, control=control))


def _call(work: Work, sandbox: Sandbox) -> Call:
    from redoma.model.call import Call
    from redoma.pipeline.plans.named import call_named

    given = (work.target, work.args, dict(work.kwargs), sandbox.workspace)
    return Call(call_named, given)
