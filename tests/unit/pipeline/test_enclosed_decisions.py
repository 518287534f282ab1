"""A run is asked about what its own plan does not hold, and the audit log says what held the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma.model.decision import Verdict
from redoma.model.request import Choice, Mode, Question, ShellCommand
from redoma.model.result import Outcome
from redoma.pipeline.audit_reader import EntryFilter, entries
from redoma.pipeline.decisions.policies import load_policy
from redoma.pipeline.enclosed_check import EnclosedCheck
from redoma.pipeline.sandbox import Sandbox
from redoma.pipeline.settings import Access, PolicyChoice


class Person:
    """Says no, and remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[Question] = []

    def __call__(self, question: Question) -> Choice:
        self.asked.append(question)
        return Choice.DENY


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    (made / "old").mkdir(parents=True)
    (made / "old" / "file").write_text("kept by undo\n")
    return made


def test_a_deletion_of_the_whole_workspace_asks_nobody_and_is_taken_back(workspace: Path) -> None:
    person = Person()
    sandbox = Sandbox(str(workspace), ask=person)
    result = sandbox.run('rm -rf "$PWD"/*')
    assert (person.asked, result.outcome) == ([], Outcome.EXITED)
    assert result.decision is not None and result.decision.verdict is Verdict.LOG
    assert result.applied and not (workspace / "old").exists()
    sandbox.undo()
    assert (workspace / "old" / "file").read_text() == "kept by undo\n"


def test_the_audit_log_says_what_held_it(workspace: Path) -> None:
    result = Sandbox(str(workspace), ask=Person()).run("rm -rf ~/no-such-thing-of-mine; true")
    judged = [row for row in entries(EntryFilter(kinds=("judged",))) if row.run == result.run]
    assert [row.facts()["held"] for row in judged] == [
        [{"rule": "delete-outside", "by": "confined writes"}]
    ]


def test_what_nothing_holds_is_asked_with_that_alone(workspace: Path) -> None:
    person = Person()
    result = Sandbox(str(workspace), ask=person).run("rm -rf old ~/other && twine upload dist/*")
    assert result.outcome is Outcome.DECLINED
    (question,) = person.asked
    assert len(question.because) == 1 and "twine" in question.because[0]
    marked = [question.command[start:end] for start, end in question.spans]
    assert not any("other" in part for part in marked)


@pytest.mark.parametrize(
    "how",
    [
        {"engine": "direct"},
        {"access": Access(undo=False)},
        {"access": Access(direct=True)},
        {"policy": PolicyChoice(pack="terminal")},
    ],
)
def test_where_nothing_is_taken_back_the_deletion_is_asked(
    workspace: Path, how: dict[str, object]
) -> None:
    person = Person()
    result = Sandbox(str(workspace), ask=person, **how).run("rm -rf .")  # type: ignore[arg-type]
    asked = len(person.asked) == 1 and result.outcome is Outcome.DECLINED
    assert asked or result.outcome is Outcome.DENIED


def test_a_preview_is_asked_about_when_it_is_applied(workspace: Path) -> None:
    preview = Sandbox(str(workspace)).preview("rm -rf .")
    assert preview.result.decision is not None
    assert preview.result.decision.verdict is Verdict.CONFIRM


def test_whoever_runs_nothing_can_judge_as_a_run_would_be(workspace: Path) -> None:
    check = EnclosedCheck(load_policy(str(workspace)), cwd=str(workspace))

    def verdict(command: str) -> Verdict:
        return check.judge(
            check.caller.request(ShellCommand(text=command), mode=Mode.CHECK)
        ).verdict

    assert verdict("rm -rf .") is Verdict.LOG
    assert verdict("npm publish") is Verdict.CONFIRM
    assert verdict("rm -rf /") is Verdict.DENY
    direct = Sandbox(str(workspace), access=Access(direct=True))
    check = EnclosedCheck(load_policy(str(workspace)), cwd=str(workspace), sandbox=direct)
    assert verdict("rm -rf .") is Verdict.CONFIRM
