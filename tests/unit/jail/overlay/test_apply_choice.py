"""A chosen path brings what it cannot be without; what only a person may write stays back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from redoma.model.change import Applied, Changes, Standing
from redoma.model.errors import ChangeError, PreviewGone, UsageError
from redoma.model.result import Outcome, Quarantined, Result
from redoma.pipeline import stored_changes
from redoma.pipeline.dry_run import DryRunReport
from redoma.pipeline.preview import Preview
from redoma.pipeline.sandbox import Sandbox
from tests.unit.jail.overlay.applied import hold, populate, tree
from tests.unit.jail.overlay.held import git
from tests.unit.jail.overlay.places import own_places

pytestmark = pytest.mark.both_users
_ = own_places


@pytest.fixture
def work(own_places: Path) -> Path:
    return populate(own_places / "work")


def listing(work: Path) -> list[str]:
    return sorted(path for path in tree(work) if path not in (".", "names of one file"))


@pytest.mark.parametrize(
    ("script", "chosen", "applied", "brought"),
    [
        ("echo 1 > a; echo 2 > b", ["a"], ["a"], []),
        ("mkdir -p x/y; echo 1 > x/y/a; echo 2 > x/b", ["x/y/a"], ["x", "x/y", "x/y/a"], ["x", "x/y"]),
        ("mkdir -p x/y; echo 1 > x/y/a; echo 2 > x/b", ["x/y"], ["x", "x/y", "x/y/a"], ["x"]),
        ("mv notes n; echo 1 > b", ["notes"], ["n"], []),
        ("mv notes n; echo 1 > b", ["n"], ["n"], []),
        ("mkdir d; mv src/deep/one d/one; rm -r src", ["src"], ["d", "d/one", "src", "src/deep", "src/deep/two", "src/main.py"], ["d"]),
        ("echo 1 > x; ln x y; echo 2 > b", ["y"], ["x", "y"], ["x"]),
        ("rm -r src; echo file > src", ["src"], ["src", "src/deep", "src/deep/one", "src/deep/two", "src/main.py"], []),
        ("rm -r src; echo file > src", ["src/main.py"], ["src/main.py"], []),
        ("rm notes; mkdir notes; echo 1 > notes/a; echo 2 > notes/b", ["notes/a"], ["notes", "notes/a"], ["notes"]),
        ("rm -r src/deep; echo 1 > b", ["src/deep/one"], ["src/deep/one"], []),
    ],
)  # fmt: skip
def test_a_chosen_path_brings_what_it_needs_and_the_rest_can_follow(
    work: Path, script: str, chosen: list[str], applied: list[str], brought: list[str]
) -> None:
    before = tree(work, numbers=True)
    found = hold(work, script)
    done = stored_changes.apply(found.id, chosen)
    assert ([c.path for c in done.changes], list(done.brought)) == (applied, brought)
    untouched = {c.path for c in found.items} - set(applied)
    if untouched:
        stored_changes.apply(found.id)
    after = listing(work)
    with pytest.raises(PreviewGone):
        stored_changes.apply(found.id)
    while stored_changes.history()[0].standing is Standing.APPLIED:
        stored_changes.undo(found.id)
    assert {p: v for p, v in tree(work, numbers=True).items() if p != "."} == {
        p: v for p, v in before.items() if p != "."
    }
    stored_changes.apply(found.id)
    assert listing(work) == after


def test_a_path_is_named_from_the_workspace_or_in_full(work: Path) -> None:
    found = hold(work, "echo 1 > a; echo 2 > src/b")
    with pytest.raises(UsageError, match=r"nothing changed at src/main\.py"):
        stored_changes.apply(found.id, ["src/main.py"])
    with pytest.raises(UsageError, match="lies outside"):
        stored_changes.apply(found.id, ["../elsewhere"])
    assert [c.path for c in stored_changes.apply(found.id, [f"{work}/src/"]).changes] == ["src/b"]
    assert [c.path for c in stored_changes.apply(found.id, ["."]).changes] == ["a"]


def test_a_chosen_content_is_applied_in_place_of_the_layers(work: Path) -> None:
    before = tree(work, numbers=True)
    found = hold(work, "printf '1\\n2\\n' >> notes; chmod 640 notes; echo other > b")
    stored_changes.apply(found.id, contents={"notes": b"some notes\n2\n"})
    assert ((work / "notes").read_bytes(), (work / "b").read_bytes()) == (
        b"some notes\n2\n",
        b"other\n",
    )
    assert (work / "notes").stat().st_mode & 0o7777 == 0o640
    stored_changes.undo(found.id)
    assert tree(work, numbers=True) == before
    stored_changes.apply(found.id)
    assert (work / "notes").read_bytes() == b"some notes\n1\n2\n"


def test_a_content_can_be_chosen_only_for_a_changed_file(work: Path) -> None:
    found = hold(work, "mkdir d; echo 1 > d/x")
    for path in ("d", "nothing"):
        with pytest.raises(ChangeError, match="no changed file"):
            stored_changes.apply(found.id, contents={path: b"x"})
    assert not (work / "d").exists()


def test_what_a_persons_tools_obey_is_held_back_and_the_rest_applied(work: Path) -> None:
    git(work, "init", "-q")
    script = (
        "echo evil > .envrc; mkdir -p new/.vscode new/in; echo 1 > new/.vscode/tasks.json;"
        " echo 2 > new/in/x; echo '#!/bin/sh' > .git/hooks/pre-commit; git add notes"
    )
    found = hold(work, script)
    applied = stored_changes.apply(found.id)
    overlay = stored_changes.overlay_of(found.id)
    why, code = "a tool of yours would obey it", "Visual Studio Code would obey it"
    assert applied.held_back == (
        Quarantined(path=f"{work}/.envrc", why="direnv would obey it", kept=f"{overlay}/.envrc"),
        Quarantined(
            path=f"{work}/.git/hooks/pre-commit", why=why, kept=f"{overlay}/.git/hooks/pre-commit"
        ),
        Quarantined(path=f"{work}/new/.vscode", why=code, kept=f"{overlay}/new/.vscode"),
        Quarantined(
            path=f"{work}/new/.vscode/tasks.json",
            why=code,
            kept=f"{overlay}/new/.vscode/tasks.json",
        ),
    )
    assert sorted(os.listdir(work / "new")) == ["in"]
    assert (work / ".git/index").exists()
    stored_changes.apply(found.id, [".envrc"], allow_write=[f"{work}/.envrc"])
    assert (work / ".envrc").read_text() == "evil\n"


def test_a_protected_file_keeps_the_directory_that_was_to_go(work: Path) -> None:
    (work / "src/.envrc").write_text("mine\n")
    found = hold(work, "rm -r src")
    applied = stored_changes.apply(found.id)
    assert {os.path.relpath(h.path, work) for h in applied.held_back} == {"src", "src/.envrc"}
    assert sorted(os.listdir(work / "src")) == [".envrc"]
    stored_changes.undo(found.id)
    assert sorted(os.listdir(work / "src")) == [".envrc", "deep", "main.py"]


def test_half_of_gits_own_configuration_is_not_applied(work: Path) -> None:
    git(work, "init", "-q")
    found = hold(work, "git remote add origin https://example.org/x.git")
    with pytest.raises(ChangeError, match="whole or not at all"):
        stored_changes.apply(found.id, contents={".git/config": b"[core]\n\tfsmonitor = evil\n"})
    assert stored_changes.apply(found.id).held_back == ()


def looked_at(found: Changes) -> DryRunReport:
    ended = Result(outcome=Outcome.EXITED)
    return DryRunReport(command="", would_execute=True, changes=found, result=ended)


def test_a_preview_is_let_go_unless_it_is_applied(work: Path) -> None:
    before = tree(work, numbers=True)
    with Preview(looked_at(hold(work, "echo 1 >> notes")), Sandbox(str(work))) as preview:
        assert "+1\n" in preview.diff()
    assert tree(work, numbers=True) == before
    assert stored_changes.history()[0].standing is Standing.DISCARDED
    with Preview(looked_at(hold(work, "echo 1 >> notes")), Sandbox(str(work))) as preview:
        assert [c.path for c in preview.apply().changes] == ["notes"]
    assert (work / "notes").read_text() == "some notes\n1\n"
    with Preview(looked_at(hold(work, "true")), Sandbox(str(work))) as preview:
        assert preview.apply() == Applied(id=preview.id)


@pytest.mark.parametrize("planted", ["clock", "chosen-1", "old-1"])
def test_a_link_planted_beside_the_layer_is_not_followed(
    own_places: Path, work: Path, planted: str
) -> None:
    outside = own_places / "outside"
    outside.mkdir()
    found = hold(work, "echo 1 >> notes; rm src/main.py")
    Path(stored_changes.overlay_of(found.id)).parent.joinpath(planted).symlink_to(
        outside / "made" if planted == "clock" else outside
    )
    before = tree(work, numbers=True)
    with pytest.raises(ChangeError):
        stored_changes.apply(found.id, contents={"notes": b"chosen\n"})
    assert (tree(work, numbers=True), os.listdir(outside)) == (before, [])
