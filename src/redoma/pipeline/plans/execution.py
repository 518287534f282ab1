"""Runs a plan: judged as a whole, then step by step, stopped at the first that is not done."""

from __future__ import annotations

from redoma.judge.intent.plan_reader import read
from redoma.judge.intent.plan_schema import json_schema
from redoma.model.arguments import flag
from redoma.model.call import Failing
from redoma.model.decision import Verdict
from redoma.model.errors import Declined, RedomaError, Refused, RunError
from redoma.model.intent import StepStatus
from redoma.model.message import Message
from redoma.model.policy import ConfirmPlans
from redoma.model.result import Outcome
from redoma.model.value import Value, replace
from redoma.pipeline.plans import state as kept
from redoma.pipeline.plans.judged_steps import (
    PlanCheck,
    StepResult,
    check_plan,
    confirm_plan,
    perform,
    plan_request,
)
from redoma.pipeline.run_context import RunContext
from redoma.pipeline.steps import AuditStep, StepRunner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from redoma.jail.supervisor.start import Control
    from redoma.jail.supervisor.streams import Sink
    from redoma.model.intent import Intent
    from redoma.model.request import Answerer
    from redoma.model.result import Result
    from redoma.pipeline.plans.judged_steps import JudgedStep
    from redoma.pipeline.plans.rehearsal import PlanPreview
    from redoma.pipeline.plans.state import PlanState
    from redoma.pipeline.run_context import SandboxConfig
    from redoma.pipeline.sandbox import Sandbox

    Progress = Callable[["Reached"], None]

NOT_APPROVED = "nobody approved this plan"
_GOOD = frozenset((StepStatus.DONE, StepStatus.DONE_BEFORE))


class Reached(Value):
    """How far a run came: a step that begins (no result yet), or that has ended."""

    number: int
    total: int
    judged: JudgedStep
    result: StepResult | None = None


class PlanResult(Value):
    """What became of a plan: one result for each step, in the order of their doing."""

    __module__ = "redoma"

    id: str
    name: str
    digest: str
    steps: tuple[StepResult, ...]
    why: str = ""
    # Nobody approved the plan as a whole: no step began.
    declined: bool = False

    @property
    def ok(self) -> bool:
        """Whether every step is done."""
        return all(step.status in _GOOD for step in self.steps)

    @property
    def done(self) -> tuple[str, ...]:
        """The steps that are done, now or in the run that this one goes on with."""
        return tuple(step.id for step in self.steps if step.status in _GOOD)

    @property
    def stopped_at(self) -> str:
        """The step that was not done; empty where every one was, or where none began."""
        bad = (StepStatus.FAILED, StepStatus.REFUSED)
        return next((step.id for step in self.steps if step.status in bad), "")

    @property
    def exit_code(self) -> int:
        """0 for a plan that is done; 126 where it was refused; else the step's own status."""
        return exit_code(self.steps)

    def raise_for_outcome(self) -> PlanResult:
        """This result if the plan is done; else the error that says where it stopped."""
        if self.ok:
            return self
        hint = "redoma plan run --resume goes on from there"
        said = (
            Message(
                "the plan stopped at {step}: {why}", step=self.stopped_at, why=Message(self.why)
            )
            if self.stopped_at
            else self.why
        )
        if self.exit_code == 126:
            raise (Declined if self.declined else Refused)(said, hint=hint)
        raise RunError(said, hint=hint)


def exit_code(steps: tuple[StepResult, ...]) -> int:
    """One status for all steps: that of the one that was not done."""
    for step in steps:
        if step.status is StepStatus.FAILED:
            return step.exit_code or 125
        if step.status is StepStatus.REFUSED:
            return 126
    return 0 if all(step.status in _GOOD for step in steps) else 126


