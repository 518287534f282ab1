"""A preview's answer: what was foreseen and what was seen, put together truthfully."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from redoma.model.change import Change, Changes, Did
from redoma.model.decision import Assessment, Decision, Verdict
from redoma.model.network import NOT_MOCKED, Connection
from redoma.model.result import Exit, Outcome, ResourcesUsed, Result
from redoma.pipeline.dry_run import dry_run, reader, report
from redoma.pipeline.foresight.forecast import CLOSED, MOCKED, Foreseen

pytestmark = pytest.mark.requirement("K6")

HELD = Changes(id="abc", workspace="/project", items=(Change(path="a", did=Did.CREATED),))


def ran(code: int = 0, *, stderr: bytes = b"", changes: Changes = HELD) -> Result:
    used = ResourcesUsed(wall_seconds=1.26)
    ended = Exit(outcome=Outcome.EXITED, code=code, stderr=stderr, used=used)
    return Result(outcome=Outcome.EXITED, exit=ended, changes=changes)


def test_a_command_that_only_changes_files_can_be_taken_back() -> None:
    found = report("touch a", Foreseen(), ran(), "/project")
    assert (found.id, found.would_execute, found.rollback_available) == ("abc", True, True)
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("foreseen", "changes"),
    [
        (Foreseen(lasting=True), HELD),
        (
            Foreseen(),
            Changes(id="a", workspace="/", warnings=("/data is written directly: not held",)),
        ),
    ],
)
def test_what_acts_beyond_held_files_cannot_be_taken_back(
    foreseen: Foreseen, changes: Changes
) -> None:
    assert not report("cmd", foreseen, ran(changes=changes), "/project").rollback_available


def test_the_duration_is_that_of_earlier_runs_where_they_are_remembered() -> None:
    remembered = {"make": 12.34}
    assert (
        report("make", Foreseen(), ran(), "/p", remembered.get).estimated_duration,
        report("other", Foreseen(), ran(), "/p", remembered.get).estimated_duration,
        report("make", Foreseen(), ran(), "/p").estimated_duration,
    ) == ("12.3s", "1.3s in this preview", "1.3s in this preview")


def test_a_denied_command_would_not_execute_and_has_no_duration() -> None:
    decision = Decision(
        verdict=Verdict.DENY,
        because=("no",),
        policy="p",
        assessment=Assessment(text="cmd", pack="default"),
    )
    found = report("cmd", Foreseen(), Result(outcome=Outcome.DENIED, decision=decision), "/p")
    assert (found.would_execute, found.rollback_available, found.estimated_duration, found.id) == (
        False,
        False,
        "unknown",
        "",
    )


def test_what_a_push_would_send_comes_from_the_run_itself() -> None:
    foreseen = Foreseen(command="x", awaited=("git push",), warnings=(CLOSED,), lasting=True)
    said = b"other\nredoma: git push: origin: main: nothing new\n"
    found = report("git push", foreseen, ran(stderr=said), "/p")
    assert found.network_calls == ("git push: origin: main: nothing new",)


def test_a_push_that_was_not_reached_is_a_warning_and_still_a_call() -> None:
    foreseen = Foreseen(command="x", awaited=("git push",), lasting=True)
    found = report("false && git push", foreseen, ran(1), "/p")
    assert found.network_calls == ("git push",)
    assert found.warnings == (
        "the command ended with status 1",
        "what would be pushed is not known: the command did not come so far",
    )


def test_a_preview_that_was_cut_short_says_so() -> None:
    ended = Exit(outcome=Outcome.TIMED_OUT)
    result = Result(outcome=Outcome.TIMED_OUT, exit=ended, changes=HELD)
    assert report("x", Foreseen(), result, "/p").warnings == (
        "the preview was cut short: timed out",
    )


class Runs:
    """Takes down what it was told to run."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = str(workspace)
        self.not_held: tuple[str, ...] = ()
        self.told: list[tuple[str | Sequence[str], str]] = []
        self.mocked: list[bool] = []

    def __call__(self, command: str | Sequence[str], foreseen: Foreseen) -> Result:
        self.told.append((command, foreseen.command))
        self.mocked.append(foreseen.may_call)
        return ran(changes=Changes(id="", workspace=self.workspace))


def test_the_command_is_judged_as_asked_and_run_as_its_trial(tmp_path: Path) -> None:
    run = Runs(tmp_path)
    dry_run("npm publish", run)
    dry_run(["npm", "publish", "--tag", "a b"], run)
    dry_run(["touch", "$(x)"], run)
    assert run.told == [
        ("npm publish", "npm publish --dry-run --offline"),
        (["npm", "publish", "--tag", "a b"], "npm publish --dry-run --offline --tag 'a b'"),
        (["touch", "$(x)"], ""),
    ]


@pytest.mark.requirement("K5")
def test_only_what_may_ask_another_machine_is_given_a_mock(tmp_path: Path) -> None:
    run = Runs(tmp_path)
    for command in ("curl https://a.example", "python3 x.py", "touch a", "npm publish"):
        dry_run(command, run)
    assert run.mocked == [True, True, False, False]


@pytest.mark.requirement("K5")
def test_what_was_asked_of_a_mock_takes_the_place_of_what_was_foreseen() -> None:
    foreseen = Foreseen(
        network_calls=("POST https://a.example/x?k=1", "GET https://b.example"),
        warnings=(CLOSED, "something else"),
    )
    asked = (
        Connection(allowed=True, kind="dns", name="a.example"),
        Connection(
            allowed=True, kind="https", name="a.example", port=443, method="POST",
            path="/x?k=…", status=200, by="mock", body_size=3,
        ),
        Connection(allowed=True, kind="http", name="c.example", port=8080, method="GET", path="/"),
        Connection(allowed=False, name="db.example", port=5432, why=NOT_MOCKED, program="psql"),
    )  # fmt: skip
    ended = Exit(outcome=Outcome.EXITED, code=0, network_calls=asked)
    found = report("x", foreseen, Result(outcome=Outcome.EXITED, exit=ended, changes=HELD), "/p")
    assert found.network_calls == (
        "POST https://a.example/x?k=… (3 bytes)",
        "GET http://c.example:8080/",
        f"psql db.example:5432: {NOT_MOCKED}",
        "GET https://b.example",
    )
    assert found.warnings == ("something else", MOCKED)


def test_paths_without_a_layer_are_named_and_count_as_lasting(tmp_path: Path) -> None:
    run = Runs(tmp_path)
    run.not_held = ("/data",)
    found = dry_run("touch a", run)
    assert found.warnings == ("/data could only be read: what would be written there is not shown",)
    assert not found.rollback_available


def test_only_files_of_the_workspace_are_read_for_a_look(tmp_path: Path) -> None:
    inside = tmp_path / "project"
    inside.mkdir()
    (tmp_path / "outside.sql").write_text("drop table secret")
    (inside / "up.sql").write_text("create table t (a int)")
    (inside / "link.sql").symlink_to(tmp_path / "outside.sql")
    (inside / "large.sql").write_text("x" * (1 << 20) + "y")
    read = reader(str(inside))
    here = str(inside)
    assert read(here, "up.sql") == "create table t (a int)"
    assert [
        read(here, p) for p in ("../outside.sql", "link.sql", "large.sql", "none", "/etc/hosts")
    ] == [None] * 5
