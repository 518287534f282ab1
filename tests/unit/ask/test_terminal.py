"""The person at a real terminal: one key decides, silence is a no, and nothing else answers."""

from __future__ import annotations

import asyncio
import os
import termios
import time
from collections.abc import Iterator

import pytest

from redoma.ask.terminal import TerminalAnswerer
from redoma.model.request import Answer, Choice, Remember
from redoma.model.value import replace
from tests.unit.ask.asked import FORCE_PUSH, question, said, yes
from tests.unit.ask.person import DUMB, UTF8, Person, lines_on_screen

PROMPT = " s: "


@pytest.fixture
def person() -> Iterator[Person]:
    made = Person()
    yield made
    made.close()


def without_time(answer: Answer | None) -> Answer | None:
    return None if answer is None else replace(answer, at="")


KEYS = {
    b"a": yes(FORCE_PUSH),
    b"d": said(FORCE_PUSH, Choice.DENY),
    b"p": said(FORCE_PUSH, Choice.DRY_RUN),
    b"s": yes(FORCE_PUSH, Remember.SESSION),
    b"e": yes(FORCE_PUSH, Remember.EXACT),
    b"x": yes(FORCE_PUSH, Remember.PREFIX),
    b"\x03": said(FORCE_PUSH, Choice.DENY, notes="interrupted"),
    b"\x04": said(FORCE_PUSH, Choice.DENY, notes="interrupted"),
    b"\x1b": said(FORCE_PUSH, Choice.DENY, notes="interrupted"),
}


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_one_key_is_the_whole_answer(person: Person, key: bytes) -> None:
    person.answering(FORCE_PUSH)
    person.sees(PROMPT)
    person.presses(key)
    assert without_time(person.answered()) == KEYS[key]


@pytest.mark.parametrize("line", [b"a", b"d", b"p", b"s", b"e", b"x", b"approve", b"deny"])
def test_a_dumb_terminal_answers_by_lines(person: Person, line: bytes) -> None:
    person.answering(FORCE_PUSH, DUMB)
    person.sees(PROMPT)
    person.presses(line + b"\n")
    assert without_time(person.answered()) == KEYS[line[:1]]
    assert b"\x1b" not in person.shown


@pytest.mark.parametrize("environ", [UTF8, DUMB], ids=["keys", "lines"])
def test_what_was_typed_before_the_card_does_not_answer_it(environ: dict[str, str]) -> None:
    for _ in range(5):
        person = Person()
        person.presses(b"a\na\n")
        person.answering(question(timeout_seconds=1.5), environ)
        person.sees("redoma: may this run?")
        in_time = PROMPT.encode() not in person.shown
        person.presses(b"a\n")  # while the card appears: meant for what was there before
        answer = person.answered()
        person.close()
        assert answer is not None
        if in_time or answer.choice is Choice.DENY:
            break
        # A busy machine woke us only after the card had settled: that key was an answer.
    assert (answer.choice, answer.notes) == (Choice.DENY, "no answer in time")


def test_arrow_keys_and_pasted_text_answer_nothing(person: Person) -> None:
    person.answering(question(timeout_seconds=2.0))
    person.sees(PROMPT)
    for typed in (
        b"\x1b[A",
        b"\x1b[D",
        b"\x1bOa",
        b"approve",
        b"aa",
        b"\xc3\xa1",
        b"A",
        b"\r",
        b" ",
    ):
        person.presses(typed)
        time.sleep(0.02)
    answer = person.answered()
    assert answer is not None
    assert (answer.choice, answer.notes) == (Choice.DENY, "no answer in time")


@pytest.mark.parametrize("environ", [UTF8, DUMB], ids=["keys", "lines"])
def test_silence_is_a_no_however_the_clock_is_set(
    person: Person, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 0.0)
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    started = time.monotonic()
    person.answering(question(timeout_seconds=1.0), environ)
    answer = person.answered()
    assert answer is not None
    assert (answer.choice, answer.approved_by) == (Choice.DENY, "nobody")
    assert 0.9 < time.monotonic() - started < 3
    assert b"no answer: deny" in person.shown


def test_silence_can_be_a_dry_run_and_never_a_yes(person: Person) -> None:
    person.answering(question(timeout_seconds=0.3, default_action=Choice.APPROVE))
    answer = person.answered()
    assert answer is not None
    assert answer.choice is Choice.DENY
    again = Person()
    again.answering(question(timeout_seconds=0.3, default_action=Choice.DRY_RUN))
    answer = again.answered()
    assert answer is not None
    assert answer.choice is Choice.DRY_RUN
    again.close()


def test_the_seconds_are_counted_down(person: Person) -> None:
    person.answering(question(timeout_seconds=3.0))
    person.sees("deny in 2 s: ")
    person.sees("deny in 1 s: ")
    assert person.answered() is not None


def test_a_key_that_is_not_offered_says_nothing(person: Person) -> None:
    person.answering(question(argvs=(), timeout_seconds=1.5))
    person.sees("[a d p m ?]")
    for key in (b"s", b"e", b"x"):
        person.presses(key)
        time.sleep(0.05)
    answer = person.answered()
    assert answer is not None
    assert answer.choice is Choice.DENY


