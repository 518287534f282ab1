"""A caller's own function answers: only a plain yes, for this command, in time, is a yes."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar

import pytest

from redoma.ask.answerers import Callback
from redoma.model.request import Answer, Choice, Question
from redoma.model.value import replace
from tests.unit.ask.asked import DELETES, FORCE_PUSH, question, said, yes

pytestmark = pytest.mark.requirement("T3")


def fails(_: Question) -> bool:
    raise ValueError("no dialog")


class Truthy:
    """Something that counts as true, and is not."""

    def __bool__(self) -> bool:
        return True


NOT_A_YES: dict[str, Callable[[Question], object]] = {
    "None": lambda _: None,
    "1": lambda _: 1,
    "yes in words": lambda _: "yes",
    "approve in words": lambda _: "approve",
    "something truthy": lambda _: Truthy(),
    "an exception": fails,
    "an approval of another command": lambda _: yes(DELETES),
    "an approval of another digest": lambda q: replace(yes(q), digest="0" * 64),
    "modify without a command": lambda _: Choice.MODIFY,
    "modify with blanks": lambda q: said(q, Choice.MODIFY, modified_command="  "),
    "an answer that holds no choice": lambda q: replace(yes(q), choice="approve"),
    "a lasting no": lambda q: said(q, Choice.DENY, remember="exact"),
}


def heard(function: Callable[[Question], object], to: Question = FORCE_PUSH) -> list[Choice]:
    """What is heard of a function, asked plainly and asked in a loop."""
    asker = Callback(function)  # type: ignore[arg-type]
    return [asker.ask(to).choice, asyncio.run(asker.ask_async(to)).choice]


@pytest.mark.parametrize("case", NOT_A_YES)
def test_what_is_no_plain_yes_is_a_no(case: str) -> None:
    assert heard(NOT_A_YES[case]) == [Choice.DENY] * 2


def test_true_is_a_yes_to_exactly_this_question() -> None:
    answer = Callback(lambda _: True, name="dialog").ask(FORCE_PUSH)
    assert answer.approves(FORCE_PUSH)
    assert not answer.approves(DELETES)
    assert replace(answer, at="") == replace(yes(FORCE_PUSH), approved_by="dialog")


def test_false_and_choices_and_answers_are_heard_as_they_are() -> None:
    changed = said(FORCE_PUSH, Choice.MODIFY, modified_command="git push")
    assert heard(lambda _: False) == [Choice.DENY] * 2
    assert heard(lambda _: Choice.DRY_RUN) == [Choice.DRY_RUN] * 2
    assert heard(lambda _: Choice.APPROVE) == [Choice.APPROVE] * 2
    assert Callback(lambda _: changed).ask(FORCE_PUSH) == changed


def test_an_exception_is_told_to_whoever_reads_the_answer() -> None:
    assert Callback(fails).ask(FORCE_PUSH).notes == "the callback failed: ValueError: no dialog"


def test_an_async_function_answers_callers_with_and_without_a_loop() -> None:
    async def approve(asked: Question) -> bool:
        await asyncio.sleep(0.01)
        return asked == FORCE_PUSH

    async def within_a_loop() -> Answer:
        return Callback(approve).ask(FORCE_PUSH)  # a plain call where a loop runs already

    assert heard(approve) == [Choice.APPROVE] * 2
    assert asyncio.run(within_a_loop()).choice is Choice.APPROVE


def test_an_async_function_runs_in_the_callers_own_loop_where_there_is_one() -> None:
    loops = []

    async def approve(_: Question) -> bool:
        loops.append(asyncio.get_running_loop())
        return True

    async def go() -> asyncio.AbstractEventLoop:
        await Callback(approve).ask_async(FORCE_PUSH)
        return asyncio.get_running_loop()

    assert [asyncio.run(go())] == loops


def test_a_plain_function_runs_in_the_callers_own_thread() -> None:
    threads: list[int] = []
    Callback(lambda _: bool(threads.append(threading.get_ident()))).ask(FORCE_PUSH)
    assert threads == [threading.get_ident()]


def test_an_async_function_sees_the_callers_context() -> None:
    user: ContextVar[str] = ContextVar("user")
    user.set("ana")

    async def approve(_: Question) -> bool:
        return user.get() == "ana"

    assert Callback(approve).ask(FORCE_PUSH).choice is Choice.APPROVE


def test_a_late_yes_is_a_no(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(_: Question) -> bool:
        time.sleep(0.15)
        # The clock on the wall is set back meanwhile, which makes nothing timely.
        monkeypatch.setattr(time, "time", lambda: 0.0)
        return True

    async def later(_: Question) -> bool:
        await asyncio.sleep(30)
        return True

    hurried = question(timeout_seconds=0.1)
    assert heard(late, hurried) == [Choice.DENY] * 2
    started = time.monotonic()
    assert heard(later, hurried) == [Choice.DENY] * 2
    assert time.monotonic() - started < 5


def test_a_coroutine_that_does_not_let_go_holds_up_nobody() -> None:
    async def stubborn(_: Question) -> bool:
        time.sleep(3)  # never looks at whether it was cancelled
        return True

    started = time.monotonic()
    assert Callback(stubborn).ask(question(timeout_seconds=0.1)).choice is Choice.DENY
    assert time.monotonic() - started < 2.5


def test_an_object_with_an_async_call_is_asked_too() -> None:
    class Dialog:
        async def __call__(self, _: Question) -> bool:
            return True

    assert heard(Dialog()) == [Choice.APPROVE] * 2
