"""`redoma plan`: a plan of several steps, checked, previewed or run, and gone on with later."""

from __future__ import annotations

import json
import sys

from redoma.base.text import harmless, shortened
from redoma.cli.options import Argument, CommandTable, Heading, Option, Sample
from redoma.cli.prose import SAID
from redoma.cli.run_options import RUN_OPTIONS, sandbox_for
from redoma.cli.tree import summary
from redoma.i18n import phrased
from redoma.model.errors import UsageError
from redoma.model.intent import StepStatus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from redoma.cli.options import CommandLine
    from redoma.pipeline.plans.execution import Plan, PlanResult, Reached
    from redoma.pipeline.plans.judged_steps import PlanCheck, StepResult
    from redoma.pipeline.plans.rehearsal import PlanPreview

    Sink = Callable[[int, bytes], None]

PLAN = CommandTable(
    "plan",
    "A plan is JSON: named steps, each one operation (shell, program, python, file.read,"
    " file.write, file.move, file.delete, folder.make), what it needs before it, and what"
    " holds it tighter.",
    arguments=(Argument("FILE", "the plan; `-` reads it from standard input"),),
    options=(
        Heading("options"),
        Option(
            "--resume",
            "with run: goes on with the last run of this plan here that stopped before its end;"
            " the plan has to be the same",
            of="run",
        ),
        Option(
            "--redo",
            "with --resume: runs once more the step that was begun and whose end is not known",
            of="run",
        ),
        Option(
            "--stat",
            "with preview: only the tree of changes, without the differences in files",
            of="preview",
        ),
        Option("--json", "one JSON object"),
        Option("-q, --quiet", "does not show what the steps print"),
    ),
    borrowed=RUN_OPTIONS,
    without="--tty --trace-files",
    notes=(
        "Where a step has to be confirmed, `plans.confirm` in sandbox.yaml says whether you are"
        " asked before each such step (step, the default) or once for the whole plan (plan).",
    ),
    status=(
        "check: 0 allowed, 10 needs confirmation, 20 denied. preview and run: 0 every step is done;"
        " 126 refused; else the status of the step at which it stopped. 2 the plan cannot be"
        " understood"
    ),
    samples=(Sample("redoma plan schema", "what a plan may hold, for editors"),),
)
_LARGEST = (1 << 20) + 1


def _plan(line: CommandLine) -> Plan:
    from redoma.pipeline.plans.execution import Plan

    for flag in ("--tty", "--trace-files"):
        if flag in line.flags:
            raise UsageError(f"a plan has no {flag}", hint=PLAN.hint)
    if "--redo" in line.flags and "--resume" not in line.flags:
        raise UsageError("--redo goes with --resume", hint="redoma plan run --resume --redo FILE")
    if not line.words or not line.words[0]:
        raise UsageError("no plan given", hint="redoma plan run FILE")
    path = line.words[0]
    if path == "-":
        return Plan(sys.stdin.buffer.read(_LARGEST), name="standard input")
    try:
        with open(path, "rb") as file:
            return Plan(file.read(_LARGEST), name=path)
    except OSError as error:
        raise UsageError(
            "the plan {path} cannot be read: {why}", path=path, why=error.strerror
        ) from None


@PLAN.subcommand(
    "check", "[OPTION]... FILE", "what the policy says of each step; nothing runs", most=1
)
def _check(line: CommandLine) -> int:
    from redoma.cli.check import STATUS

    found = _plan(line).check(sandbox_for(line))
    if line.json:
        sys.stdout.write(check_json(found))
    else:
        sys.stdout.writelines(check_lines(found))
    return STATUS[found.verdict]


@PLAN.subcommand(
    "preview",
    "[OPTION]... FILE",
    "runs every step on one overlay, each on what the steps before it did there, and shows what"
    " they change together; the workspace stays as it is",
    most=1,
)
def _preview(line: CommandLine) -> int:
    from redoma.cli.preview import changes_report
    from redoma.cli.prose import screen
    from redoma.cli.streams import steered, writer

    plan = _plan(line)
    progress, sink = _shown(line, writer(out=2))
    with steered() as control:
        found = plan.preview(sandbox_for(line), progress=progress, sink=sink, control=control)
    if line.json:
        sys.stdout.write(plan_preview_json(found))
    else:
        sys.stdout.writelines(
            changes_report(found.changes, screen(sys.stdout), stat="--stat" in line.flags)
        )
        sys.stdout.flush()
        sys.stderr.writelines(preview_lines(found))
    return found.exit_code


@PLAN.subcommand(
    "run",
    "[OPTION]... FILE",
    "does the steps in order, each judged, confirmed, held in a sandbox and written down as a"
    " command of its own, and stops at the first that is not done",
    most=1,
)
def _run(line: CommandLine) -> int:
    from redoma.cli.streams import steered, writer

    plan = _plan(line)
    progress, sink = _shown(line, writer())
    with steered() as control:
        result = plan.run(
            sandbox_for(line),
            resume="--resume" in line.flags,
            redo="--redo" in line.flags,
            progress=progress,
            sink=sink,
            control=control,
        )
    if line.json:
        sys.stdout.write(plan_result_json(result))
    else:
        sys.stderr.writelines(result_lines(result))
    return result.exit_code


@PLAN.subcommand("schema", "", "prints the JSON Schema of a plan", most=None)
def _schema(_given: CommandLine) -> int:
    from redoma.pipeline.plans.execution import Plan

    sys.stdout.write(json.dumps(Plan.schema(), indent=2) + "\n")
    return 0


def _shown(line: CommandLine, sink: Sink) -> tuple[Callable[[Reached], None] | None, Sink | None]:
    """What is said of each step as it begins, and where what it prints goes."""
    silent = line.json or "--quiet" in line.flags
    return None if line.json else _progress, None if silent else sink


def _progress(reached: Reached) -> None:
    """One line for each step, when it begins or is passed over."""
    name = reached.judged.step.id
    if reached.result is None:
        shown = harmless(reached.judged.work.shown)
        operation = reached.judged.step.operation.value
        told = phrased("step {0} of {1}, {2}", reached.number, reached.total, name)
        said = f"{told}: {operation}: {shown}"
    elif reached.result.status is StepStatus.DONE_BEFORE:
        told = "step {0} of {1}, {2}: it was done before"
        said = phrased(told, reached.number, reached.total, name)
    else:
        return
    sys.stderr.write(f"redoma: {said}\n")
    sys.stderr.flush()


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
    from redoma.cli.json_report import decision_json

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
                    "decision": decision_json(judged.decision),
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
    from redoma.pipeline.plans.state import can_undo

    return can_undo(result.id)


def plan_result_json(result: PlanResult) -> str:
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


def plan_preview_json(found: PlanPreview) -> str:
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
