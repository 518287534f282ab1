"""Everyone who can be asked, in order: one answer, for this command, in time, used once."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

from redoma.ask.answerers import AnswererChain, Callback, Nobody
from redoma.ask.answers import Spent
from redoma.ask.approvals import RememberedApprovals
from redoma.ask.pending_questions import PendingQuestions
from redoma.model.errors import AskUnavailable
from redoma.model.request import Answer, Choice, Question, Remember
from redoma.model.value import replace
from tests.unit.ask.asked import DELETES, FORCE_PUSH, question, said, yes


class Says:
    """Someone who always says the same, and counts how often they were asked."""

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.asked: list[Question] = []

    def ask(self, asked: Question) -> Answer | None:
        self.asked.append(asked)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[return-value]


def choices(chain: AnswererChain, asked: Question) -> list[Choice]:
    """What the chain says, plainly and awaited."""
    return [chain.ask(asked).choice, asyncio.run(chain.ask_async(asked)).choice]


def test_the_first_who_is_there_is_heard_and_nobody_after() -> None:
    absent, here, after = Says(None), Says(said(FORCE_PUSH, Choice.DRY_RUN)), Says(yes(FORCE_PUSH))
    assert choices(AnswererChain([absent, here, after]), FORCE_PUSH) == [Choice.DRY_RUN] * 2
    assert (len(absent.asked), len(here.asked), len(after.asked)) == (2, 2, 0)


def test_with_nobody_to_ask_it_is_a_no() -> None:
    answer = AnswererChain().ask(FORCE_PUSH)
    assert replace(answer, at="") == said(
        FORCE_PUSH, Choice.DENY, approved_by="nobody", notes="nobody could be asked"
    )
    assert Nobody().ask(question(default_action=Choice.APPROVE)).choice is Choice.DENY
    assert Nobody().ask(question(default_action=Choice.MODIFY)).choice is Choice.DENY
    assert Nobody().ask(question(default_action=Choice.DRY_RUN)).choice is Choice.DRY_RUN


NOT_HEARD: dict[str, object] = {
    "an approval of another question": yes(DELETES),
    "an approval of another digest": replace(yes(FORCE_PUSH), digest="0" * 64),
    "no answer but a word": "approve",
    "no answer but true": True,
    "an error": ValueError("broken"),
}


@pytest.mark.parametrize("case", NOT_HEARD)
def test_what_is_no_answer_to_this_is_a_no_and_nobody_else_is_asked(case: str) -> None:
    after = Says(yes(FORCE_PUSH))
    assert choices(AnswererChain([Says(NOT_HEARD[case]), after]), FORCE_PUSH) == [Choice.DENY] * 2
    assert after.asked == []


def test_all_together_take_no_longer_than_the_question_allows() -> None:
    class Slow:
        def ask(self, asked: Question) -> Answer | None:
            time.sleep(min(asked.timeout_seconds, 5) + 0.01)
            return None

    after = Says(yes(FORCE_PUSH))
    started = time.monotonic()
    hurried = replace(FORCE_PUSH, timeout_seconds=0.2)
    answer = AnswererChain([Slow(), after]).ask(hurried)
    assert (answer.choice, answer.notes) == (Choice.DENY, "no answer in time")
    assert after.asked == []
    assert time.monotonic() - started < 1


def test_an_approval_that_comes_too_late_is_a_no() -> None:
    class Late:
        def ask(self, asked: Question) -> Answer | None:
            time.sleep(0.8)
            return yes(asked)

    answer = AnswererChain([Late()]).ask(replace(FORCE_PUSH, timeout_seconds=0.1))
    assert (answer.choice, answer.notes) == (Choice.DENY, "the answer came too late")


def test_an_approval_is_good_for_one_run(tmp_path: Path) -> None:
    chain = AnswererChain([Says(yes(FORCE_PUSH))], spent=Spent(str(tmp_path / "spent")))
    assert chain.ask(FORCE_PUSH).choice is Choice.APPROVE
    again = chain.ask(FORCE_PUSH)
    assert (again.choice, again.notes) == (Choice.DENY, "this approval is used up")
    assert not Spent(str(tmp_path / "spent")).spend(FORCE_PUSH.id)


def test_of_many_who_spend_one_approval_at_once_one_may_run(tmp_path: Path) -> None:
    spent = Spent(str(tmp_path / "spent"))
    told: list[bool] = []
    threads = [
        threading.Thread(target=lambda: told.append(spent.spend("../x\n"))) for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == [False] * 15 + [True]
    assert [path.name for path in tmp_path.iterdir()] == ["spent"]


def test_where_it_cannot_be_noted_that_an_approval_is_used_nothing_runs(tmp_path: Path) -> None:
    place = tmp_path / "spent"
    place.mkdir(mode=0o755)
    place.chmod(0o777)
    answer = AnswererChain([Says(yes(FORCE_PUSH))], spent=Spent(str(place))).ask(FORCE_PUSH)
    assert answer.choice is Choice.DENY
    assert AskUnavailable.__name__ in answer.notes


def test_an_approval_for_longer_is_remembered_and_then_nobody_is_asked(tmp_path: Path) -> None:
    here = Says(yes(FORCE_PUSH, Remember.EXACT))
    remembered = RememberedApprovals(str(tmp_path / "approvals"))
    chain = AnswererChain([here], remembered=remembered, spent=Spent(str(tmp_path / "spent")))
    assert chain.ask(FORCE_PUSH).choice is Choice.APPROVE
    again = question()
    answer = chain.ask(again)
    assert answer.approves(again)
    assert answer.notes == f"remembered: exact {remembered.list()[0].id}"
    assert len(here.asked) == 1


def test_what_cannot_be_remembered_is_approved_for_this_run_alone(tmp_path: Path) -> None:
    asked = question(argvs=())
    remembered = RememberedApprovals(str(tmp_path / "approvals"))
    for chain in (
        AnswererChain([Says(yes(asked, Remember.EXACT))], remembered=remembered),
        AnswererChain([Says(yes(asked, Remember.EXACT))]),
    ):
        answer = chain.ask(asked)
        assert (answer.choice, answer.remember) == (Choice.APPROVE, Remember.ONCE)
        assert "not remembered" in answer.notes
    assert remembered.list() == ()


def test_approvals_that_cannot_be_read_approve_nothing_and_a_person_still_can(
    tmp_path: Path,
) -> None:
    remembered = RememberedApprovals(str(tmp_path / "approvals"))
    remembered.keep(FORCE_PUSH, yes(FORCE_PUSH, Remember.EXACT))
    (tmp_path / "approvals/approvals.json").write_text("{")
    asked = question()
    assert AnswererChain(remembered=remembered).ask(asked).choice is Choice.DENY
    assert (
        AnswererChain([Says(yes(asked))], remembered=remembered).ask(asked).choice is Choice.APPROVE
    )


def test_cancelling_closes_a_question_that_waits_elsewhere(tmp_path: Path) -> None:
    pending = PendingQuestions(str(tmp_path / "questions"))
    asked = question()

    async def go() -> None:
        task = asyncio.create_task(AnswererChain([pending]).ask_async(asked))
        await asyncio.sleep(0.1)
        assert len(pending.list()) == 1
        task.cancel()
        await asyncio.wait([task])

    started = time.monotonic()
    asyncio.run(go())
    assert time.monotonic() - started < 3
    assert pending.list() == ()


def test_a_callback_is_awaited_in_the_callers_loop() -> None:
    async def approve(_: Question) -> bool:
        return True

    assert choices(AnswererChain([Callback(approve)]), FORCE_PUSH) == [Choice.APPROVE] * 2
