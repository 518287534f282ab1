"""What Redoma says of undo is true when it says so, in prose and in JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.previewing import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_run_without_undo_says_so_everywhere(project: Project) -> None:
    (project.root / "old").write_text("old\n")
    _, said = project.call("run", "--no-undo", "rm old; echo 1 > new")
    assert "redoma: 2 changes applied · for good: nothing was kept to undo" in said
    assert "undo with" not in said
    (entry,) = project.json("history")["history"]
    assert (entry["standing"], entry["undoable"]) == ("final", False)
    assert "  final  " in project.call("history")[0]
    _, said = project.call("undo", status=125)
    assert "nothing that was applied can be undone" in said
    _, said = project.call("undo", entry["id"], status=125)
    assert "was applied with nothing kept to undo it" in said
    told = project.json("run", "--no-undo", "echo 2 > other")
    assert (told["applied"], told["undoable"]) == (True, False)


def test_a_run_that_can_be_undone_says_so_everywhere(project: Project) -> None:
    told = project.json("run", "echo 1 > new")
    assert (told["applied"], told["undoable"]) == (True, True)
    (entry,) = project.json("history")["history"]
    assert (entry["id"], entry["undoable"]) == (told["transaction"], True)
    project.call("undo")
    assert project.json("history")["history"][0]["undoable"] is False
    told = project.json("run", "true")
    assert (told["transaction"], told["applied"], told["undoable"]) == (None, False, False)


def test_held_changes_are_applied_for_good_where_that_is_meant(project: Project) -> None:
    name = project.preview("echo 1 > new; echo 2 > other")
    _, said = project.call("apply", name, "--no-undo", "new", status=2)
    assert "applied whole" in said
    _, said = project.call("apply", name, "--no-undo", "-i", status=2)
    assert "do not go together" in said
    out, said = project.call("apply", name, "--no-undo")
    assert out == f"applied {name}: 2 created\n"
    assert f"redoma: nothing was kept: {name} cannot be undone" in said
    assert "redoma undo" not in said
    _, said = project.call("preview", "--no-undo", "true", status=2)
    assert "a preview applies nothing" in said


def test_a_preview_that_is_not_kept_is_written_down(project: Project) -> None:
    project.call("preview", "--discard", "echo 1 > new")
    rows, _ = project.call("audit", "list")
    assert "discarded" in rows
