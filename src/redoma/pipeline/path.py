"""The one path from a request to its result; it knows the order and does nothing itself.

Judge, plan, ask, write the start, execute, write the end, settle what changed: each is a line
here, in the order in which it happens. `check_path` goes as far as the decision, `confirm_path` as
far as the answer; what becomes of changes later is in `redoma.pipeline.transactions`.
"""

from __future__ import annotations

from redoma.model.decision import Verdict
from redoma.model.errors import NoRoomForUndo, RecordError, RedomaError
from redoma.model.event import Kind
from redoma.model.grant import Apply as When
from redoma.model.grant import Writes
from redoma.model.message import Message
from redoma.model.request import Mode
from redoma.model.result import Outcome, Result
from redoma.model.value import Value, replace
from redoma.pipeline.checks import check_path
from redoma.pipeline.steps import ApplyStep, AskStep, AuditStep, BeginStep, ExecuteStep, HoldStep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from redoma.model.change import Changes
    from redoma.model.decision import Decision
    from redoma.model.event import Event
    from redoma.model.grant import Grant, RunPlan
    from redoma.model.request import Answer, Choice, Context, Question, Request
    from redoma.pipeline.audit_events import AuditEvents
    from redoma.pipeline.steps import Path

    class PathContext(Protocol):
        """What the path knows of a run: who judges, what is granted, how to plan."""

        def judge(
            self, request: Request, changes: Changes | None = None, plan: RunPlan | None = None
        ) -> Decision:
            """Whether it may happen, by policy; `changes` are what it did in an overlay.

            What the `plan` of its run holds is no question.
            """

        def grant(self, request: Request, decision: Decision) -> Grant:
            """What this request may do."""

        def plan(self, request: Request, grant: Grant) -> RunPlan:
            """How it will be run; NoEngine where that cannot be enforced."""

        def offered(
            self, request: Request, decision: Decision, plan: RunPlan
        ) -> tuple[RunPlan, tuple[str, ...]] | None:
            """The plan with what an approval gives this run beside it, and that in words."""

        def question(
            self, request: Request, decision: Decision, plan: RunPlan, changes: Changes | None
        ) -> Question:
            """What to ask a person, with what is known of the impact."""

        def modified(self, request: Request, command: str) -> Request:
            """The request for the command that a person put in place of this one's."""

        def events(self, request: Request) -> AuditEvents:
            """Who words the audit events of this request."""


MOST_MODIFICATIONS = 5
NOBODY = "nobody"
"""Who answers where nobody does; a person's no is another thing."""


def path(request: Request, context: PathContext) -> Path[Result]:
    """Walks a request to its result; a command that a person modified walks it anew."""
    for _ in range(MOST_MODIFICATIONS):
        walked = yield from _walk(request, context)
        if isinstance(walked, Result):
            return _tried(walked) if walked.dry_run and request.mode is Mode.RUN else walked
        request = context.modified(request, walked)
    raise RedomaError("the command was modified too often", hint="start again with the last one")


