"""Questions that wait in a directory: answered from elsewhere, once, by the first who does."""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from redoma.ask import answers
from redoma.ask.answerers import Together
from redoma.ask.pending_questions import PendingQuestions
from redoma.ask.terminal import TerminalAnswerer
from redoma.model.errors import AskUnavailable, ConfirmationExpired, UsageError
from redoma.model.request import Answer, Choice, Question
from redoma.model.value import replace
from tests.unit.ask.asked import question, said, yes
from tests.unit.ask.person import UTF8, Person

pytestmark = pytest.mark.requirement("K4")
_spawn = multiprocessing.get_context("spawn")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "questions"


@pytest.fixture
def pending(place: Path) -> PendingQuestions:
    return PendingQuestions(str(place))


def asking(
    pending: PendingQuestions, asked: Question
) -> tuple[threading.Thread, list[Answer | None]]:
    """Somebody who waits for the answer."""
    heard: list[Answer | None] = []
    thread = threading.Thread(target=lambda: heard.append(pending.ask(asked)), daemon=True)
    thread.start()
    until = time.monotonic() + 5
    while not pending.list():
        assert time.monotonic() < until
        time.sleep(0.01)
    return thread, heard


def test_an_answer_from_elsewhere_reaches_whoever_waits(
    pending: PendingQuestions, place: Path
) -> None:
    asked = question()
    thread, heard = asking(pending, asked)
    assert [(one.question, one.asker_waits) for one in pending.list()] == [(asked, True)]
    PendingQuestions(str(place)).answer(asked.id, yes(asked))
    thread.join(5)
    assert heard == [yes(asked)]
    assert pending.list() == ()


def test_a_question_comes_back_as_it_was_put_whatever_it_holds(pending: PendingQuestions) -> None:
    command = "ls \x1b[2J\udc80\u202e\n" + "x" * 1_000_000
    asked = question(command=command, spans=((0, 2), (3, 9)))
    pending.put(asked)
    assert [one.question for one in pending.list()] == [asked]


def test_silence_ends_the_question_for_everyone(pending: PendingQuestions) -> None:
    asked = question(timeout_seconds=0.2)
    assert pending.ask(asked) is None
    with pytest.raises(ConfirmationExpired, match="it is over, or never was"):
        pending.answer(asked.id, yes(asked))


