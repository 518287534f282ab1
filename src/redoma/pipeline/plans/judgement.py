"""Judges every step of a plan before the first of them runs, and asks once for all of them."""

from __future__ import annotations

from hashlib import sha256

from redoma.ask.answers import now, told
from redoma.base.ids import uuid
from redoma.model.decision import Verdict
from redoma.model.event import Event, Kind
from redoma.model.intent import StepStatus
from redoma.model.question import Choice, Context, Impact, Question
from redoma.model.request import Mode
from redoma.model.value import Value, replace
from redoma.pipeline.drive import drive
from redoma.pipeline.path import path
from redoma.pipeline.plans.calling import request_of, world_of
from redoma.pipeline.plans.work import work_of
from redoma.pipeline.requests import this_caller, this_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from redoma.model.decision import Decision
    from redoma.model.intent import Intent, Step
    from redoma.model.policy import Policy
    from redoma.model.question import Answer, Answerer
    from redoma.model.script import Span
    from redoma.pipeline.plans.work import Work
    from redoma.pipeline.sandbox import Sandbox

_MOST_REASONS = 20


def question_of(check: PlanCheck, sandbox: Sandbox, policy: Policy) -> Question:
    """What a person is asked once for all steps; the digest is of every one of them."""
    # Attack: many harmless steps around a bad one, so that nobody gets as far as that.
    asked = sorted(check.asked, key=lambda judged: -judged.decision.assessment.risk)
    worst = asked[0].decision
    parts = (check.intent.digest, *(judged.digest for judged in check.asked))
    text, spans = _written(check)
    impacts = [judged.impact for judged in check.steps]
    files = tuple(dict.fromkeys(path for each in impacts for path in each.files_affected))
    reasons = [
        f"{judged.step.id}: {reason}" for judged in asked for reason in judged.decision.because
    ]
    return Question(
        id=uuid(),
        digest=sha256("\n".join(parts).encode()).hexdigest(),
        command=text,
        spans=spans,
        risk=worst.assessment.risk,
        safety_level=worst.level or worst.assessment.risk.label,
        because=tuple(reasons[:_MOST_REASONS]),
        impact=Impact(
            files_affected=files,
            reversible=all(each.reversible for each in impacts),
            network_access=any(each.network_access for each in impacts),
            estimated_scope=f"{len(check.steps)} steps, {len(check.asked)} to confirm",
        ),
        context=Context(
            triggered_by=sandbox.who.caller or this_caller(), workflow_phase=sandbox.who.phase
        ),
        workspace=sandbox.workspace,
        session=sandbox.who.session or this_session(),
        asked_at=now(),
        timeout_seconds=policy.confirmation.timeout_seconds,
        policy=f"{policy.name}: plans.confirm",
    )


def _written(check: PlanCheck) -> tuple[str, tuple[Span, ...]]:
    """The steps as they are shown, one to a line, and the parts to be seen, the worst first."""
    text = f"plan {_indented(check.intent.name)}\n"
    parts: list[tuple[int, Span]] = []
    for judged in check.steps:
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


def confirmed(check: PlanCheck, plan: str, sandbox: Sandbox, policy: Policy) -> Answerer | str:
    """Who answers for the steps after the plan was approved; else what was said to it."""
    question = question_of(check, sandbox, policy)
    record = sandbox.record(policy)
    asked = {"question": question.id, "digest": question.digest, "because": list(question.because)}
    record.append(_event(Kind.ASKED, plan, sandbox, asked, question.command))
    answer = sandbox.answerer(policy).ask(question)
    said = {
        "question": question.id,
        "choice": answer.choice.value,
        "approved_by": answer.approved_by,
        "notes": answer.notes,
    }
    record.append(_event(Kind.ANSWERED, plan, sandbox, said))
    return ForTheSteps(check, answer) if answer.approves(question) else answer.notes


class ForTheSteps:
    """Approves each step that a person saw in the plan, once, and leaves the rest to others."""

    def __init__(self, check: PlanCheck, answer: Answer) -> None:
        self._left = [judged.digest for judged in check.asked]
        self._answer = answer

    def ask(self, question: Question) -> Answer | None:
        # Attack: a step whose files, grant or policy changed since is another one; and what a
        # step did in its layer, where a person is to see that, nobody has seen yet.
        if question.digest not in self._left:
            return None
        self._left.remove(question.digest)
        by = self._answer.approved_by
        return told(
            question, Choice.APPROVE, by=by, notes=f"with the plan: {self._answer.question}"
        )


def _event(
    kind: Kind, plan: str, sandbox: Sandbox, details: Mapping[str, object], command: str = ""
) -> Event:
    return Event(
        kind=kind,
        run=plan,
        session=sandbox.who.session or this_session(),
        caller=sandbox.who.caller or this_caller(),
        command=command,
        details={**details, "plan": plan},
    )


def plan_event(kind: Kind, plan: str, sandbox: Sandbox, details: dict[str, object]) -> Event:
    """The row that begins or ends the run of a plan."""
    return _event(kind, plan, sandbox, details)


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


def check_plan(intent: Intent, sandbox: Sandbox, *, plan: str = "") -> PlanCheck:
    """The decision on each step, in the order of their doing; nothing runs."""
    return PlanCheck(
        intent=intent, steps=tuple(_judged(step, sandbox, plan) for step in intent.steps)
    )


def _judged(step: Step, sandbox: Sandbox, plan: str) -> JudgedStep:
    work = work_of(step)
    narrow = sandbox.narrowed(step.constraints, plan=plan, step=step.id)
    request = request_of(work, narrow, Mode.CHECK)
    world = world_of(work, narrow)
    decision = drive(path(request, world), narrow.hands(world)).decision
    assert decision is not None
    made = JudgedStep(step=step, work=work, decision=decision)
    if decision.verdict is Verdict.DENY:
        return made
    from redoma.pipeline.questions import question

    asked = replace(request, mode=Mode.RUN)
    grant = world.grant(asked, decision)
    found = question(asked, decision, grant=grant, policy=world.policy)
    return replace(made, impact=found.impact, digest=found.digest)


class StepResult(Value):
    """What became of one step."""

    id: str
    status: StepStatus
    # The name of its run in the record, and of its changes in the history.
    run: str = ""
    changes: str = ""
    exit_code: int | None = None
    why: str = ""
    stdout: bytes = b""
    stderr: bytes = b""
    # What a `python` step returned, as data.
    value: object = None