def _walk(request: Request, context: PathContext) -> Path[Result | str]:
    """The result; or the command to walk with instead."""
    if request.mode is Mode.CHECK:
        decision = (yield from check_path((request,), context))[0]
        return Result(outcome=Outcome.CHECKED, decision=decision, run=request.id)
    events = context.events(request)
    decision = context.judge(request)
    judged = events.judged(decision)
    if decision.verdict is Verdict.DENY:
        yield AuditStep(events=(judged, events.refused("; ".join(decision.because), "denied")))
        return Result(outcome=Outcome.DENIED, decision=decision, run=request.id)
    try:
        plan = context.plan(request, context.grant(request, decision))
    except RedomaError as error:
        yield AuditStep(events=(judged, events.refused(str(error), error.code)))
        raise
    decision = _weighed(request, context, decision, plan)
    decision, plan, offered = _with_offer(request, context, decision, plan)
    judged = events.judged(decision)
    unwritten: tuple[Event, ...] = (judged,)
    # A preview changes nothing that lasts: what it shows is what a person is then asked about.
    if decision.verdict is Verdict.CONFIRM and request.mode is not Mode.PREVIEW:
        question = context.question(request, decision, plan, None)
        if offered:
            from redoma.pipeline.offers import with_offer

            question = with_offer(question, offered)
        answer = yield from ask(events, question, judged)
        unwritten = ()
        meant = _meant(question, answer)
        if isinstance(meant, str):
            return meant
        if meant is None:
            yield AuditStep(events=(events.refused("nobody approved this command", "declined"),))
            notes = (answer.notes,) if answer is not None and answer.notes else ()
            return Result(
                outcome=Outcome.DECLINED,
                decision=decision,
                run=request.id,
                notes=notes,
                declined_by=_decliner(answer),
            )
        if meant is not request.mode and meant is Mode.PREVIEW:
            request = replace(request, mode=Mode.PREVIEW)
            plan = context.plan(request, context.grant(request, decision))
    result = yield from _execute(request, decision, plan, events, unwritten)
    if result.changes is None or plan.grant.writes is not Writes.LAYER:
        return result
    try:
        return (yield from _settle(request, context, plan, result))
    except KeyboardInterrupt as stop:
        if result.changes.items and not stop.args:
            stop.args = (_stopped(result.changes.id),)
        raise


def _weighed(request: Request, context: PathContext, decision: Decision, plan: RunPlan) -> Decision:
    """The decision once it is known what this very run holds; only a question can become less."""
    # A preview is asked about when it is applied, by whoever applies it.
    if decision.verdict is not Verdict.CONFIRM or request.mode is not Mode.RUN:
        return decision
    return context.judge(request, None, plan)


def _with_offer(
    request: Request, context: PathContext, decision: Decision, plan: RunPlan
) -> tuple[Decision, RunPlan, tuple[str, ...]]:
    """A push or a publish with the plan that it needs, which is given by an approval alone.

    A push that the policy lets pass would fail for want of a network: what publishes is asked
    about, and the question says what else the run would get.
    """
    if request.mode is not Mode.RUN or decision.verdict not in (Verdict.LOG, Verdict.CONFIRM):
        return decision, plan, ()
    offered = context.offered(request, decision, plan)
    if offered is None:
        return decision, plan, ()
    wider, words = offered
    # With a way out less is held: what is asked about is judged by the plan that would run.
    decision = context.judge(request, None, wider)
    if decision.verdict >= Verdict.CONFIRM:
        return decision, wider, words
    why = "it sends work to others, and this run has no network"
    because = (*decision.because, why)
    asked = replace(decision, verdict=Verdict.CONFIRM, because=because, rule="needs_more")
    return asked, wider, words


def ask(events: AuditEvents, question: Question, *before: Event) -> Path[Answer | None]:
    """Asks; that it is asked is on disk before anybody sees it, and so is the answer after."""
    yield AuditStep(events=(*before, events.asked(question)))
    answer: Answer | None = yield AskStep(question=question)
    yield AuditStep(events=(events.answered(question, answer),))
    return answer


def _execute(
    request: Request,
    decision: Decision,
    plan: RunPlan,
    events: AuditEvents,
    unwritten: tuple[Event, ...],
) -> Path[Result]:
    """Runs a plan; no run whose start is not on disk before its command starts."""
    start = yield BeginStep(events=(*unwritten, events.starting(plan)))
    asks = _unconfirmed(request, decision)
    command = request.workload.shown
    try:
        result: Result = yield ExecuteStep(plan=plan, start=start, command=command, asks=asks)
    except RecordError:
        raise  # its start did not reach the disk: nothing ran, and there is nothing to write to
    except BaseException as error:
        yield AuditStep(events=(events.failed(error),))
        raise
    dry_run = request.mode is Mode.PREVIEW
    result = replace(result, decision=decision, run=request.id, dry_run=dry_run)
    ended = (
        *events.network(result.network_calls or ()),
        events.ended(result),
        *events.violations(result.held_back),
        *events.refused_inside(result.failure),
    )
    # Its start is on disk: a power cut here makes an interruption of it, and nothing is lost.
    yield AuditStep(events=ended, waits=bool(result.held_back))
    return result


