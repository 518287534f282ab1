"""What was found of a plan, for people as lines and for programs as JSON."""

from __future__ import annotations

import json

from redoma.cli.display import harmless, shortened
from redoma.cli.prose import SAID
from redoma.cli.tree import summary
from redoma.i18n import phrased

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.pipeline.plans.judgement import StepResult
    from redoma.pipeline.plans.plan import PlanCheck, PlanPreview, PlanResult

LONGEST_SHOWN = 160


def check_lines(found: PlanCheck) -> Iterator[str]:
    """One line for each step, its reasons below it, and what it comes to."""
    widest = max(len(judged.step.id) for judged in found.steps)
    for judged in found.steps:
        decision = judged.decision
        level = decision.level or decision.assessment.risk.label
        shown = shortened(harmless(judged.work.shown), LONGEST_SHOWN)
        said = f"{phrased(level)}: {phrased(SAID[decision.verdict])}"
        yield f"{judged.step.id:<{widest}}  {said}  {shown}\n"
        if decision.verdict.label in ("confirm", "deny"):
            for reason in decision.because:
                yield f"{'':<{widest}}  {harmless(phrased(reason))}\n"
    yield phrased("plan {0}: {1}\n", harmless(found.intent.name), phrased(SAID[found.verdict]))


def check_json(found: PlanCheck) -> str:
    """What `redoma plan check --json` prints."""
    from redoma.cli.as_json import whole

    return _line(
        {
            "plan": found.intent.name,
            "digest": found.intent.digest,
            "verdict": found.verdict.label,
            "steps": [
                {
                    "id": judged.step.id,
                    "operation": judged.step.operation.value,
                    "needs": list(judged.step.needs),
                    "shown": judged.work.shown,
                    "decision": whole(judged.decision),
                }
                for judged in found.steps
            ],
        }
    )


def result_lines(result: PlanResult) -> Iterator[str]:
    """How it ended, and what can be done now."""
    name = harmless(result.name)
    if result.ok:
        yield phrased("redoma: plan {0}: every step is done ({1})\n", name, result.id)
        if _can_undo(result):
            yield phrased("hint: redoma undo {0} takes all of them back\n", result.id)
        return
    if result.stopped_at:
        why = harmless(phrased(result.why))
        yield phrased("redoma: plan {0}: stopped at {1}: {2}\n", name, result.stopped_at, why)
        yield phrased("hint: redoma plan run --resume FILE goes on from there\n")
        if result.done and _can_undo(result):
            yield phrased("hint: redoma undo {0} takes back what is done\n", result.id)
    else:
        yield phrased("redoma: plan {0}: nothing ran: {1}\n", name, harmless(phrased(result.why)))


def _can_undo(result: PlanResult) -> bool:
    """Nothing is promised of steps that wrote directly, or that were let go to make room."""
    from redoma.pipeline.plans.reversal import can_undo

    return can_undo(result.id)


def result_json(result: PlanResult) -> str:
    """What `redoma plan run --json` prints."""
    return _line(
        {
            "plan": result.name,
            "run": result.id,
            "digest": result.digest,
            "ok": result.ok,
            "stopped_at": result.stopped_at or None,
            "why": result.why or None,
            "steps": [_step(step) for step in result.steps],
        }
    )


def preview_lines(found: PlanPreview) -> Iterator[str]:
    """What a person should know and can do."""
    for call in found.network_calls:
        yield f"{phrased('would call')}: {harmless(phrased(call))}\n"
    for operation in found.database_operations:
        yield f"{phrased('database')}: {harmless(phrased(operation))}\n"
    for warning in found.warnings:
        yield phrased("warning: {0}\n", harmless(phrased(warning)))
    for step in found.steps:
        if step.why:
            status, why = phrased(step.status.value), harmless(phrased(step.why))
            yield f"redoma: {step.id}: {status}: {why}\n"
    yield f"redoma: {summary(found.changes.items)}\n"
    if found.id:
        held = "redoma: the changes are held as {0}; the workspace is as it was\n"
        yield phrased(held, found.id)
        yield phrased("hint: redoma apply {0}, or redoma discard {0}\n", found.id)
    else:
        yield phrased("redoma: no file would change\n")


def preview_json(found: PlanPreview) -> str:
    """What `redoma plan preview --json` prints."""
    return _line(
        {
            "plan": found.name,
            "digest": found.digest,
            "ok": found.ok,
            "id": found.id or None,
            "steps": [_step(step) for step in found.steps],
            "changes": [
                {"path": _text(item.path), "did": item.did.value} for item in found.changes.items
            ],
            "network_calls": list(found.network_calls),
            "database_operations": list(found.database_operations),
            "warnings": list(found.warnings),
        }
    )


def _step(step: StepResult) -> dict[str, object]:
    return {
        "id": step.id,
        "status": step.status.value,
        "run": step.run or None,
        "changes": step.changes or None,
        "exit_code": step.exit_code,
        "why": step.why or None,
        "stdout": step.stdout.decode("utf-8", "replace"),
        "stderr": step.stderr.decode("utf-8", "replace"),
        "value": _data(step.value),
    }


def _data(value: object) -> object:
    """What a function returned, where JSON has a form for it; else in Python's words."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        return repr(value)


def _text(path: str) -> str:
    return path.encode(errors="surrogateescape").decode(errors="replace")


def _line(content: dict[str, object]) -> str:
    return json.dumps(content) + "\n"
