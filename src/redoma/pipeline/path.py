"""The one path from a request to its result; it knows the order and does nothing itself."""

from __future__ import annotations

from contextlib import suppress

from redoma.model.access import Apply as When
from redoma.model.access import Writes
from redoma.model.decision import Verdict
from redoma.model.errors import NoRoomForUndo, RateLimited, RecordError, RedomaError
from redoma.model.event import Kind
from redoma.model.request import Mode
from redoma.model.result import Outcome, Result
from redoma.model.value import replace
from redoma.pipeline.steps import Apply, Ask, Discard, Execute, Hold, Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from redoma.model.access import Grant
    from redoma.model.change import Changes
    from redoma.model.decision import Decision
    from redoma.model.event import Event
    from redoma.model.plan import Plan
    from redoma.model.question import Answer, Question
    from redoma.model.request import Request
    from redoma.pipeline.audit_events import Told
    from redoma.pipeline.steps import Path

    class World(Protocol):
        """What the path knows of the world: who judges, what is granted, how to plan."""

        def judge(self, request: Request, changes: Changes | None = None) -> Decision:
            """Whether it may happen, by policy; `changes` are what it did in a layer."""

        def grant(self, request: Request, decision: Decision) -> Grant:
            """What this request may do."""

        def plan(self, request: Request, grant: Grant) -> Plan:
            """How it will be run; NoEngine where that cannot be enforced."""

        def question(
            self, request: Request, decision: Decision, plan: Plan, changes: Changes | None
        ) -> Question:
            """What to ask a person, with what is known of the impact."""

        def modified(self, request: Request, command: str) -> Request:
            """The request for the command that a person put in place of this one's."""

        def told(self, request: Request) -> Told:
            """Who words the rows of this request."""


MOST_MODIFICATIONS = 5
NOBODY = "nobody"
"""Who answers where nobody does; a person's no is another thing."""


def path(request: Request, world: World) -> Path[Result]:
    """Walks a request to its result; a command that a person modified walks it anew."""
    for _ in range(MOST_MODIFICATIONS):
        walked = yield from _walk(request, world)
        if isinstance(walked, Result):
            return _tried(walked) if walked.dry_run and request.mode is Mode.RUN else walked
        request = world.modified(request, walked)
    raise RedomaError("the command was modified too often", hint="start again with the last one")


def _walk(request: Request, world: World) -> Path[Result | str]:
    """The result; or the command to walk with instead."""
    told = world.told(request)
    decision = world.judge(request)
    so_far: list[Event] = [told.judged(decision)]
    if request.mode is Mode.CHECK:
        yield Note(events=tuple(so_far))
        return Result(outcome=Outcome.CHECKED, decision=decision, run=request.id)
    if decision.verdict is Verdict.DENY:
        so_far.append(told.refused("; ".join(decision.because), "denied"))
        yield Note(events=tuple(so_far))
        return Result(outcome=Outcome.DENIED, decision=decision, run=request.id)
    try:
        plan = world.plan(request, world.grant(request, decision))
    except RedomaError as error:
        so_far.append(told.refused(str(error), error.code))
        yield Note(events=tuple(so_far))
        raise
    # A preview changes nothing that lasts: what it shows is what a person is then asked about.
    if decision.verdict is Verdict.CONFIRM and request.mode is not Mode.PREVIEW:
        question = world.question(request, decision, plan, None)
        yield Note(events=(*so_far, told.asked(question)))
        answer = yield Ask(question=question)
        so_far = [told.answered(question, answer)]
        meant = _meant(question, answer)
        if isinstance(meant, str):
            yield Note(events=tuple(so_far))
            return meant
        if meant is None:
            so_far.append(told.refused("nobody approved this command", "declined"))
            yield Note(events=tuple(so_far))
            notes = (answer.notes,) if answer is not None and answer.notes else ()
            return Result(outcome=Outcome.DECLINED, decision=decision, run=request.id, notes=notes)
        if meant is not request.mode and meant is Mode.PREVIEW:
            request = replace(request, mode=Mode.PREVIEW)
            plan = world.plan(request, world.grant(request, decision))
    try:
        yield Note(events=(*so_far, told.starting(plan)), admits=True)
        asks = _unconfirmed(request, decision)
        result: Result = yield Execute(plan=plan, command=request.workload.shown, asks=asks)
    except (RateLimited, RecordError):
        raise  # nothing began: the record has its refusal, or there is nothing to write to
    except BaseException as error:
        yield Note(events=(told.failed(error),))
        raise
    dry_run = request.mode is Mode.PREVIEW
    result = replace(result, decision=decision, run=request.id, dry_run=dry_run)
    calls = told.network(result.network_calls or ())
    ended = (
        *calls,
        told.ended(result),
        *told.violations(result.held_back),
        *told.refused_inside(result.failure),
    )
    # Its start is on disk: a power cut here makes an interruption of it, and nothing is lost.
    yield Note(events=ended, waits=bool(result.held_back))
    if result.changes is None or plan.grant.writes is not Writes.LAYER:
        return result
    try:
        return (yield from _settle(request, world, plan, result))
    except KeyboardInterrupt as stop:
        if result.changes.items and not stop.args:
            stop.args = (_stopped(result.changes.id),)
        raise