def _tried(result: Result) -> Result:
    """A run that became a dry run says so: its end is not the command's for good."""
    name = result.changes.id if result.changes is not None and result.changes.items else ""
    note = "this was a dry run: nothing was changed"
    if name:
        note = Message(
            "{note}; redoma apply {name} keeps what the command wrote", note=note, name=name
        )
    ran = result.outcome in (Outcome.EXITED, Outcome.SIGNALLED)
    outcome = Outcome.PREVIEWED if ran else result.outcome
    return replace(result, outcome=outcome, notes=(*result.notes, note))


def _stopped(name: str) -> str:
    """What to tell who stopped us when a command had ended and its changes were not yet real."""
    return Message(
        "stopped: the workspace is as it was; redoma apply {name} keeps what the command wrote",
        name=name,
    )


def _meant(question: Question, answer: Answer | None) -> Mode | str | None:
    """How far to go now, another command to go with, or None for a no."""
    from redoma.model.request import Choice

    # Attack: an answer to another question, or about another command, is no answer to this one.
    if answer is None or (answer.question, answer.digest) != (question.id, question.digest):
        return None
    if answer.choice is Choice.MODIFY:
        return answer.modified_command or None
    if answer.choice is Choice.DRY_RUN:
        return Mode.PREVIEW
    return Mode.RUN if answer.approves(question) else None


def _decliner(answer: Answer | None) -> str:
    """Who said no; nothing where nobody said anything."""
    said = answer is not None and answer.approved_by != NOBODY
    return answer.approved_by if answer is not None and said else ""


def _unconfirmed(request: Request, decision: Decision) -> tuple[str, ...]:
    """Why a preview may not simply be applied: the command itself would have to be confirmed."""
    if request.mode is not Mode.PREVIEW or decision.verdict is not Verdict.CONFIRM:
        return ()
    return decision.because or (decision.rule,)


def _settle(request: Request, context: PathContext, plan: RunPlan, result: Result) -> Path[Result]:
    """What becomes of the changes that a run left in its overlay."""
    from redoma.pipeline.transactions import apply_changes, discard_changes

    events = context.events(request)
    changes, decision = result.changes, result.decision
    assert changes is not None and decision is not None
    if not changes.held:
        return result
    if request.mode is Mode.PREVIEW:
        yield AuditStep(events=(events.changed(Kind.PREVIEWED, changes),))
        return result
    kept = Message(
        "nothing was changed; redoma apply {id} keeps what the command wrote", id=changes.id
    )
    when = plan.grant.apply
    if not _becomes_real(when, result):
        yield AuditStep(events=(events.changed(Kind.PREVIEWED, changes),))
        return replace(result, notes=(*result.notes, kept))
    now = context.judge(request, changes, plan)
    if now.verdict is Verdict.DENY:
        refused = events.refused("; ".join(now.because), "denied")
        yield from discard_changes(events, changes, refused)
        return replace(result, outcome=Outcome.DENIED, decision=now, changes=None)
    why = _review(decision, now, plan)
    if why:
        question = context.question(request, now, plan, changes)
        answer = yield from ask(events, question, events.changed(Kind.PREVIEWED, changes))
        meant = _meant(question, answer)
        if meant is None and answer is not None and answer.approved_by != NOBODY:
            yield from discard_changes(events, changes)
            return replace(
                result, outcome=Outcome.DECLINED, changes=None, declined_by=_decliner(answer)
            )
        if meant is not Mode.RUN:
            yield HoldStep(id=changes.id, asks=(why,))
            notes = (*result.notes, f"{why}: {kept}")
            return replace(result, outcome=Outcome.PREVIEWED, notes=notes)
    else:
        plan, aside = yield from _allowed(request, context, now, plan, changes)
        result = replace(result, notes=(*result.notes, *aside))
    step = ApplyStep(
        id=changes.id,
        allow_write=plan.grant.writable,
        protected=plan.grant.protected,
        undo=plan.grant.undo,
    )
    try:
        applied = yield from apply_changes(
            events, changes, step, lambda: context.question(request, now, plan, changes)
        )
    except NoRoomForUndo as error:
        notes = (*result.notes, Message("{error}; nothing was changed", error=error), error.hint)
        return replace(result, outcome=Outcome.PREVIEWED, notes=notes)
    return replace(
        result,
        applied=bool(applied.changes),  # all of it may be held back
        undoable=applied.undoable,
        held_back=(*result.held_back, *applied.held_back),
        notes=(*result.notes, *applied.notes),
    )


