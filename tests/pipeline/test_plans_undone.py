"""A run of a plan is taken back as a whole, the last step first, as far as nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redoma import Access
from redoma.model.errors import UndoImpossible, UsageError
from redoma.model.intent import EndUnknown, PlanError, StepStatus
from redoma.model.value import replace
from redoma.pipeline import stored_changes
from redoma.pipeline.plans import state
from redoma.pipeline.plans.execution import Plan
from redoma.pipeline.plans.state import PlanUndone, UndoneStep, find, undo_plan
from redoma.pipeline.run_context import RunContext
from redoma.pipeline.transactions import Transactions
from tests.pipeline.place import Place

pytestmark = [pytest.mark.requirement("X7"), pytest.mark.usefixtures("one_cache")]
BEFORE = {"kept.txt": "kept\n"}


def plan(*commands: str) -> Plan:
    steps = [
        {"id": f"s{number}", "operation": "shell", "command": command}
        for number, command in enumerate(commands, 1)
    ]
    return Plan(json.dumps({"version": 1, "name": "tidy", "steps": steps}))


def files(place: Place) -> dict[str, str]:
    """The workspace."""
    found = (path for path in place.workspace.rglob("*") if path.is_file())
    return {str(path.relative_to(place.workspace)): path.read_text() for path in found}


def undone(run: str, place: Place) -> PlanUndone:
    found = find(run)
    assert found is not None
    return undo_plan(found, Transactions(RunContext(place.sandbox().config)))


@pytest.fixture
def work(place: Place) -> Place:
    (place.workspace / "kept.txt").write_text("kept\n")
    return place


def test_all_steps_are_taken_back_the_last_one_first(work: Place) -> None:
    made = plan("echo 1 > a", "mv a b; rm kept.txt", "ls", "echo 2 >> b").run(work.sandbox())
    assert made.ok and files(work) == {"b": "1\n2\n"}
    told = undone(made.id, work)
    names = [step.changes for step in made.steps]
    assert [(step.id, step.changes) for step in told.steps] == [
        *(("s4", names[3]), ("s3", "")),
        *(("s2", names[1]), ("s1", names[0])),
    ]
    assert (told.ok, told.stopped_at, files(work)) == (True, "", BEFORE)
    with pytest.raises(UndoImpossible, match="there is nothing to take back"):
        undone(made.id, work)


def test_what_was_taken_back_is_run_again_by_whoever_goes_on(work: Place) -> None:
    asked = plan("echo 1 > a", "echo 2 > b")
    made = asked.run(work.sandbox())
    undone(made.id, work)
    again = asked.run(work.sandbox(), resume=True)
    assert [step.status for step in again.steps] == [StepStatus.DONE] * 2
    assert files(work) == {**BEFORE, "a": "1\n", "b": "2\n"}


def test_a_plan_that_stopped_is_taken_back_as_far_as_it_came(work: Place) -> None:
    made = plan("echo 1 > a", "echo 2 > b; exit 3", "echo 3 > c").run(work.sandbox())
    assert made.done == ("s1",)
    told = undone(made.id, work)
    assert [step.id for step in told.steps] == ["s1"]
    assert (told.ok, files(work)) == (True, BEFORE)


def test_it_stops_at_the_first_step_that_cannot_be_taken_back(work: Place) -> None:
    made = plan("echo 1 > a", "echo 2 > b", "echo 3 > c").run(work.sandbox())
    (work.workspace / "b").write_text("somebody's work\n")
    told = undone(made.id, work)
    assert ([step.id for step in told.steps], told.stopped_at) == (["s3"], "s2")
    assert isinstance(told.error, UndoImpossible)
    assert told.error.paths == ("b",)
    assert files(work) == {**BEFORE, "a": "1\n", "b": "somebody's work\n"}
    again = undone(made.id, work)
    assert (again.steps, again.stopped_at) == ((), "s2"), "nothing is taken back twice"


def test_a_step_that_was_taken_back_by_itself_is_passed_over(work: Place) -> None:
    made = plan("echo 1 > a", "echo 2 > b").run(work.sandbox())
    stored_changes.undo(made.steps[1].changes)
    told = undone(made.id, work)
    assert told.steps[0] == UndoneStep(id="s2", changes=made.steps[1].changes, before=True)
    assert (told.ok, files(work)) == (True, BEFORE)


def test_what_was_written_directly_is_not_said_to_be_taken_back(work: Place) -> None:
    made = plan("echo 1 > a").run(work.sandbox(access=Access(direct=True)))
    told = undone(made.id, work)
    assert (told.steps, told.stopped_at) == ((), "s1")
    assert "was not held" in str(told.error)
    assert files(work) == {**BEFORE, "a": "1\n"}


def test_a_run_that_goes_on_or_whose_end_is_not_known_is_not_taken_back(work: Place) -> None:
    made = plan("echo 1 > a").run(work.sandbox())
    found = find(made.id)
    assert found is not None
    with state.only_one(found), pytest.raises(PlanError, match="going on already"):
        undone(made.id, work)
    state.write(replace(found, going="s2"))
    with pytest.raises(EndUnknown):
        undone(made.id, work)
    assert files(work) == {**BEFORE, "a": "1\n"}


def test_the_beginning_of_an_id_is_enough_where_it_is_the_only_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for name in ("aab", "aac"):
        state.write(state.PlanState(id=name, name="x", digest="", workspace="/"))
    found = find("aab")
    assert (found is not None and found.id, find("b"), find("")) == ("aab", None, None)
    with pytest.raises(UsageError, match="is the beginning of several"):
        find("aa")


def test_a_plan_says_that_it_can_be_undone_only_where_it_can(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    from redoma.cli.plans import result_lines
    from redoma.jail.overlay.undo import RetentionBounds

    (place.workspace / "big").write_bytes(b"1" * (3 << 20))
    two = plan("rm big", "echo 2 > two")
    with monkeypatch.context() as patched:
        patched.setattr(RetentionBounds, "bytes", property(lambda _: 1 << 20))
        made = two.run(place.sandbox())
    assert made.ok
    # The first step was too large to be kept beside the second.
    assert not any("redoma undo" in line for line in result_lines(made))
    again = plan("echo 3 > three").run(place.sandbox())
    assert any(f"redoma undo {again.id}" in line for line in result_lines(again))