def _tried(result: Result) -> Result:
    """A run that became a dry run says so: its end is not the command's for good."""
    name = result.changes.id if result.changes is not None and result.changes.items else ""
    note = "this was a dry run: nothing was changed"
    if name:
        note = f"{note}; redoma apply {name} keeps what the command wrote"
    ran = result.outcome in (Outcome.EXITED, Outcome.SIGNALLED)
    outcome = Outcome.PREVIEWED if ran else result.outcome
    return replace(result, outcome=outcome, notes=(*result.notes, note))


def _stopped(name: str) -> str:
    """What to tell who stopped us when a command had ended and its changes were not yet real."""
    return f"stopped: the workspace is as it was; redoma apply {name} keeps what the command wrote"


def _meant(question: Question, answer: Answer | None) -> Mode | str | None:
    """How far to go now, another command to go with, or None for a no."""
    from redoma.model.question import Choice

    # Attack: an answer to another question, or about another command, is no answer to this one.
    if answer is None or (answer.question, answer.digest) != (question.id, question.digest):
        return None
    if answer.choice is Choice.MODIFY:
        return answer.modified_command or None
    if answer.choice is Choice.DRY_RUN:
        return Mode.PREVIEW
    return Mode.RUN if answer.approves(question) else None


def _unconfirmed(request: Request, decision: Decision) -> tuple[str, ...]:
    """Why a preview may not simply be applied: the command itself would have to be confirmed."""
    if request.mode is not Mode.PREVIEW or decision.verdict is not Verdict.CONFIRM:
        return ()
    return decision.because or (decision.rule,)


def _settle(request: Request, world: World, plan: Plan, result: Result) -> Path[Result]:
    """What becomes of the changes that a run left in its layer."""
    told = world.told(request)
    changes, decision = result.changes, result.decision
    assert changes is not None and decision is not None
    if not changes.held:
        return result
    if request.mode is Mode.PREVIEW:
        yield Note(events=(told.changed(Kind.PREVIEWED, changes),))
        return result
    kept = f"nothing was changed; redoma apply {changes.id} keeps what the command wrote"
    when = plan.grant.apply
    if when is When.NEVER or (not result.may_apply and when is not When.ALWAYS):
        yield Note(events=(told.changed(Kind.PREVIEWED, changes),))
        return replace(result, notes=(*result.notes, kept))
    now = world.judge(request, changes)
    if now.verdict is Verdict.DENY:
        refused = told.refused("; ".join(now.because), "denied")
        yield Note(events=(refused, told.changed(Kind.DISCARDED, changes)))
        yield Discard(changes=changes)
        return replace(result, outcome=Outcome.DENIED, decision=now, changes=None)
    why = _review(decision, now, plan)
    if why:
        question = world.question(request, now, plan, changes)
        yield Note(events=(told.changed(Kind.PREVIEWED, changes), told.asked(question)))
        answer = yield Ask(question=question)
        noted = told.answered(question, answer)
        meant = _meant(question, answer)
        if meant is None and answer is not None and answer.approved_by != NOBODY:
            yield Note(events=(noted, told.changed(Kind.DISCARDED, changes)))
            yield Discard(changes=changes)
            return replace(result, outcome=Outcome.DECLINED, changes=None)
        yield Note(events=(noted,))
        if meant is not Mode.RUN:
            yield Hold(changes=changes, why=why)
            notes = (*result.notes, f"{why}: {kept}")
            return replace(result, outcome=Outcome.PREVIEWED, notes=notes)
    else:
        plan, aside = yield from _allowed(request, world, now, plan, changes)
        result = replace(result, notes=(*result.notes, *aside))
    try:
        applied = yield from _apply(told, changes, plan, undo=plan.grant.undo)
    except NoRoomForUndo as error:
        question = without_undo(world.question(request, now, plan, changes), changes.id, str(error))
        yield Note(events=(told.asked(question),))
        answer = yield Ask(question=question)
        yield Note(events=(told.answered(question, answer),))
        if _meant(question, answer) is not Mode.RUN:
            notes = (*result.notes, f"{error}; nothing was changed", error.hint)
            return replace(result, outcome=Outcome.PREVIEWED, notes=notes)
        applied = yield from _apply(told, changes, plan, undo=False)
    return replace(
        result,
        applied=applied.applied,
        undoable=applied.undoable,
        held_back=(*result.held_back, *applied.held_back),
        notes=(*result.notes, *applied.notes),
    )


