"""The path's order, walked with a runner that only writes down what it is asked."""

from __future__ import annotations

import pytest

from redoma.jail.engines.choice import plan
from redoma.model.change import Applied, Change, Changes, Did
from redoma.model.decision import Assessment, Decision, Risk, Verdict
from redoma.model.errors import NoEngine, NoRoomForUndo, RateLimited, RecordUnavailable, RedomaError
from redoma.model.event import Kind
from redoma.model.grant import Apply, EngineReport, Grant, Guarantee, Limits, RunPlan, Writes
from redoma.model.request import Answer, Choice, Mode, Question, Request, ShellCommand
from redoma.model.result import Exit, Outcome, Quarantined, Result
from redoma.model.value import replace
from redoma.pipeline.audit_events import AuditEvents
from redoma.pipeline.path import path
from redoma.pipeline.steps import (
    ApplyStep,
    AskStep,
    AuditStep,
    BeginStep,
    DiscardStep,
    ExecuteStep,
    HoldStep,
    drive,
)
from redoma.testing import FakeHost

STRONG = EngineReport(name="bubblewrap", guarantees=frozenset(Guarantee))
WEAK = EngineReport(
    name="landlock",
    guarantees=frozenset({Guarantee.TREE_KILLED}),
    missing=((Guarantee.WRITES_CONFINED, "it confines nothing"),),
)


class Context:
    """One that decides as it is told."""

    def __init__(self, verdict: Verdict, host: FakeHost, grant: Grant, *, review: str = "") -> None:
        self._verdict, self._host, self._grant, self._review = verdict, host, grant, review
        self.judged: list[str] = []

    def judge(
        self, request: Request, changes: Changes | None = None, plan: RunPlan | None = None
    ) -> Decision:
        if plan is None or changes is not None:
            self.judged.append(request.workload.shown)
        if changes is not None:
            return self._review or decided(self._verdict)
        harmless = request.workload.shown == "harmless"
        return decided(Verdict.ALLOW if harmless else self._verdict)

    def grant(self, request: Request, decision: Decision) -> Grant:
        if request.mode is Mode.PREVIEW:
            return replace(self._grant, writes=Writes.LAYER)
        return self._grant

    def plan(self, request: Request, grant: Grant) -> RunPlan:
        return plan(request, grant, self._host)

    def question(
        self, request: Request, decision: Decision, plan: RunPlan, changes: Changes | None
    ) -> Question:
        text = request.workload.shown + (f" with {len(changes.items)}" if changes else "")
        return Question(id="q", digest=text, command=text, risk=Risk.DANGEROUS, safety_level="x")

    def offered(
        self, request: Request, decision: Decision, plan: RunPlan
    ) -> tuple[RunPlan, tuple[str, ...]] | None:
        return None

    def modified(self, request: Request, command: str) -> Request:
        return replace(request, workload=ShellCommand(text=command))

    def events(self, request: Request) -> AuditEvents:
        return AuditEvents(request)


class Start:
    """The start of a run; says when it was waited for."""

    def __init__(self, seen: list[str]) -> None:
        self._seen = seen

    def wait(self) -> None:
        assert self._seen[-1] == "run-starting"