def _becomes_real(when: When, result: Result) -> bool:
    """Whether what a run wrote is applied, as the grant says, or put to a person for it."""
    if when in (When.ALWAYS, When.NEVER):
        return when is When.ALWAYS
    return result.may_apply or (when is not When.ON_SUCCESS and result.ended_by_itself)


def _allowed(
    request: Request, context: PathContext, now: Decision, plan: RunPlan, changes: Changes
) -> Path[tuple[RunPlan, tuple[str, ...]]]:
    """The plan with what a person's tools would obey allowed, where whoever is asked says so."""
    from redoma.pipeline.stored_changes import kept_aside, obeyed_files

    files = obeyed_files(changes, plan.grant)
    if not files:
        return plan, ()
    from redoma.pipeline.questions import about_obeyed_files

    question = about_obeyed_files(context.question(request, now, plan, changes), files)
    answer = yield from ask(context.events(request), question)
    if _meant(question, answer) is not Mode.RUN:
        return plan, kept_aside(changes, files, answer.notes if answer is not None else "")
    allowed = tuple(f"{changes.workspace}/{path}" for path in files)
    grant = replace(plan.grant, writable=(*plan.grant.writable, *allowed))
    return replace(plan, grant=grant), ()


def _review(before: Decision, now: Decision, plan: RunPlan) -> str:
    """Why a person should see what changed before it becomes real; empty for no reason."""
    if now.preview or before.preview:
        return now.preview or before.preview
    if now.verdict is Verdict.CONFIRM and before.verdict is not Verdict.CONFIRM:
        return "; ".join(now.because) or "the policy wants it confirmed"
    return "the profile asks before it applies" if plan.grant.apply is When.ASK else ""


class Confirmed(Value):
    """What became of a question: nobody is asked about what is denied anyway."""

    __module__ = "redoma"

    decision: Decision
    question: Question | None = None
    answer: Answer | None = None

    @property
    def choice(self) -> Choice:
        """What was said; silence and a denial by policy are a no."""
        from redoma.model.request import Choice

        return self.answer.choice if self.answer is not None else Choice.DENY

    @property
    def approved(self) -> bool:
        """Whether exactly this command was approved."""
        question, answer = self.question, self.answer
        return question is not None and answer is not None and answer.approves(question)


def confirm_path(
    request: Request, context: PathContext, about: Context, seconds: float | None
) -> Path[Confirmed]:
    """Judges and asks, and runs nothing. `seconds` can only shorten the time for an answer."""
    events = context.events(request)
    decision = context.judge(request)
    judged = events.judged(decision)
    if decision.verdict is Verdict.DENY:
        yield AuditStep(events=(judged, events.refused("; ".join(decision.because), "denied")))
        return Confirmed(decision=decision)
    plan = context.plan(request, context.grant(request, decision))
    question = context.question(request, decision, plan, None)
    most = question.timeout_seconds
    question = replace(
        question, context=about, timeout_seconds=most if seconds is None else min(most, seconds)
    )
    answer = yield from ask(events, question, judged)
    return Confirmed(decision=decision, question=question, answer=answer)
