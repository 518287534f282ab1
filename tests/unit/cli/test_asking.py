"""Questions answered and approvals taken back from another terminal than the one that asks."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from redoma.ask.approvals import RememberedApprovals
from redoma.ask.pending_questions import PendingQuestions
from redoma.model.confirmation import confirmation_request
from redoma.model.request import Answer, Choice, Question, Remember
from tests.unit.ask.asked import question, yes
from tests.unit.cli.running import START, Done, run


class Desk:
    """One user's questions and approvals, and the tool that they type into."""

    def __init__(self, home: Path) -> None:
        self.home = home
        kept = home / "redoma/ask"
        kept.mkdir(parents=True, mode=0o700)
        (home / "redoma").chmod(0o700)
        self.pending = PendingQuestions(str(kept / "questions"))
        self.remembered = RememberedApprovals(str(kept / "approvals"))
        self.heard: list[Answer | None] = []

    def redoma(self, *arguments: str) -> Done:
        return run(*arguments, XDG_STATE_HOME=str(self.home))

    def asks(self, asked: Question) -> threading.Thread:
        """Somebody asks, and waits."""
        thread = threading.Thread(
            target=lambda: self.heard.append(self.pending.ask(asked)), daemon=True
        )
        thread.start()
        until = time.monotonic() + 5
        while not self.pending.list() and time.monotonic() < until:
            time.sleep(0.01)
        return thread


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "state")


def test_what_waits_is_listed_for_people(desk: Desk) -> None:
    asked = question()
    desk.pending.put(asked)
    done = desk.redoma("pending")
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].startswith(f"{asked.id}  dangerous  ")
    assert lines[0].endswith(" s left")
    assert " | git push --force origin main" in lines
    assert "   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^" in lines


def test_what_waits_is_listed_for_programs(desk: Desk) -> None:
    asked = question()
    desk.pending.put(asked)
    (one,) = json.loads(desk.redoma("pending", "--json").out)["pending"]
    assert 0 < one.pop("seconds_left") <= 30
    assert one == {
        "confirmation_request": confirmation_request(asked),
        "asker_waits": True,
        "because": list(asked.because),
        "suggested_alternative": asked.alternative,
        "workspace": "/srv/project",
        "session": "s1",
        "policy": "default: confirm_dangerous",
        "can_remember": ["once", "session", "exact", "prefix"],
    }


def test_nothing_that_waits_is_said_in_prose(desk: Desk) -> None:
    done = desk.redoma("pending")
    assert (done.status, done.out, done.err) == (0, "", "no question is waiting\n")


def test_secrets_and_orders_in_a_question_are_not_shown(desk: Desk) -> None:
    secret = "ghp_" + "a1B2" * 9
    text = f"curl -H 'Authorization: Bearer {secret}' \x1b[2J\u202e https://x.example"
    desk.pending.put(question(command=text, spans=((0, 4),), because=(text,)))
    for done in (desk.redoma("pending"), desk.redoma("pending", "--json")):
        assert secret not in done.out
        assert "[REDACTED]" in done.out
        assert "\x1b" not in done.out
        assert "\u202e" not in done.out


def test_an_answer_reaches_whoever_waits(desk: Desk) -> None:
    asked = question()
    thread = desk.asks(asked)
    done = desk.redoma("answer", asked.id[:8], "approve", "--notes", "agreed")
    assert (done.status, done.out, done.err) == (0, f"{asked.id}  approve\n", "")
    thread.join(5)
    (answer,) = desk.heard
    assert answer is not None
    assert answer.approves(asked)
    assert answer.notes == "agreed"
    assert answer.approved_by
    # Whoever waited has it: nothing is left for another run.
    assert desk.remembered.list() == ()


def test_a_changed_command_is_brought_back(desk: Desk) -> None:
    asked = question()
    thread = desk.asks(asked)
    done = desk.redoma("answer", asked.id, "modify", "--command", "git push", "--json")
    thread.join(5)
    (answer,) = desk.heard
    assert answer is not None
    assert (answer.choice, answer.modified_command) == (Choice.MODIFY, "git push")
    assert json.loads(done.out) == {
        "request_id": asked.id,
        "decision": "modify",
        "approved_by": answer.approved_by,
        "timestamp": answer.at,
        "modified_command": "git push",
        "notes": "",
    }


def test_the_second_answer_is_refused_with_the_status_of_a_refusal(desk: Desk) -> None:
    asked = question()
    desk.pending.put(asked)
    assert desk.redoma("answer", asked.id, "deny").status == 0
    late = desk.redoma("answer", asked.id, "approve")
    assert (late.status, late.out) == (126, "")
    assert late.err == f"redoma: the question {asked.id} has its answer\nhint: redoma pending\n"