class Notes:
    """A runner that does nothing but write down; answers are given one after the other."""

    def __init__(
        self,
        *answers: object,
        changed: tuple[str, ...] = (),
        status: int = 0,
        fail: BaseException | None = None,
        full: bool = False,
    ) -> None:
        self.seen: list[str] = []
        self._answers = list(answers)
        self._changed, self._status, self._fail, self._full = changed, status, fail, full

    def audit(self, step: AuditStep) -> None:
        self.seen += [event.kind.value for event in step.events]

    def begin(self, step: BeginStep) -> Start:
        if self._full:
            self.seen += [event.kind.value for event in step.events[:-1]] + ["refused"]
            raise RateLimited("too many", retry_after=3.0)
        self.seen += [event.kind.value for event in step.events]
        return Start(self.seen)

    def ask(self, step: AskStep) -> Answer | None:
        self.seen.append(f"ask about {step.question.command}")
        said = self._answers.pop(0) if self._answers else None
        if isinstance(said, str):
            return Answer(question="q", digest=step.question.digest, choice=Choice.MODIFY,
                          modified_command=said)  # fmt: skip
        if isinstance(said, Choice):
            return Answer(question="q", digest=step.question.digest, choice=said)
        return said  # type: ignore[return-value]

    def execute(self, step: ExecuteStep) -> Result:
        step.start.wait()
        self.seen.append(f"execute by {step.plan.engine}")
        if self._fail is not None:
            raise self._fail
        changes = None
        if step.plan.grant.writes is Writes.LAYER:
            items = tuple(Change(path=name, did=Did.CREATED) for name in self._changed)
            changes = Changes(id="c", workspace="/w", items=items)
        end = Exit(outcome=Outcome.EXITED, code=self._status)
        return Result(outcome=Outcome.EXITED, exit=end, changes=changes)

    def apply(self, step: ApplyStep) -> Applied:
        self.seen.append("apply")
        back = (Quarantined(path=".git/config", why="x"),)
        done = (Change(path="a", did=Did.CREATED),)
        return Applied(id=step.id, changes=done, held_back=back)

    def hold(self, step: HoldStep) -> None:
        self.seen.append(f"hold: {step.asks[0]}")

    def discard(self, step: DiscardStep) -> None:
        self.seen.append("discard")


def decided(verdict: Verdict) -> Decision:
    return Decision(
        verdict=verdict, because=("said so",), policy="test",
        assessment=Assessment(text="x", pack="default"),
    )  # fmt: skip


def grant(*require: Guarantee, prefer: tuple[str, ...] = ("landlock", "bubblewrap")) -> Grant:
    return Grant(level="t", workspace="/w", require=frozenset(require), prefer=prefer)


def walk(
    verdict: Verdict,
    runner: Notes,
    mode: Mode = Mode.RUN,
    *,
    writes: Writes = Writes.DIRECT,
    review: Decision | None = None,
    apply: Apply = Apply.ON_END,
) -> Result:
    given = replace(grant(Guarantee.WRITES_CONFINED), writes=writes, apply=apply)
    context = Context(verdict, FakeHost(STRONG, WEAK), given, review=review)
    return drive(path(Request(workload=ShellCommand(text="x"), mode=mode), context), runner)


def test_a_denied_command_never_reaches_an_engine() -> None:
    runner = Notes()
    assert walk(Verdict.DENY, runner).outcome is Outcome.DENIED
    assert runner.seen == ["judged", "refused"]


OTHER = Answer(question="another", digest="x", choice=Choice.APPROVE)
OTHER_COMMAND = Answer(question="q", digest="y", choice=Choice.APPROVE)


@pytest.mark.parametrize("answer", [None, Choice.DENY, OTHER, OTHER_COMMAND, ""])
def test_anything_but_a_yes_to_this_very_question_is_a_no(answer: object) -> None:
    runner = Notes(answer)
    assert walk(Verdict.CONFIRM, runner).outcome is Outcome.DECLINED
    assert runner.seen == ["judged", "asked", "ask about x", "answered", "refused"]


def test_an_approved_command_runs_in_the_first_engine_that_gives_everything() -> None:
    runner = Notes(Choice.APPROVE)
    assert walk(Verdict.CONFIRM, runner).outcome is Outcome.EXITED
    assert runner.seen == [
        "judged", "asked", "ask about x", "answered", "run-starting", "execute by bubblewrap",
        "run-ended",
    ]  # fmt: skip


def test_a_modified_command_is_judged_anew() -> None:
    runner = Notes("worse", "harmless")
    assert walk(Verdict.CONFIRM, runner).outcome is Outcome.EXITED
    assert runner.seen == [
        "judged", "asked", "ask about x", "answered",
        "judged", "asked", "ask about worse", "answered",
        "judged", "run-starting", "execute by bubblewrap", "run-ended",
    ]  # fmt: skip


def test_a_command_cannot_be_modified_for_ever() -> None:
    with pytest.raises(RedomaError, match="too often"):
        walk(Verdict.CONFIRM, Notes(*["again"] * 10))


