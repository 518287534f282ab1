"""Judges every step of a plan before the first of them runs, and asks once for all of them."""

from __future__ import annotations

from hashlib import sha256

from redoma.ask.answers import told
from redoma.model.decision import Verdict
from redoma.model.intent import StepStatus
from redoma.model.message import Message
from redoma.model.question import Choice, Impact
from redoma.model.request import Mode, ShellCommand
from redoma.model.value import Value, replace
from redoma.pipeline.check_path import check_path
from redoma.pipeline.path import ask
from redoma.pipeline.plans.work import context_of, request_of, work_of
from redoma.pipeline.questions import question_of_plan
from redoma.pipeline.run_context import RunContext
from redoma.pipeline.step_runner import StepRunner
from redoma.pipeline.steps import drive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.decision import Decision
    from redoma.model.intent import Intent, Step
    from redoma.model.question import Answer, Answerer, Question
    from redoma.model.request import Request
    from redoma.model.script import Span
    from redoma.pipeline.plans.work import Work
    from redoma.pipeline.run_context import SandboxConfig


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