def _allowed(
    request: Request, world: World, now: Decision, plan: Plan, changes: Changes
) -> Path[tuple[Plan, tuple[str, ...]]]:
    """The plan with what a person's tools would obey allowed, where whoever is asked says so."""
    from redoma.pipeline.obeyed import asked_about, kept_aside, question_about

    asked = asked_about(changes, plan.grant)
    if not asked:
        return plan, ()
    told = world.told(request)
    question = question_about(world.question(request, now, plan, changes), asked)
    yield Note(events=(told.asked(question),))
    answer = yield Ask(question=question)
    yield Note(events=(told.answered(question, answer),))
    if _meant(question, answer) is not Mode.RUN:
        return plan, kept_aside(changes, asked, answer.notes if answer is not None else "")
    allowed = tuple(f"{changes.workspace}/{path}" for path in asked)
    grant = replace(plan.grant, writable=(*plan.grant.writable, *allowed))
    return replace(plan, grant=grant), ()


def _apply(told: Told, changes: Changes, plan: Plan, *, undo: bool) -> Path[Result]:
    """Applies; that it begins is on disk before anything moves, and how it ended is told."""
    yield Note(events=(told.changed(Kind.APPLY_STARTING, changes),))
    try:
        applied: Result = yield Apply(changes=changes, plan=plan, undo=undo)
    except BaseException as error:
        with suppress(RecordError):  # its start is there, and the error says the rest
            yield Note(events=(told.not_applied(changes, error),), waits=False)
        raise
    violations = told.violations(applied.held_back)
    try:
        became = Kind.APPLIED if applied.applied else Kind.PREVIEWED
        ended = told.changed(became, changes, undoable=applied.undoable)
        yield Note(events=(ended, *violations), waits=bool(violations))
    except (RecordError, KeyboardInterrupt) as error:
        # Its start is on disk, and it is done: that is what a person has to know first.
        return replace(applied, notes=(*applied.notes, unwritten(error)))
    return applied


def unwritten(error: BaseException) -> str:
    """What to remark where something was done and only its end could not be written down."""
    why = "stopped" if isinstance(error, KeyboardInterrupt) else str(error)
    return f"this was done, and could not be written down: {why}"


def without_undo(question: Question, name: str, why: str) -> Question:
    """The same question, whether changes may be applied for good; no other answer is one to it."""
    return replace(
        question,
        digest=f"apply {name} without undo",
        because=(why,),
        impact=replace(question.impact, reversible=False),
        argvs=(),
        joins=(),
    )


def _review(before: Decision, now: Decision, plan: Plan) -> str:
    """Why a person should see what changed before it becomes real; empty for no reason."""
    if now.preview or before.preview:
        return now.preview or before.preview
    if now.verdict is Verdict.CONFIRM and before.verdict is not Verdict.CONFIRM:
        return "; ".join(now.because) or "the policy wants it confirmed"
    return "the profile asks before it applies" if plan.grant.apply is When.ASK else ""
