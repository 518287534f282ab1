"""A question holds its command as it would run; nothing of it stays when the question is over."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from pathlib import Path

import pytest

from redoma.ask.pending_questions import PendingQuestions
from redoma.cli.run import RUN
from redoma.cli.run_options import sandbox_for
from redoma.model.errors import ConfirmationExpired
from redoma.model.request import Answer, Choice, Question
from redoma.model.value import replace
from tests.unit.ask.asked import question, said, yes

pytestmark = pytest.mark.requirement("K4")
SECRET = "hunter2-5f2c81d09b7e"
COMMAND = f"curl -u me:{SECRET} https://example.com"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "redoma/ask").mkdir(mode=0o700, parents=True)
    return tmp_path / "redoma/ask/questions"


@pytest.fixture
def pending(place: Path) -> PendingQuestions:
    return PendingQuestions(str(place))


def asked_for(seconds: float) -> Question:
    """A question about a command with a secret in it."""
    return question(command=COMMAND, argvs=(tuple(COMMAND.split()),), timeout_seconds=seconds)


def instead(asked: Question) -> Answer:
    """Another command, with the same secret, in the place of the one that was asked about."""
    return replace(said(asked, Choice.MODIFY), modified_command=COMMAND)


def told_in(place: Path) -> list[str]:
    """The files that hold the secret."""
    return [path.name for path in place.iterdir() if SECRET.encode() in path.read_bytes()]


def _asks_and_dies(place: str, asked: Question) -> None:
    PendingQuestions(place).put(asked)
    os._exit(9)


def asked_and_died(place: Path, asked: Question) -> None:
    child = multiprocessing.get_context("spawn").Process(
        target=_asks_and_dies, args=(str(place), asked)
    )
    child.start()
    child.join(30)
    assert told_in(place) == [f"{asked.id}.question"]


def test_an_answer_takes_the_command_off_the_disk(pending: PendingQuestions, place: Path) -> None:
    asked = asked_for(30.0)
    heard: list[Answer | None] = []
    waiter = threading.Thread(target=lambda: heard.append(pending.ask(asked)))
    waiter.start()
    while not pending.list():
        time.sleep(0.01)
    assert told_in(place) == [f"{asked.id}.question"]
    pending.answer(asked.id, instead(asked))
    waiter.join(30)
    assert heard == [instead(asked)]
    assert told_in(place) == []
    with pytest.raises(ConfirmationExpired, match="has its answer"):
        pending.find(asked.id)


def test_silence_takes_the_command_off_the_disk(pending: PendingQuestions, place: Path) -> None:
    assert pending.ask(asked_for(0.1)) is None
    assert told_in(place) == []


@pytest.mark.parametrize("choice", [Choice.APPROVE, Choice.MODIFY])
def test_the_answer_to_a_question_that_nobody_waits_for_takes_it_at_once(
    pending: PendingQuestions, place: Path, choice: Choice
) -> None:
    asked = asked_for(600.0)
    pending.put(asked, waits=False)
    given = yes(asked) if choice is Choice.APPROVE else instead(asked)
    assert pending.answer(asked.id, given).question == asked
    assert told_in(place) == []
    with pytest.raises(ConfirmationExpired):
        pending.answer(asked.id, given)
    with pytest.raises(ConfirmationExpired, match="has its answer"):
        pending.find(asked.id)


def test_whoever_looks_next_removes_what_an_asker_that_died_left_behind(
    pending: PendingQuestions, place: Path
) -> None:
    asked = asked_for(1.0)
    asked_and_died(place, asked)
    time.sleep(1.0)
    assert pending.list() == ()
    assert list(place.iterdir()) == []


def test_an_answer_that_nobody_lived_to_take_is_removed_too(
    pending: PendingQuestions, place: Path
) -> None:
    asked = asked_for(5.0)
    asked_and_died(place, asked)
    pending.answer(asked.id, instead(asked))
    assert len(told_in(place)) == 2
    time.sleep(5.0)
    assert pending.list() == ()
    assert told_in(place) == []


def test_the_next_run_removes_what_a_crash_left_behind(
    pending: PendingQuestions, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    over, open_still = asked_for(0.0), asked_for(600.0)
    pending.put(open_still, waits=False)
    pending.put(over, waits=False)
    assert len(told_in(place)) == 2
    (tmp_path / "work").mkdir()
    sandbox_for(RUN.read(["--workspace", str(tmp_path / "work"), "true"]))
    assert told_in(place) == [f"{open_still.id}.question"]