def run_plan(
    intent: Intent,
    config: SandboxConfig,
    *,
    resume: bool = False,
    redo: bool = False,
    progress: Progress | None = None,
    sink: Sink | None = None,
    control: Control | None = None,
) -> PlanResult:
    """Does the steps of a plan in order; what was done stays done, and can be gone on from."""
    resume, redo = flag("resume", resume), flag("redo", redo)
    state = (
        kept.resumed(intent, config.root, redo=redo)
        if resume
        else kept.new_state(intent, config.root)
    )
    with kept.only_one(state):
        return _PlanRun(intent, config, state, progress, sink, control).result()


class _PlanRun:
    """One run of a plan."""

    def __init__(
        self,
        intent: Intent,
        config: SandboxConfig,
        state: PlanState,
        progress: Progress | None,
        sink: Sink | None,
        control: Control | None,
    ) -> None:
        self._intent = intent
        self._config = config
        self._state = state
        self._progress = progress
        self._sink = sink
        self._control = control
        self._context = RunContext(config)
        self._results: dict[str, StepResult] = {}
        self._declined = False

    def result(self) -> PlanResult:
        """Begins, does the steps, and ends; both are on disk."""
        events = self._context.events(plan_request(self._state.id, self._config))
        runner = StepRunner(self._context)
        done = dict(self._state.done)
        runner.audit(AuditStep(events=(events.plan_starting(self._intent, done),)))
        why = "Redoma could not do its work"
        try:
            why = self._walk(done)
        finally:
            made = self._made(why)
            ended = events.plan_ended(
                self._intent, done=made.ok, stopped_at=made.stopped_at, why=why
            )
            runner.audit(AuditStep(events=(ended,)))
        return made

    def _walk(self, done: dict[str, str]) -> str:
        """Why it stopped; empty where every step is done."""
        check = check_plan(self._intent, self._config, plan=self._state.id)
        left = tuple(judged for judged in check.steps if judged.step.id not in done)
        for judged in left:
            if judged.decision.verdict is Verdict.DENY:
                why = "; ".join(judged.decision.because)
                self._results[judged.step.id] = _refused(judged, why)
                return why
        ask: Answerer | None = None
        remaining = replace(check, steps=left)
        if self._context.policy.plans.confirm is ConfirmPlans.PLAN and remaining.asked:
            said = confirm_plan(remaining, self._state.id, self._config)
            if isinstance(said, str):
                self._declined = True
                return f"{NOT_APPROVED}: {said}" if said else NOT_APPROVED
            ask = said
        kept.write(self._state)
        for number, judged in enumerate(check.steps, 1):
            name = judged.step.id
            if name in done:
                self._results[name] = StepResult(
                    id=name, status=StepStatus.DONE_BEFORE, run=done[name]
                )
            else:
                self._tell(number, judged, None)
                self._results[name] = self._step(judged, ask)
            self._tell(number, judged, self._results[name])
            if self._results[name].status not in _GOOD:
                return self._results[name].why
        self._state = replace(self._state, finished=True)
        kept.write(self._state)
        return ""

    def _step(self, judged: JudgedStep, ask: Answerer | None) -> StepResult:
        step = judged.step
        self._state = replace(self._state, going=step.id)
        kept.write(self._state)
        narrow = self._config.for_step(step.constraints, self._state.id, step.id, ask)
        try:
            result = perform(judged.work, narrow, self._sink, self._control)
        except RedomaError as error:
            # Nothing of a run that could not be done lasts: its end is known.
            self._ended(step.id, "")
            status = StepStatus.REFUSED if isinstance(error, Refused) else StepStatus.FAILED
            return StepResult(id=step.id, status=status, why=str(error))
        made = step_result(step.id, result, prints=judged.work.prints)
        if made.status is StepStatus.DONE and result.changes is not None:
            changed = (step.id, made.changes if result.applied else "")
            self._state = replace(self._state, changes=(*self._state.changes, changed))
        self._ended(step.id, made.run if made.status is StepStatus.DONE else "")
        return made

    def _ended(self, step: str, run: str) -> None:
        done = (*self._state.done, (step, run)) if run else self._state.done
        self._state = replace(self._state, going="", done=done)
        kept.write(self._state)

    def _tell(self, number: int, judged: JudgedStep, result: StepResult | None) -> None:
        if self._progress is not None:
            total = len(self._intent.steps)
            self._progress(Reached(number=number, total=total, judged=judged, result=result))

    def _made(self, why: str) -> PlanResult:
        steps = tuple(
            self._results.get(step.id, StepResult(id=step.id, status=StepStatus.NOT_REACHED))
            for step in self._intent.steps
        )
        return PlanResult(
            id=self._state.id,
            name=self._intent.name,
            digest=self._intent.digest,
            steps=steps,
            why=why,
            declined=self._declined,
        )


