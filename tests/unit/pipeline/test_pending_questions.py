"""Who is asked on this machine: remembered approvals, a function, people, and at last nobody."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.model.errors import AskUnavailable
from redoma.model.request import Answer, Choice, Question, Remember
from redoma.pipeline import pending_questions
from tests.unit.ask.asked import question, yes


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state directory of the test's own, in a process whose new files are open to the group."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "redoma").mkdir(mode=0o700)
    before = os.umask(0o002)
    yield tmp_path / "redoma/ask"
    os.umask(before)


def test_by_itself_there_is_nobody() -> None:
    answer = pending_questions.chain_of().ask(question())
    assert (answer.choice, answer.notes) == (Choice.DENY, "nobody could be asked")


def test_a_function_answers_and_its_lasting_approval_is_remembered(state: Path) -> None:
    asked: list[Question] = []

    def confirm(one: Question) -> Answer:
        asked.append(one)
        return yes(one, Remember.EXACT)

    chain = pending_questions.chain_of(confirm=confirm)
    assert [chain.ask(question()).choice for _ in range(3)] == [Choice.APPROVE] * 3
    assert len(asked) == 1
    assert [one.remember for one in pending_questions.remembered().list()] == [Remember.EXACT]
    # Another process finds it too.
    assert pending_questions.chain_of().ask(question()).choice is Choice.APPROVE
    assert {path.name for path in state.iterdir()} == {"approvals", "spent"}
    assert {path.stat().st_mode & 0o777 for path in [state, *state.iterdir()]} == {0o700}


@pytest.mark.parametrize("terminal", [False, True])
def test_someone_elsewhere_answers_where_no_terminal_is(
    terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda _: False)
    asked = question()
    heard: list[Answer] = []
    chain = pending_questions.chain_of(terminal=terminal, elsewhere=True)
    thread = threading.Thread(target=lambda: heard.append(chain.ask(asked)), daemon=True)
    thread.start()
    until = time.monotonic() + 5
    while not pending_questions.pending().list() and time.monotonic() < until:
        time.sleep(0.01)
    waiting, answer = pending_questions.answer_pending(asked.id, Choice.DRY_RUN, by="ana")
    thread.join(5)
    assert waiting.asker_waits
    assert heard == [answer]


def test_an_answer_that_was_heard_is_used_up() -> None:
    asked = question()
    chain = pending_questions.chain_of(confirm=lambda _: True)
    assert chain.ask(asked).choice is Choice.APPROVE
    assert pending_questions.chain_of(confirm=lambda _: True).ask(asked).choice is Choice.DENY


def test_a_place_that_others_can_write_stops_everything(state: Path) -> None:
    state.mkdir(parents=True)
    state.chmod(0o777)
    with pytest.raises(AskUnavailable, match="open to others"):
        pending_questions.chain_of(confirm=lambda _: True)
