"""`redoma undo` takes back what was applied; `redoma discard` lets go what was not."""

from __future__ import annotations

import sys

from redoma.base.text import harmless
from redoma.cli.options import Argument, CommandTable, Heading, Option, Sample
from redoma.i18n import phrased
from redoma.model.errors import PreviewGone, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.cli.options import CommandLine
    from redoma.model.change import Undone
    from redoma.pipeline.plans.state import PlanState, PlanUndone, UndoneStep

_SHOWN = 20
UNDO = CommandTable(
    "undo",
    "Takes back what was applied: the files are again as they were before. Without an ID it is the"
    " last that was applied in this workspace, a plan with all its steps. Refused where a file has"
    " changed since.",
    "With the ID of a run of `redoma plan run`, takes back all its steps, the last one first, and"
    " stops at the first that cannot be taken back; what is taken back then stays so.",
    usage=("[ID]", "--session ID"),
    arguments=(Argument("ID", "may be shortened as long as it is clear"),),
    options=(
        Heading("options"),
        Option(
            "--session ID",
            "everything that an agent's session did through Redoma, the newest first; stops where"
            " a file has changed since (redoma session-report)",
        ),
        Option("--workspace DIR", "the workspace, if it is not the current directory"),
        Option("--json", "one JSON object"),
    ),
    samples=(Sample("redoma undo", "takes back what was applied last in this workspace"),),
)
DISCARD = CommandTable(
    "discard",
    "Lets the changes of previews go. The workspace is not touched.",
    usage=("ID...", "--all"),
    arguments=(Argument("ID", "may be shortened as long as it is clear"),),
    options=(
        Heading("options"),
        Option("--all", "every preview of this workspace that is not applied"),
        Option("--json", "one JSON object"),
    ),
    samples=(Sample("redoma discard --all", "lets every preview of this workspace go"),),
)


@UNDO.main
def main(options: CommandLine) -> int:
    """Undoes; every refusal is an error that leaves the workspace as it was."""
    if len(options.words) > 1:
        raise UsageError("one at a time", hint="redoma undo ID")
    from redoma.cli.history import workspace_here
    from redoma.cli.streams import stop_on_signals
    from redoma.pipeline.decisions.policies import load_policy
    from redoma.pipeline.transactions import local_transactions

    stop_on_signals()
    as_json = options.json
    if "--session" in options.values:
        if options.words or "--workspace" in options.values:
            raise UsageError("--session stands alone", hint="redoma undo --session ID")
        from redoma.cli.session_report import undo_session

        return undo_session(options.values["--session"], as_json=as_json)
    place = options.values.get("--workspace", "")
    if not options.words:
        here = workspace_here(place)
        transactions = local_transactions(load_policy(here))
        last = _last_plan(here)
        if last is not None:
            from redoma.pipeline.plans.state import undo_plan

            return _whole_plan(undo_plan(last, transactions), as_json=as_json)
        return _one(transactions.undo(workspace=here), as_json=as_json)
    if place:
        raise UsageError("an ID says which workspace is meant", hint="redoma undo ID")
    state = _plan(options.words[0])
    transactions = local_transactions(load_policy("."))
    if state is None:
        return _one(transactions.undo(options.words[0]), as_json=as_json)
    from redoma.pipeline.plans.state import undo_plan

    return _whole_plan(undo_plan(state, transactions), as_json=as_json)


def _last_plan(workspace: str) -> PlanState | None:
    """The run of a plan to which what was applied last belongs; None where it is a command's."""
    from redoma.model.errors import UndoImpossible
    from redoma.pipeline import stored_changes
    from redoma.pipeline.plans.state import states

    try:
        last = stored_changes.last_applied(workspace)
    except (UndoImpossible, PreviewGone):
        return None  # the undo itself says so
    runs = (state for state in states() if state.workspace == workspace)
    return next((run for run in runs if last in dict(run.changes).values()), None)


def _plan(word: str) -> PlanState | None:
    """The run of a plan that is meant; None where it is no run of a plan."""
    from redoma.pipeline.plans.state import find
    from redoma.pipeline.stored_changes import resolve

    state = find(word)
    if state is None or state.id == word:
        return state
    try:
        other = resolve(word)
    except PreviewGone:
        return state
    if other == word:
        return None
    names = ", ".join((state.id, other))
    raise UsageError(f"{word} is the beginning of several: {names}")


