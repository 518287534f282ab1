"""Previews a plan: every step runs on one overlay, each on what the steps before it did there."""

from __future__ import annotations

from redoma.base.identity import short_id
from redoma.model.change import Changes
from redoma.model.decision import Verdict
from redoma.model.intent import StepStatus
from redoma.model.request import Mode
from redoma.model.value import Value, replace
from redoma.pipeline.dry_run import OverlayRun, dry_run, report
from redoma.pipeline.foresight.forecast import Foreseen
from redoma.pipeline.plans.execution import Reached, exit_code, step_result
from redoma.pipeline.plans.judged_steps import StepResult, check_plan, directory, perform
from redoma.pipeline.run_context import RunContext
from redoma.pipeline.step_constraints import outside
from redoma.pipeline.steps import HoldStep, StepRunner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.supervisor.start import Control
    from redoma.jail.supervisor.streams import Sink
    from redoma.model.intent import Intent
    from redoma.pipeline.dry_run import DryRunReport
    from redoma.pipeline.plans.execution import Progress
    from redoma.pipeline.plans.judged_steps import JudgedStep
    from redoma.pipeline.run_context import SandboxConfig


class PlanPreview(Value):
    """What all steps together would change, and what each of them did on the way."""

    __module__ = "redoma"

    name: str
    digest: str
    steps: tuple[StepResult, ...]
    changes: Changes
    network_calls: tuple[str, ...] = ()
    database_operations: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The name to apply or discard it by; empty where nothing is held."""
        return self.changes.id if self.changes.held else ""

    @property
    def ok(self) -> bool:
        """Whether every step could be shown to its end."""
        return all(step.status is StepStatus.DONE for step in self.steps)

    @property
    def exit_code(self) -> int:
        """As that of a run that came so far."""
        return exit_code(self.steps)


def preview_plan(
    intent: Intent,
    config: SandboxConfig,
    *,
    progress: Progress | None = None,
    sink: Sink | None = None,
    control: Control | None = None,
) -> PlanPreview:
    """Runs the steps with all writes held in one overlay; the first that is not done ends it."""
    plan = short_id()
    check = check_plan(intent, config, plan=plan)
    made = PlanPreview(
        name=intent.name,
        digest=intent.digest,
        steps=(),
        changes=Changes(id="", workspace=config.root),
    )
    asks: list[str] = []
    for number, judged in enumerate(check.steps, 1):
        if made.ok:
            reached = Reached(number=number, total=len(check.steps), judged=judged)
            if progress is not None:
                progress(reached)
            narrow = config.for_step(judged.step.constraints, plan, judged.step.id, None)
            found = _shown(judged, narrow, made.id, sink, control)
            result = _result(judged, found, made.changes)
            made = _added(made, judged, found, result)
            asks += [f"{judged.step.id}: {why}" for why in _unconfirmed(judged)]
            if progress is not None:
                progress(replace(reached, result=result))
        else:
            result = StepResult(id=judged.step.id, status=StepStatus.NOT_REACHED)
            made = replace(made, steps=(*made.steps, result))
    if made.id:
        # What one step has to be confirmed for, all that is held together has to be.
        StepRunner(RunContext(config)).hold(HoldStep(id=made.id, asks=tuple(asks)))
    return made


def _shown(
    judged: JudgedStep, config: SandboxConfig, onto: str, sink: Sink | None, control: Control | None
) -> DryRunReport:
    work = judged.work
    if work.target:
        result = perform(work, config, sink, control, mode=Mode.PREVIEW, onto=onto)
        return report(work.shown, Foreseen(), result, config.root)
    run = OverlayRun(
        config,
        stdin=work.stdin,
        sink=sink if work.prints else None,
        control=control,
        cwd=directory(work, config),
        onto=onto,
    )
    return dry_run(work.command, run, duration=RunContext(config).usual_seconds)


def _result(judged: JudgedStep, found: DryRunReport, before: Changes) -> StepResult:
    made = step_result(judged.step.id, found.result, prints=judged.work.prints)
    known = {item.path: item for item in before.items}
    own = tuple(item for item in found.changes.items if known.get(item.path) != item)
    reasons = outside(replace(found.changes, items=own), judged.step.constraints)
    if made.status is StepStatus.DONE and reasons:
        return replace(made, status=StepStatus.REFUSED, why="; ".join(reasons))
    return made


def _added(
    made: PlanPreview, judged: JudgedStep, found: DryRunReport, result: StepResult
) -> PlanPreview:
    name = judged.step.id
    return replace(
        made,
        steps=(*made.steps, result),
        changes=found.changes if found.would_execute else made.changes,
        network_calls=(*made.network_calls, *(f"{name}: {c}" for c in found.network_calls)),
        database_operations=(
            *made.database_operations,
            *(f"{name}: {each}" for each in found.database_operations),
        ),
        warnings=(*made.warnings, *(f"{name}: {warning}" for warning in found.warnings)),
    )


def _unconfirmed(judged: JudgedStep) -> tuple[str, ...]:
    decision = judged.decision
    return (decision.because or (decision.rule,)) if decision.verdict is Verdict.CONFIRM else ()
