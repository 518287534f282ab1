"""What each operation of a plan is for the one path: a command that is judged as any other.

A file operation is the program that people use for it. So the judge knows it, the policy and its
rules hold for it, the kernel encloses it, and what it changed can be seen and taken back.
"""

from __future__ import annotations

import os

from redoma.base.text import shortened
from redoma.model.intent import Operation
from redoma.model.request import Mode
from redoma.model.value import Value, replace
from redoma.pipeline.path import path
from redoma.pipeline.questions import LONGEST_INPUT
from redoma.pipeline.requests import request_for
from redoma.pipeline.run_context import RunContext
from redoma.pipeline.step_runner import RunStepRunner
from redoma.pipeline.steps import drive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from redoma.jail.supervisor.control import Control
    from redoma.jail.supervisor.streams import Sink
    from redoma.model.call import Call
    from redoma.model.intent import Step
    from redoma.model.request import Request
    from redoma.model.result import Result
    from redoma.pipeline.run_context import SandboxConfig


class Work(Value):
    """A command for the path, where it runs and what it reads; or a function to call."""

    command: str | tuple[str, ...] = ""
    stdin: bytes = b""
    cwd: str = ""
    target: str = ""
    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = {}
    # Whether what it prints is for whoever looks on.
    prints: bool = True

    @property
    def shown(self) -> str:
        """In one line, for a list of steps."""
        if self.target:
            given = [repr(each) for each in self.args]
            given += [f"{name}={value!r}" for name, value in self.kwargs.items()]
            return f"{self.target}({', '.join(given)})"
        if isinstance(self.command, str):
            return self.command
        from shlex import join

        return join(self.command)

    @property
    def given(self) -> str:
        """What it reads, shortened: nobody should approve a file whose text they cannot see."""
        if not self.stdin:
            return ""
        return repr(shortened(self.stdin.decode("utf-8", "replace"), LONGEST_INPUT))


def work_of(step: Step) -> Work:
    """The work of a step that was read."""
    return _MADE[step.operation](step.arguments)


def _command(given: Mapping[str, Any]) -> Work:
    return Work(
        command=tuple(given["argv"]) if "argv" in given else given["command"],
        stdin=given.get("stdin", "").encode(),
        cwd=given.get("cwd", ""),
    )


def _python(given: Mapping[str, Any]) -> Work:
    return Work(
        target=given["call"], args=tuple(given.get("args", ())), kwargs=given.get("kwargs", {})
    )


def _delete(given: Mapping[str, Any]) -> Work:
    words = ("rm", "-r", "--") if given.get("recursive") else ("rm", "--")
    return Work(command=(*words, given["path"]))


_MADE: dict[Operation, Callable[[Mapping[str, Any]], Work]] = {
    Operation.SHELL: _command,
    Operation.PROGRAM: _command,
    Operation.PYTHON: _python,
    Operation.FILE_READ: lambda given: Work(command=("cat", "--", given["path"])),
    Operation.FILE_WRITE: lambda given: Work(
        command=("tee", "--", given["path"]), stdin=given["content"].encode(), prints=False
    ),
    # Without -T a folder of that name would swallow the file, and the plan would say otherwise.
    Operation.FILE_MOVE: lambda given: Work(command=("mv", "-T", "--", given["path"], given["to"])),
    Operation.FILE_DELETE: _delete,
    Operation.FOLDER_MAKE: lambda given: Work(command=("mkdir", "-p", "--", given["path"])),
}


def directory(work: Work, config: SandboxConfig) -> str:
    """Where a step works, absolute; empty for the workspace itself."""
    return os.path.normpath(os.path.join(config.root, work.cwd)) if work.cwd else ""


def request_of(work: Work, config: SandboxConfig, mode: Mode) -> Request:
    """The request for a step's work."""
    if not work.target:
        cwd = directory(work, config)
        return request_for(work.command, cwd, mode, config.caller, stdin=work.stdin)
    from redoma.model.request import PythonCall
    from redoma.pipeline.python_call import request_for_call

    made = request_for_call(_call(work, config), config, mode=mode, cwd=config.root)
    assert isinstance(made.workload, PythonCall)
    # Judged, asked about and written down by the function's own name, not by who calls it.
    name, arguments = work.target.replace(":", "."), work.shown[len(work.target) + 1 : -1]
    source = _source(work)
    shown = replace(made.workload, name=name, arguments=arguments, source=source)
    return replace(made, workload=shown)


def _source(work: Work) -> str:
    """The call as somebody would write it: what it is judged by."""
    module, _, function = work.target.partition(":")
    given = [repr(each) for each in work.args]
    for name, value in work.kwargs.items():
        plain = name.isidentifier() and name.isascii()
        given.append(f"{name}={value!r}" if plain else f"**{{{name!r}: {value!r}}}")
    return f"import {module}\n" + f"{module}.{function}({', '.join(given)})"


def context_of(work: Work, config: SandboxConfig) -> RunContext:
    """The context of a step's work."""
    if not work.target:
        return RunContext(config, stdin=work.stdin)
    from redoma.pipeline.python_call import CallContext

    return CallContext(config)


def perform(
    work: Work,
    config: SandboxConfig,
    sink: Sink | None,
    control: Control | None,
    *,
    mode: Mode = Mode.RUN,
    onto: str = "",
) -> Result:
    """Runs a step's work; `onto` names stored changes that a preview goes on from."""
    shown = sink if work.prints else None
    request = replace(request_of(work, config, mode), onto=onto)
    context = context_of(work, config)
    runner = RunStepRunner(context, sink=shown, control=control)
    if work.target:
        from redoma.pipeline.python_call import CallContext, CallRunner

        assert isinstance(context, CallContext)
        runner = CallRunner(context, _call(work, config), sink=shown, control=control)
    return drive(path(request, context), runner)


def _call(work: Work, config: SandboxConfig) -> Call:
    from redoma.model.call import Call
    from redoma.pipeline.plans.named import call_named

    given = (work.target, work.args, dict(work.kwargs), config.root)
    return Call(call_named, given)