def test_the_command_can_be_changed_in_place(person: Person) -> None:
    person.answering(FORCE_PUSH)
    person.sees(PROMPT)
    person.presses(b"m")
    person.sees("run:  git push --force origin main")
    for key in (b"\x1b[D",) * len("n") + (b"\x1b[D",) * 3 + (b"\x0b", b"topic", b"\r"):
        person.presses(key)
        time.sleep(0.02)
    assert without_time(person.answered()) == said(
        FORCE_PUSH, Choice.MODIFY, modified_command="git push --force origin topic"
    )


def test_going_back_from_a_change_leaves_the_question_open(person: Person) -> None:
    person.answering(FORCE_PUSH)
    person.sees(PROMPT)
    person.presses(b"m")
    person.sees("run:  git push")
    person.presses(b"\x1b")
    person.sees(PROMPT)
    person.presses(b"m")
    person.sees("Esc goes back")
    person.presses(b"\r")
    person.sees("nothing was changed")
    person.sees(PROMPT)
    person.presses(b"a")
    assert without_time(person.answered()) == yes(FORCE_PUSH)


def test_a_dumb_terminal_takes_another_command_as_a_line(person: Person) -> None:
    person.answering(FORCE_PUSH, DUMB)
    person.sees(PROMPT)
    person.presses(b"m\n")
    person.sees("run: ")
    person.presses(b"git push origin topic\n")
    assert without_time(person.answered()) == said(
        FORCE_PUSH, Choice.MODIFY, modified_command="git push origin topic"
    )


def test_a_secret_is_neither_shown_nor_put_into_the_line_to_change(person: Person) -> None:
    asked = question(command="curl -u me:hunter22 https://x.example", spans=((8, 19),))
    person.answering(asked, redact=lambda text: text.replace("hunter22", "[REDACTED]"))
    person.sees("curl -u ")
    person.sees("me:[REDACTED]")
    person.sees(PROMPT)
    person.presses(b"m")
    person.sees("write it anew")
    person.presses(b"\x1b")
    person.sees(PROMPT)
    person.presses(b"d")
    assert person.answered() is not None
    assert b"hunter22" not in person.shown


def test_a_redactor_that_fails_hides_everything_it_was_given(person: Person) -> None:
    def fails(_: str) -> str:
        raise ValueError("broken")

    person.answering(FORCE_PUSH, redact=fails)
    person.sees("[REDACTED: could not be read]")
    person.sees(PROMPT)
    person.presses(b"d")
    person.answered()
    assert b"origin" not in person.shown


def test_a_card_is_drawn_anew_when_the_window_changes_its_size(person: Person) -> None:
    person.answering(FORCE_PUSH)
    person.sees(PROMPT)
    before = len(person.shown)
    person.resize(40)
    person.sees("may this run?")
    person.sees(PROMPT)
    person.presses(b"d")
    assert person.answered() is not None
    rows = lines_on_screen(person.shown[before:])
    assert max(map(len, rows[1:])) <= 39
    assert "redoma: may this run?  DANGEROUS" in rows


def test_help_explains_the_keys_and_asks_again(person: Person) -> None:
    person.answering(FORCE_PUSH)
    person.sees(PROMPT)
    person.presses(b"?")
    person.sees("redoma approvals lists what you approved")
    person.sees(PROMPT)
    person.presses(b"d")
    answer = person.answered()
    assert answer is not None
    assert answer.choice is Choice.DENY


def test_the_terminal_is_as_it_was_before(person: Person) -> None:
    before = termios.tcgetattr(person.theirs)
    person.answering(FORCE_PUSH)
    person.sees(PROMPT)
    assert termios.tcgetattr(person.theirs) != before
    person.presses(b"a")
    person.answered()
    assert termios.tcgetattr(person.theirs) == before


def test_what_is_no_terminal_is_nobody() -> None:
    reads, writes = os.pipe()
    try:
        assert TerminalAnswerer(ends=(reads, writes)).ask(FORCE_PUSH) is None
    finally:
        os.close(reads)
        os.close(writes)


def test_a_terminal_that_closes_says_no() -> None:
    person = Person()
    person.answering(FORCE_PUSH)
    person.sees(PROMPT)
    os.close(person.ours)
    person.ours = os.open(os.devnull, os.O_RDONLY)
    answer = person.answered()
    assert answer is not None
    assert answer.choice is Choice.DENY
    person.close()


def test_settled_elsewhere_takes_the_card_back(person: Person) -> None:
    settled: list[bool] = []
    person.answering(FORCE_PUSH, stop=lambda: bool(settled))
    person.sees(PROMPT)
    settled.append(True)
    assert person.answered() is None
    assert b"settled elsewhere" in person.shown


def test_cancelling_the_task_that_waits_takes_the_card_back(person: Person) -> None:
    here = TerminalAnswerer(ends=(person.theirs, person.theirs), environ=UTF8)

    async def go() -> None:
        task = asyncio.create_task(here.ask_async(FORCE_PUSH))
        await asyncio.sleep(0.2)
        task.cancel()
        await asyncio.wait([task])

    before = termios.tcgetattr(person.theirs)
    asyncio.run(go())  # waits for the thread: had the card stayed, this would take its 30 s
    assert termios.tcgetattr(person.theirs) == before