def test_a_clock_that_is_set_back_prolongs_nothing(
    pending: PendingQuestions, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = question(timeout_seconds=0.3)
    pending.put(asked)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    time.sleep(0.35)
    assert pending.list() == ()
    with pytest.raises(ConfirmationExpired):
        pending.answer(asked.id, yes(asked))


def test_a_question_of_another_start_of_the_machine_is_over(
    pending: PendingQuestions, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = question(timeout_seconds=1000.0)
    pending.put(asked)
    monkeypatch.setattr(answers, "_boots", ["another"])
    assert pending.list() == ()


@pytest.mark.parametrize(
    "change",
    [{"digest": "0" * 64}, {"question": "7c9e6679-7425-40de-944b-e07fc1f90ae7"}],
    ids=["another command", "another question"],
)
def test_an_answer_to_something_else_is_refused_and_the_question_stays_open(
    pending: PendingQuestions, change: dict[str, str]
) -> None:
    asked = question()
    pending.put(asked)
    with pytest.raises(ConfirmationExpired):
        pending.answer(asked.id, replace(yes(asked), **change))
    assert len(pending.list()) == 1
    pending.answer(asked.id, said(asked, Choice.DENY))


def test_the_second_answer_is_refused(pending: PendingQuestions) -> None:
    asked = question()
    pending.put(asked)
    pending.answer(asked.id, said(asked, Choice.DENY))
    with pytest.raises(ConfirmationExpired, match="somebody was faster"):
        pending.answer(asked.id, yes(asked))
    assert pending.close(asked.id) == said(asked, Choice.DENY)


def _answers(place: str, given: Answer, start: Barrier, won: object) -> None:
    start.wait()
    try:
        PendingQuestions(place).answer(given.question, given)
    except ConfirmationExpired:
        return
    won.put(given.choice.value)  # type: ignore[attr-defined]


def _takes(place: str, id: str, start: Barrier, won: object) -> None:
    start.wait()
    answer = PendingQuestions(place).close(id)
    won.put(answer.choice.value if answer else "")  # type: ignore[attr-defined]


def test_of_two_processes_that_answer_at_once_exactly_one_is_heard(
    pending: PendingQuestions, place: Path
) -> None:
    for _ in range(5):
        asked = question()
        pending.put(asked)
        start, won = _spawn.Barrier(2), _spawn.Queue()
        choices = (Choice.APPROVE, Choice.DENY)
        racers = [
            _spawn.Process(target=_answers, args=(str(place), said(asked, one), start, won))
            for one in choices
        ]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join(30)
        heard = won.get(timeout=5)
        assert won.empty()
        answer = pending.close(asked.id)
        assert answer is not None
        assert answer.choice.value == heard


def test_of_two_processes_that_take_one_approval_exactly_one_has_it(
    pending: PendingQuestions, place: Path
) -> None:
    asked = question()
    pending.put(asked)
    pending.answer(asked.id, yes(asked))
    start, won = _spawn.Barrier(2), _spawn.Queue()
    racers = [
        _spawn.Process(target=_takes, args=(str(place), asked.id, start, won)) for _ in range(2)
    ]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(30)
    assert sorted(won.get(timeout=5) for _ in racers) == ["", "approve"]


def test_an_answer_and_the_end_of_the_waiting_race_safely(pending: PendingQuestions) -> None:
    for _ in range(30):
        asked = question()
        pending.put(asked)
        told: list[bool] = []

        def answer(to: Question = asked, told: list[bool] = told) -> None:
            try:
                pending.answer(to.id, yes(to))
                told.append(True)
            except ConfirmationExpired:
                told.append(False)

        thread = threading.Thread(target=answer)
        thread.start()
        heard = pending.close(asked.id)
        thread.join()
        # Whoever was told that the answer counts is right, and so is whoever was told it does not.
        assert (heard is not None) == told[0]


def _asks_and_dies(place: str, asked: Question) -> None:
    PendingQuestions(place).put(asked)
    os._exit(9)


def test_a_question_outlives_its_asker_and_says_that_nobody_waits(
    pending: PendingQuestions, place: Path
) -> None:
    asked = question()
    child = _spawn.Process(target=_asks_and_dies, args=(str(place), asked))
    child.start()
    child.join(30)
    assert [(one.question, one.asker_waits) for one in pending.list()] == [(asked, False)]
    assert pending.answer(asked.id, yes(asked)).asker_waits is False


def test_what_is_over_is_swept_away(pending: PendingQuestions, place: Path) -> None:
    pending.put(question(timeout_seconds=0.0), waits=False)
    left = place / "11111111-aaaa.answer"
    left.write_text("{}")
    os.utime(left, (0, 0))
    asked = question()
    pending.put(asked)
    assert [path.name for path in place.iterdir()] == [f"{asked.id}.question"]


def test_everything_is_the_owners_alone(pending: PendingQuestions, place: Path) -> None:
    asked = question()
    pending.put(asked)
    pending.answer(asked.id, yes(asked))
    modes = {path.name: path.stat().st_mode & 0o777 for path in [place, *place.iterdir()]}
    assert set(modes.values()) == {0o700, 0o600}
    assert len(modes) == 3


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o777])
def test_a_directory_that_others_can_enter_is_not_trusted(place: Path, mode: int) -> None:
    place.mkdir()
    place.chmod(mode)
    with pytest.raises(AskUnavailable, match="is open to others") as caught:
        PendingQuestions(str(place)).list()
    assert caught.value.hint == f"chmod 700 {place}"


