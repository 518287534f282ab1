"""What each operation of a plan is on the one path; each is judged before the first one runs.

A file operation is the program that people use for it. So the judge knows it, the policy and its
rules hold for it, the kernel encloses it, and what it changed can be seen and taken back.
"""

from __future__ import annotations

import os
from hashlib import sha256

from redoma.ask.answers import told
from redoma.base.text import shortened
from redoma.model.decision import Verdict
from redoma.model.intent import Operation, StepStatus
from redoma.model.message import Message
from redoma.model.request import Choice, Impact, Mode, ShellCommand
from redoma.model.value import Value, replace
from redoma.pipeline.checks import check_path
from redoma.pipeline.path import ask, path
from redoma.pipeline.questions import LONGEST_INPUT, question_of_plan
from redoma.pipeline.requests import request_for
from redoma.pipeline.run_context import RunContext
from redoma.pipeline.steps import RunStepRunner, StepRunner, drive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from redoma.jail.supervisor.start import Control
    from redoma.jail.supervisor.streams import Sink
    from redoma.model.call import Call
    from redoma.model.decision import Decision
    from redoma.model.intent import Intent, Step
    from redoma.model.request import Answer, Answerer, Question, Request
    from redoma.model.result import Result
    from redoma.model.script import Span
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


class JudgedStep(Value):
    """A step, what it is for the path, and what the policy says of it."""

    step: Step
    work: Work
    decision: Decision
    # What it would touch, as far as is known; nothing is known of what may not happen.
    impact: Impact = Impact()
    # Of exactly this work under its grant and policy: what an approval is for.
    digest: str = ""


class PlanCheck(Value):
    """What the policy says of every step; the strictest of it counts for the plan."""

    __module__ = "redoma"

    intent: Intent
    steps: tuple[JudgedStep, ...]

    @property
    def verdict(self) -> Verdict:
        """The strictest verdict of the steps."""
        return max(judged.decision.verdict for judged in self.steps)

    @property
    def refused(self) -> tuple[JudgedStep, ...]:
        """The steps that may not happen at all."""
        return tuple(j for j in self.steps if j.decision.verdict is Verdict.DENY)

    @property
    def asked(self) -> tuple[JudgedStep, ...]:
        """The steps that a person has to confirm."""
        return tuple(j for j in self.steps if j.decision.verdict is Verdict.CONFIRM)

    @property
    def written(self) -> tuple[str, tuple[Span, ...]]:
        """The steps as they are shown, one to a line, and the parts to be seen, the worst first."""
        text = f"plan {_indented(self.intent.name)}\n"
        parts: list[tuple[int, Span]] = []
        for judged in self.steps:
            shown, found = judged.work.shown, judged.decision.assessment
            start = len(text)
            at = start + len(judged.step.id) + 2
            # As a shell would show it, and not a sentence: this is the work, not our words for it.
            text += f"{judged.step.id}: {_indented(shown)}"
            text += f" < {judged.work.given}" if judged.work.given else ""
            end = len(text)
            text += "\n"
            if judged.decision.verdict is Verdict.CONFIRM:
                exact = found.text == shown and "\n" not in shown
                for one in found.worst:
                    span = (at + one.span[0], at + one.span[1]) if exact else (start, end)
                    parts.append((-found.risk, span))
        parts.sort(key=lambda part: part[0])
        return text.removesuffix("\n"), tuple(dict.fromkeys(span for _, span in parts))


def _indented(text: str) -> str:
    # Attack: a second line of one step that looks like another step.
    return text.replace("\n", "\n    ")


def check_plan(intent: Intent, config: SandboxConfig, *, plan: str = "") -> PlanCheck:
    """The decision on each step, in the order of their doing; nothing runs."""
    return PlanCheck(
        intent=intent, steps=tuple(_judged(step, config, plan) for step in intent.steps)
    )


def _judged(step: Step, config: SandboxConfig, plan: str) -> JudgedStep:
    work = work_of(step)
    narrow = config.for_step(step.constraints, plan, step.id, None)
    request = request_of(work, narrow, Mode.CHECK)
    context = context_of(work, narrow)
    [decision] = drive(check_path((request,), context), StepRunner(context))
    made = JudgedStep(step=step, work=work, decision=decision)
    if decision.verdict is Verdict.DENY:
        return made
    from redoma.pipeline.questions import question

    asked = replace(request, mode=Mode.RUN)
    grant = context.grant(asked, decision)
    found = question(asked, decision, grant=grant, policy=context.policy)
    return replace(made, impact=found.impact, digest=found.digest)


def plan_request(plan: str, config: SandboxConfig, text: str = "") -> Request:
    """The request in whose name the rows about a whole plan stand."""
    return config.caller.request(ShellCommand(text=text), id=plan, plan=plan)


def confirm_plan(check: PlanCheck, plan: str, config: SandboxConfig) -> Answerer | str:
    """Who answers for the steps after the plan was approved; else what was said to it."""
    context = RunContext(config)
    text, spans = check.written
    request = plan_request(plan, config, text)
    # Attack: many harmless steps around a bad one, so that nobody gets as far as that.
    asked = sorted(check.asked, key=lambda judged: -judged.decision.assessment.risk)
    parts = (check.intent.digest, *(judged.digest for judged in check.asked))
    question = question_of_plan(
        request,
        asked[0].decision,
        context.policy,
        digest=sha256("\n".join(parts).encode()).hexdigest(),
        spans=spans,
        because=tuple(f"{j.step.id}: {why}" for j in asked for why in j.decision.because),
        impacts=[judged.impact for judged in check.steps],
        to_confirm=len(check.asked),
        workspace=config.root,
    )
    answer = drive(ask(context.events(request), question), StepRunner(context))
    if answer is None:
        return ""
    return ApprovedSteps(check, answer) if answer.approves(question) else answer.notes


class ApprovedSteps:
    """Approves each step that a person saw in the plan, once, and leaves the rest to others."""

    def __init__(self, check: PlanCheck, answer: Answer) -> None:
        self._left = [judged.digest for judged in check.asked]
        self._answer = answer

    def ask(self, question: Question) -> Answer | None:
        # Attack: a step whose files, grant or policy changed since is another one; and what a
        # step did in its overlay, where a person is to see that, nobody has seen yet.
        if question.digest not in self._left:
            return None
        self._left.remove(question.digest)
        by = self._answer.approved_by
        return told(
            question,
            Choice.APPROVE,
            by=by,
            notes=Message("with the plan: {question}", question=Message(self._answer.question)),
        )


class StepResult(Value):
    """What became of one step."""

    id: str
    status: StepStatus
    # The name of its run in the audit log, and of its changes in the history.
    run: str = ""
    changes: str = ""
    exit_code: int | None = None
    why: str = ""
    stdout: bytes = b""
    stderr: bytes = b""
    # What a `python` step returned, as data.
    value: object = None