def step_result(step: str, result: Result, *, prints: bool) -> StepResult:
    """What a run says of its step."""
    why, status = "", StepStatus.DONE
    if result.outcome in (Outcome.DENIED, Outcome.DECLINED, Outcome.PREVIEWED):
        status = StepStatus.REFUSED
        because = result.decision.because if result.decision is not None else ()
        why = "; ".join((*because, *result.notes)) or result.outcome.words
    elif result.failure is not None:
        broke = result.failure.how is Failing.VIOLATION
        status = StepStatus.REFUSED if broke else StepStatus.FAILED
        why = str(result.failure.error())
    elif result.partly_refused:
        # What follows was planned for all of it.
        status = StepStatus.REFUSED
        why = Message(
            "took away {path}: {why}", path=result.held_back[0].path, why=result.held_back[0].why
        )
    elif not result.ok:
        status = StepStatus.FAILED
        ended = result.outcome is Outcome.EXITED
        why = (
            Message("it ended with status {status}", status=result.exit_code)
            if ended
            else result.outcome.words
        )
    return StepResult(
        id=step,
        status=status,
        run=result.run,
        changes=result.changes.id if result.changes is not None and result.changes.held else "",
        exit_code=result.exit_code or (0 if status is StepStatus.DONE else 1),
        why=why,
        stdout=result.stdout if prints else b"",
        stderr=result.stderr,
        value=result.value,
    )


def _refused(judged: JudgedStep, why: str) -> StepResult:
    return StepResult(id=judged.step.id, status=StepStatus.REFUSED, why=why)


class Plan:
    """Steps in the order of their doing; a text that is no plan is `PlanSyntax`, with its place."""

    __module__ = "redoma"

    def __init__(self, text: str | bytes, *, name: str = "plan") -> None:
        """`text` is JSON; `name` is how it is called in errors, such as its file."""
        self.intent: Intent = read(text, name=name)

    @staticmethod
    def schema() -> dict[str, object]:
        """The JSON Schema of a plan."""
        return json_schema()

    @property
    def name(self) -> str:
        return self.intent.name

    @property
    def digest(self) -> str:
        """One name for the plan's content, however it is spelt."""
        return self.intent.digest

    def check(self, sandbox: Sandbox) -> PlanCheck:
        """What the policy says of each step; nothing runs."""
        return check_plan(self.intent, sandbox.config)

    def preview(self, sandbox: Sandbox, **how: Any) -> PlanPreview:
        """Runs every step with its writes held in one overlay, each on the one before it."""
        from redoma.pipeline.plans.rehearsal import preview_plan

        return preview_plan(self.intent, sandbox.config, **how)

    def run(self, sandbox: Sandbox, **how: Any) -> PlanResult:
        """Does the steps in order and stops at the first that is not done.

        `resume` goes on with the last run here that stopped; `redo` then runs once more the step
        whose end is not known. `progress` is called when a step begins and when it has ended,
        `sink` with what the steps print.
        """
        return run_plan(self.intent, sandbox.config, **how)

    def __repr__(self) -> str:
        return f"Plan({self.name!r}, {len(self.intent.steps)} steps)"