def test_an_approval_whose_asker_has_gone_waits_for_one_run(desk: Desk) -> None:
    asked = question()
    desk.pending.put(asked, waits=False)
    done = desk.redoma("answer", asked.id, "approve")
    assert done.status == 0
    assert done.err.startswith("its asker has gone")
    again = question()
    assert desk.remembered.ask(again) is not None
    assert desk.remembered.ask(again) is None


def test_an_approval_for_longer_is_kept_and_listed_and_taken_back(desk: Desk) -> None:
    asked = question()
    desk.pending.put(asked)
    assert desk.redoma("answer", asked.id, "approve", "--remember", "prefix").status == 0
    listed = desk.redoma("approvals")
    assert listed.err == ""
    id = listed.out.split()[0]
    assert listed.out == (f"{id}  always, begins so  up to dangerous  /srv/project  git push ...\n")
    (one,) = json.loads(desk.redoma("approvals", "--json").out)["approvals"]
    assert (one["id"], one["remember"], one["highest_risk"]) == (id, "prefix", "dangerous")
    assert desk.remembered.ask(question()) is not None
    assert desk.redoma("approvals", "revoke", id).out.startswith(f"revoked {id}")
    assert desk.remembered.ask(question()) is None
    assert desk.redoma("approvals", "revoke", id).status == 2


def test_approvals_of_one_workspace_are_cleared(desk: Desk, tmp_path: Path) -> None:
    here = question(workspace=str(tmp_path), cwd=str(tmp_path))
    desk.remembered.keep(here, yes(here, Remember.EXACT))
    there = question()
    desk.remembered.keep(there, yes(there, Remember.EXACT))
    assert desk.redoma("approvals", "clear", "--workspace", str(tmp_path)).out == "revoked 1\n"
    assert [one.workspace for one in desk.remembered.list()] == ["/srv/project"]
    assert json.loads(desk.redoma("approvals", "clear", "--json").out) == {"revoked": 1}


BAD = {
    "no words": ["answer"],
    "no decision": ["answer", "3f2a"],
    "a word too many": ["answer", "3f2a", "approve", "now"],
    "another decision": ["answer", "3f2a", "yes"],
    "modify without a command": ["answer", "3f2a", "modify"],
    "a command without modify": ["answer", "3f2a", "approve", "--command", "ls"],
    "a lasting no": ["answer", "3f2a", "deny", "--remember", "exact"],
    "another length": ["answer", "3f2a", "approve", "--remember", "ever"],
    "pending with a word": ["pending", "x"],
    "an unknown action": ["approvals", "grant"],
    "revoke without an id": ["approvals", "revoke"],
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_understood_is_a_usage_error_with_a_hint(desk: Desk, case: str) -> None:
    done = desk.redoma(*BAD[case])
    assert (done.status, done.out) == (2, "")
    assert "\nhint: " in done.err


def test_what_cannot_be_known_again_cannot_be_approved_for_longer(desk: Desk) -> None:
    asked = question(argvs=())
    desk.pending.put(asked)
    done = desk.redoma("answer", asked.id, "approve", "--remember", "exact")
    assert done.status == 2
    assert "not plain enough to be known again" in done.err
    assert len(desk.pending.list()) == 1


def test_a_place_that_others_can_write_is_not_used(desk: Desk) -> None:
    place = desk.home / "redoma/ask/questions"
    place.mkdir()
    place.chmod(0o777)
    done = desk.redoma("pending")
    assert (done.status, done.out) == (125, "")
    assert f"hint: chmod 700 {place}\n" in done.err


def test_watching_shows_each_question_once_until_it_is_interrupted(desk: Desk) -> None:
    watcher = subprocess.Popen(
        [*START, "pending", "--watch", "--json"],
        env={"XDG_STATE_HOME": str(desk.home), "HOME": "/home/someone", "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert watcher.stdout is not None
        ids = []
        for _ in range(2):
            asked = question()
            ids.append(asked.id)
            desk.pending.put(asked)
            seen = json.loads(watcher.stdout.readline())
            assert seen["confirmation_request"]["request_id"] == asked.id
        watcher.send_signal(signal.SIGINT)
        rest, _ = watcher.communicate(timeout=10)
        assert (rest, watcher.returncode) == ("", 130)
    finally:
        watcher.kill()
        watcher.wait()
