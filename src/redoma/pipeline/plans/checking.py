"""Judges every step of a plan before the first of them runs."""

from __future__ import annotations

from redoma.model.decision import Verdict
from redoma.model.intent import StepStatus
from redoma.model.question import Impact
from redoma.model.request import Mode
from redoma.model.value import Value, replace
from redoma.pipeline.drive import drive
from redoma.pipeline.path import path
from redoma.pipeline.plans.calling import request_of, world_of
from redoma.pipeline.plans.operations import work_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.decision import Decision
    from redoma.model.intent import Intent, Step
    from redoma.pipeline.plans.operations import Work
    from redoma.pipeline.sandbox import Sandbox


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