def test_a_dry_run_in_answer_runs_in_a_layer_and_applies_nothing() -> None:
    runner = Notes(Choice.DRY_RUN, changed=("a",))
    result = walk(Verdict.CONFIRM, runner)
    assert (result.changes is not None, result.applied) == (True, False)
    # Who reads only the status must not believe that it happened.
    assert (result.outcome, result.ok, result.exit_code) == (Outcome.PREVIEWED, False, 126)
    assert "this was a dry run" in result.notes[-1]
    assert runner.seen[-3:] == ["execute by bubblewrap", "run-ended", "previewed"]


def test_a_preview_asks_nobody_and_applies_nothing() -> None:
    runner = Notes(changed=("a",))
    assert not walk(Verdict.CONFIRM, runner, Mode.PREVIEW).applied
    assert runner.seen == [
        "judged",
        "run-starting",
        "execute by bubblewrap",
        "run-ended",
        "previewed",
    ]


def test_a_preview_of_what_is_denied_is_denied() -> None:
    runner = Notes()
    assert walk(Verdict.DENY, runner, Mode.PREVIEW).outcome is Outcome.DENIED
    assert runner.seen == ["judged", "refused"]


def test_a_check_runs_nothing() -> None:
    runner = Notes()
    assert walk(Verdict.ALLOW, runner, Mode.CHECK).outcome is Outcome.CHECKED
    assert runner.seen == ["judged"]