def test_a_directory_that_is_a_link_is_not_trusted(place: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir(mode=0o700)
    place.symlink_to(tmp_path / "other")
    with pytest.raises(AskUnavailable, match="not a directory of yours"):
        PendingQuestions(str(place)).list()


@pytest.mark.root
def test_what_belongs_to_another_user_is_not_trusted(
    pending: PendingQuestions, place: Path
) -> None:
    asked = question()
    pending.put(asked)
    kept = place / f"{asked.id}.question"
    os.chown(kept, 65534, 65534)
    assert pending.list() == ()
    with pytest.raises(AskUnavailable, match="not a file of yours"):
        pending.answer(asked.id, yes(asked))
    os.chown(place, 65534, 65534)
    with pytest.raises(AskUnavailable, match="not a directory of yours"):
        pending.list()


def test_a_file_that_others_can_write_or_that_is_a_link_is_not_trusted(
    pending: PendingQuestions, place: Path, tmp_path: Path
) -> None:
    asked = question()
    pending.put(asked)
    kept = place / f"{asked.id}.question"
    kept.chmod(0o666)
    with pytest.raises(AskUnavailable, match="open to others"):
        pending.answer(asked.id, yes(asked))
    kept.rename(tmp_path / "moved")
    kept.symlink_to(tmp_path / "moved")
    with pytest.raises(AskUnavailable, match="cannot read"):
        pending.answer(asked.id, yes(asked))


DAMAGE = {
    "no JSON": "{",
    "no object": "[]",
    "no question": "{}",
    "a field of another kind": None,
    "deep": "[" * 200_000,
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_question_is_an_error_and_never_an_approval(
    pending: PendingQuestions, place: Path, case: str
) -> None:
    asked = question()
    pending.put(asked)
    kept = place / f"{asked.id}.question"
    if DAMAGE[case] is None:
        content = json.loads(kept.read_text())
        content["question"]["risk"] = "safe"
        kept.write_text(json.dumps(content))
    else:
        kept.write_text(str(DAMAGE[case]))
    assert pending.list() == ()
    with pytest.raises((AskUnavailable, ConfirmationExpired)):
        pending.answer(asked.id, yes(asked))


def test_a_damaged_answer_is_no_answer(pending: PendingQuestions, place: Path) -> None:
    asked = question()
    pending.put(asked)
    answer = place / f"{asked.id}.answer"
    answer.write_text(json.dumps({"question": asked.id, "choice": "approve", "digest": 1}))
    answer.chmod(0o600)
    with pytest.raises(AskUnavailable):
        pending.close(asked.id)


@pytest.mark.parametrize("id", ["../../etc/passwd", "a/b", "", ".", "x" * 65, "A B", "id\n"])
def test_an_id_is_a_name_and_no_path(pending: PendingQuestions, id: str) -> None:
    with pytest.raises((UsageError, ConfirmationExpired)):
        pending.answer(id, yes(question()))
    with pytest.raises((UsageError, ConfirmationExpired)):
        pending.find(id)


def test_the_beginning_of_an_id_is_enough_where_it_is_the_only_one(
    pending: PendingQuestions,
) -> None:
    one, other = question(id="aaaa-1111"), question(id="aaaa-2222")
    pending.put(one)
    pending.put(other)
    assert pending.find("aaaa-1").question == one
    with pytest.raises(UsageError, match="can be 2 questions"):
        pending.find("aaaa")
    with pytest.raises(ConfirmationExpired, match="no question bbbb is waiting"):
        pending.find("bbbb")


def test_here_and_elsewhere_are_asked_at_once_and_the_first_counts(
    pending: PendingQuestions,
) -> None:
    for from_here in (True, False):
        person = Person()
        here = TerminalAnswerer(ends=(person.theirs, person.theirs), environ=UTF8)
        asked = question()
        heard: list[Answer | None] = []
        both = Together(here, pending)
        thread = threading.Thread(
            target=lambda a=asked, b=both, h=heard: h.append(b.ask(a)), daemon=True
        )
        thread.start()
        person.sees(" s: ")
        if from_here:
            person.presses(b"a")
        else:
            pending.answer(asked.id, said(asked, Choice.DENY))
        thread.join(5)
        assert [answer and answer.choice for answer in heard] == [
            Choice.APPROVE if from_here else Choice.DENY
        ]
        assert pending.list() == ()
        person.close()


def test_without_a_terminal_the_answer_comes_from_elsewhere(pending: PendingQuestions) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    both = Together(TerminalAnswerer(ends=(nowhere, nowhere)), pending)
    asked = question()
    heard: list[Answer | None] = []
    thread = threading.Thread(target=lambda: heard.append(both.ask(asked)), daemon=True)
    thread.start()
    while not pending.list():
        time.sleep(0.01)
    pending.answer(asked.id, yes(asked))
    thread.join(5)
    os.close(nowhere)
    assert heard == [yes(asked)]


def test_where_nobody_else_can_be_told_the_person_here_is_asked(place: Path) -> None:
    place.mkdir()
    place.chmod(0o777)
    person = Person()
    here = TerminalAnswerer(ends=(person.theirs, person.theirs), environ=UTF8)
    asked = question()
    heard: list[Answer | None] = []
    both = Together(here, PendingQuestions(str(place)))
    thread = threading.Thread(target=lambda: heard.append(both.ask(asked)), daemon=True)
    thread.start()
    person.sees(" s: ")
    person.presses(b"p")
    thread.join(5)
    assert [answer and answer.choice for answer in heard] == [Choice.DRY_RUN]
    person.close()


@pytest.mark.not_root
@pytest.mark.both_users
def test_a_place_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(AskUnavailable, match="cannot keep questions"):
        PendingQuestions(str(tmp_path / "questions")).put(question())
    tmp_path.chmod(0o700)


def test_waiting_costs_next_to_nothing(pending: PendingQuestions) -> None:
    before = time.process_time()
    pending.ask(question(timeout_seconds=1.0))
    assert time.process_time() - before < 0.1