def _one(undone: Undone, *, as_json: bool) -> int:
    if as_json:
        return _as_json({"id": undone.id, "paths": list(undone.paths), "notes": list(undone.notes)})
    told = "undid {0}: {1} paths are as they were\n"
    if len(undone.paths) == 1:
        told = "undid {0}: {1} path is as it was\n"
    _list(phrased(told, undone.id, len(undone.paths)), undone)
    sys.stderr.write(phrased("hint: redoma apply {0} brings them back\n", undone.id))
    return 0


def _whole_plan(undone: PlanUndone, *, as_json: bool) -> int:
    error = undone.error
    status = 0 if error is None else error.exit_status
    if as_json:
        steps = [
            {"id": step.id, "changes": step.changes or None, "paths": list(step.paths)}
            for step in undone.steps
        ]
        _as_json(
            {
                "plan": undone.name,
                "run": undone.id,
                "ok": undone.ok,
                "steps": steps,
                "stopped_at": undone.stopped_at or None,
                "error": error.as_dict() if error is not None else None,
            }
        )
        return status
    for step in undone.steps:
        _step(step)
    name = harmless(undone.name)
    if error is None:
        told = "redoma: plan {0}: every step is taken back ({1})\n"
        sys.stderr.write(phrased(told, name, undone.id))
        return status
    why = "; ".join(harmless(line) for line in phrased(str(error)).splitlines())
    told = "redoma: plan {0}: stopped at {1}, which stays as it is with all before it: {2}\n"
    sys.stderr.write(phrased(told, name, undone.stopped_at, why))
    if error.hint:
        sys.stderr.write(phrased("hint: {0}\n", phrased(error.hint)))
    return status


def _step(step: UndoneStep) -> None:
    count = len(step.paths)
    told = "took back step {0}: {1} paths are as they were\n"
    if step.before:
        told = "step {0} had been taken back before\n"
    elif count == 0:
        told = "took back step {0}: it had changed no file\n"
    elif count == 1:
        told = "took back step {0}: {1} path is as it was\n"
    _list(phrased(told, step.id, count), step)


def _list(head: str, undone: Undone | UndoneStep) -> None:
    """A line that says what was taken back, the paths below it, and what there is to remark."""
    sys.stdout.write(head)
    for path in undone.paths[:_SHOWN]:
        sys.stdout.write(f"  {harmless(path)}\n")
    if len(undone.paths) > _SHOWN:
        sys.stdout.write(phrased("  and {0} more\n", len(undone.paths) - _SHOWN))
    sys.stdout.flush()
    for note in undone.notes:
        sys.stderr.write(f"redoma: {harmless(phrased(note))}\n")


def _as_json(content: dict[str, object]) -> int:
    import json

    sys.stdout.write(json.dumps(content) + "\n")
    return 0


@DISCARD.main
def discard_named(options: CommandLine) -> int:
    """Discards what was named."""
    every = "--all" in options.flags
    if every == bool(options.words):
        raise UsageError(
            "name changes by their id, or say --all",
            hint="redoma discard ID, or redoma discard --all",
        )
    from redoma.pipeline import stored_changes
    from redoma.pipeline.decisions.policies import load_policy
    from redoma.pipeline.transactions import local_transactions

    # Each name is made out before anything goes: a slip in the last one discards nothing.
    names = _all_here() if every else tuple(stored_changes.resolve(word) for word in options.words)
    transactions = local_transactions(load_policy("."))
    for name in names:
        transactions.discard(name)
    if options.json:
        import json

        sys.stdout.write(json.dumps({"discarded": list(names)}) + "\n")
        return 0
    for name in names:
        sys.stdout.write(phrased("discarded {0}\n", name))
    if not names:
        sys.stderr.write(phrased("redoma: nothing is held\n"))
    return 0


def _all_here() -> tuple[str, ...]:
    """Never those of another workspace: someone else may be about to apply them."""
    from redoma.cli.history import workspace_here
    from redoma.pipeline import stored_changes

    waiting = set(stored_changes.previews())
    return tuple(e.id for e in stored_changes.history(workspace_here("")) if e.id in waiting)