def test_a_run_that_breaks_off_has_an_end_in_the_record() -> None:
    runner = Notes(fail=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        walk(Verdict.ALLOW, runner)
    assert runner.seen == ["judged", "run-starting", "execute by bubblewrap", "run-ended"]


def test_a_run_beyond_the_rate_limit_is_refused_and_written_down() -> None:
    runner = Notes(full=True)
    with pytest.raises(RateLimited):
        walk(Verdict.ALLOW, runner)
    assert runner.seen == ["judged", "refused"]


def test_no_record_no_run() -> None:
    class Unwritable(Notes):
        def begin(self, step: BeginStep) -> Start:
            raise RecordUnavailable("the disk is full")

    runner = Unwritable()
    with pytest.raises(RecordUnavailable):
        walk(Verdict.ALLOW, runner)
    assert runner.seen == []


def test_a_transaction_is_applied_when_the_command_succeeds() -> None:
    runner = Notes(changed=("a", ".git/config"))
    result = walk(Verdict.ALLOW, runner, writes=Writes.LAYER)
    assert (result.applied, [held.path for held in result.held_back]) == (True, [".git/config"])
    assert runner.seen[-4:] == ["apply-starting", "apply", "applied", "violation"]


class Small(Notes):
    """A runner that can keep nothing."""

    def apply(self, step: ApplyStep) -> Applied:
        if step.undo:
            self.seen.append("no room")
            raise NoRoomForUndo("it is too much", hint="redoma apply c --no-undo")
        return replace(super().apply(step), undoable=False)


def test_what_cannot_be_undone_is_asked_before_it_is_applied() -> None:
    runner = Small(Choice.APPROVE, changed=("a",))
    result = walk(Verdict.ALLOW, runner, writes=Writes.LAYER)
    assert (result.applied, result.undoable) == (True, False)
    assert runner.seen[3:] == [
        "run-ended", "apply-starting", "no room", "apply-failed", "asked", "ask about x with 1",
        "answered", "apply-starting", "apply", "applied", "violation",
    ]  # fmt: skip


@pytest.mark.parametrize("answer", [None, Choice.DENY, Choice.DRY_RUN, "another", OTHER])
def test_what_cannot_be_undone_is_held_where_nobody_approves(answer: object) -> None:
    runner = Small(answer, changed=("a",))
    result = walk(Verdict.ALLOW, runner, writes=Writes.LAYER)
    assert (result.applied, result.outcome, result.exit_code) == (False, Outcome.PREVIEWED, 126)
    assert runner.seen[-1] == "answered"
    assert result.notes == (
        "it is too much; nothing was changed",
        "redoma apply c --no-undo",
    )


def test_an_apply_that_is_not_written_down_does_not_begin() -> None:
    class Full(Notes):
        def audit(self, step: AuditStep) -> None:
            if step.events[0].kind is Kind.APPLY_STARTING:
                raise RecordUnavailable("the disk is full")
            super().audit(step)

    runner = Full(changed=("a",))
    with pytest.raises(RecordUnavailable):
        walk(Verdict.ALLOW, runner, writes=Writes.LAYER)
    assert "apply" not in runner.seen


def test_a_transaction_that_changed_nothing_leaves_nothing() -> None:
    runner = Notes()
    assert walk(Verdict.ALLOW, runner, writes=Writes.LAYER).ok
    assert runner.seen[-1] == "run-ended"


def test_a_failed_command_keeps_what_it_wrote_as_a_shell_would() -> None:
    runner = Notes(changed=("a",), status=1)
    result = walk(Verdict.ALLOW, runner, writes=Writes.LAYER)
    assert (result.applied, result.undoable, "apply" in runner.seen) == (True, True, True)


def test_where_only_success_counts_a_failed_command_changes_nothing_and_says_how_to_keep_it() -> (
    None
):
    runner = Notes(changed=("a",), status=1)
    result = walk(Verdict.ALLOW, runner, writes=Writes.LAYER, apply=Apply.ON_SUCCESS)
    assert (result.applied, "apply" in runner.seen) == (False, False)
    assert "redoma apply c" in result.notes[-1]


@pytest.mark.parametrize(
    ("answer", "outcome", "end"),
    [
        (
            Choice.APPROVE,
            Outcome.EXITED,
            ["answered", "apply-starting", "apply", "applied", "violation"],
        ),
        (Choice.DENY, Outcome.DECLINED, ["answered", "discarded", "discard"]),
        (None, Outcome.PREVIEWED, ["answered", "hold: first time"]),
        (Choice.DRY_RUN, Outcome.PREVIEWED, ["answered", "hold: first time"]),
    ],
)
def test_changes_that_a_person_should_see_wait_for_the_answer(
    answer: object, outcome: Outcome, end: list[str]
) -> None:
    runner = Notes(answer, changed=("a", "b"))
    seen = replace(decided(Verdict.ALLOW), preview="first time")
    result = walk(Verdict.ALLOW, runner, writes=Writes.LAYER, review=seen)
    assert result.outcome is outcome
    at = runner.seen.index("ask about x with 2")
    assert runner.seen[at + 1 :] == end


def test_changes_that_the_policy_refuses_are_never_real() -> None:
    runner = Notes(changed=("a", "b"))
    result = walk(Verdict.ALLOW, runner, writes=Writes.LAYER, review=decided(Verdict.DENY))
    assert (result.outcome, result.changes) == (Outcome.DENIED, None)
    assert runner.seen[-3:] == ["refused", "discarded", "discard"]


def test_a_missing_guarantee_is_a_refusal_that_says_why_for_each_engine() -> None:
    request = Request(workload=ShellCommand(text="x"))
    with pytest.raises(NoEngine) as raised:
        plan(request, grant(Guarantee.WRITES_CONFINED, prefer=("landlock",)), FakeHost(WEAK))
    assert raised.value.tried == {"landlock": "it confines nothing"}


def test_a_share_of_the_processor_is_not_claimed_without_a_control_group() -> None:
    wanted = Grant(
        level="t", workspace="/w", limits=Limits(cpu_percent=50),
        require=frozenset({Guarantee.CPU_CAPPED}), prefer=("bubblewrap",),
    )  # fmt: skip
    request = Request(workload=ShellCommand(text="x"))
    with pytest.raises(NoEngine, match="cpu capped"):
        plan(request, wanted, FakeHost(STRONG))
    held = plan(request, wanted, FakeHost(STRONG, controllers=frozenset({"cpu"}))).enforcement.held
    assert Guarantee.CPU_CAPPED in held


def test_what_is_not_limited_is_not_called_capped() -> None:
    request = Request(workload=ShellCommand(text="x"))
    made = plan(request, grant(prefer=("bubblewrap",)), FakeHost(STRONG))
    assert not made.enforcement.held & {Guarantee.MEMORY_CAPPED, Guarantee.DISK_CAPPED}
