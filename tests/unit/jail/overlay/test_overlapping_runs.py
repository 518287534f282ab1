"""Two runs at once in one workspace: the later one hears of what the other changed, or loses nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from redoma.jail.overlay import transaction_store
from redoma.model.change import Standing
from redoma.model.errors import ApplyConflict, UndoImpossible
from redoma.pipeline import stored_changes
from tests.unit.jail.overlay.applied import hold, hold_elsewhere, populate, tree
from tests.unit.jail.overlay.overlapping import Going
from tests.unit.jail.overlay.places import own_places

pytestmark = pytest.mark.both_users
_ = own_places


@pytest.fixture
def work(own_places: Path) -> Path:
    return populate(own_places / "work")


# What runs first and is still going, what is applied meanwhile, and which paths that concerns.
TOGETHER = {
    "both edit": ("echo 1 >> notes", "echo 2 >> notes", {"notes"}),
    "both edit, before the other is applied": ("echo 1 >> notes; PAUSE", "echo 2 >> notes", {"notes"}),
    "both create": ("echo 1 > new", "echo 2 > new", {"new"}),
    "edited here, deleted there": ("echo 1 >> notes; PAUSE", "rm notes", {"notes"}),
    "deleted here, edited there": ("rm notes", "echo 2 >> notes", {"notes"}),
    "both delete": ("rm notes; echo 1 > x; PAUSE", "rm notes; echo 2 > other", {"notes"}),
    "renamed here, edited there": ("mv notes n", "echo 2 >> notes", {"notes"}),
    "renamed here before, edited there": ("mv notes n; PAUSE", "echo 2 >> notes", {"notes"}),
    "edited here, renamed there": ("echo 1 >> notes; PAUSE", "mv notes n", {"notes"}),
    "both rename": ("mv notes n; PAUSE", "mv notes m", {"notes"}),
    "renamed onto what was made": ("mv src/main.py new; PAUSE", "echo 2 > new", {"new"}),
    "removed with what was made in it": ("rm -r src; PAUSE", "echo 2 > src/deep/new", {"src/deep/new"}),
    "made in what was removed": ("echo 1 > src/deep/new; PAUSE", "rm -r src/deep", {"src/deep/new"}),
    "edited in what was renamed": ("echo 1 >> src/main.py; PAUSE", "mv src lib", {"src/main.py"}),
    "renamed with what was made in it": ("mv src lib; PAUSE", "echo 2 > src/new", {"src"}),
    "another mode, another content": ("chmod 600 notes", "echo 2 >> notes", {"notes"}),
    "other rights of one directory": ("chmod 750 src; PAUSE", "chmod 711 src", {"src"}),
    "moved here, removed there": ("mv src/deep d; PAUSE", "rm -r src/deep", {"src/deep"}),
    "linked here, edited there": ("ln notes two; PAUSE", "echo 2 >> notes", {"notes"}),
}  # fmt: skip


@pytest.mark.parametrize("case", TOGETHER)
def test_two_overlapping_runs_that_touch_one_path_conflict(work: Path, case: str) -> None:
    mine, other, paths = TOGETHER[case]
    script = mine if "PAUSE" in mine else f"PAUSE{mine}"
    with Going(work, script) as going:
        stored_changes.apply(hold(work, other).id)
        after = tree(work, numbers=True)
        found = going.ended()
        with pytest.raises(ApplyConflict) as error:
            stored_changes.apply(found.id)
    assert paths <= set(error.value.paths)
    assert tree(work, numbers=True) == after
    assert transaction_store.read_entry(found.id).shown.standing is Standing.HELD


def test_two_overlapping_runs_on_different_paths_are_both_applied(work: Path) -> None:
    with Going(
        work,
        "echo 1 >> notes; PAUSE mkdir a; echo 1 > a/x; rm src/deep/one; mkdir -p b; echo 1 > b/x",
    ) as going:
        stored_changes.apply(
            hold(work, "echo 2 >> src/main.py; echo 2 > src/deep/new; mkdir b; echo 2 > b/y").id
        )
        stored_changes.apply(going.ended().id)
    assert (work / "notes").read_text() == "some notes\n1\n"
    assert (work / "src/main.py").read_text() == "print('hello')\n2\n"
    assert sorted(os.listdir(work / "src/deep")) == ["new", "two"]
    assert sorted(os.listdir(work)) == ["a", "b", "link", "notes", "src"]
    assert sorted(os.listdir(work / "b")) == ["x", "y"]


def test_what_a_run_changed_before_another_began_is_no_conflict(work: Path) -> None:
    for number in range(5):
        stored_changes.apply(
            hold(work, f"echo {number} >> notes; rm -rf d; mkdir d; echo 1 > d/{number}").id
        )
    assert (work / "notes").read_text() == "some notes\n0\n1\n2\n3\n4\n"
    assert os.listdir(work / "d") == ["4"]


def test_a_directory_that_comes_whole_with_older_files_is_a_conflict(work: Path) -> None:
    with Going(work, "mkdir src/in; echo 2 > src/in/x; PAUSE") as other:
        with Going(work, "rm -r src; PAUSE") as going:
            stored_changes.apply(other.ended().id)
            found = going.ended()
        with pytest.raises(ApplyConflict):
            stored_changes.apply(found.id)
    assert (work / "src/in/x").read_text() == "2\n"


def test_a_directory_that_a_person_moves_into_what_goes_is_a_conflict(
    own_places: Path, work: Path
) -> None:
    (own_places / "mine").mkdir()
    (own_places / "mine/file").write_text("mine\n")
    with Going(work, "rm -r src; PAUSE") as going:
        (own_places / "mine").rename(work / "src/mine")
        found = going.ended()
    with pytest.raises(ApplyConflict):
        stored_changes.apply(found.id)
    assert (work / "src/mine/file").read_text() == "mine\n"


def test_what_another_run_did_and_took_back_meanwhile_is_a_conflict_where_it_was_seen(
    work: Path,
) -> None:
    other = hold(work, "echo 2 >> notes")
    with Going(work, "PAUSE echo 1 >> notes") as going:
        stored_changes.apply(other.id)
        stored_changes.undo(other.id)
        found = going.ended()
    with pytest.raises(ApplyConflict):
        stored_changes.apply(found.id)
    assert (work / "notes").read_text() == "some notes\n"


def test_a_run_in_a_directory_below_is_another_run(work: Path) -> None:
    with Going(work, "echo 1 > src/new; echo 1 >> src/main.py; PAUSE") as going:
        stored_changes.apply(hold(work / "src", "rm main.py").id)
        found = going.ended()
    with pytest.raises(ApplyConflict) as error:
        stored_changes.apply(found.id)
    assert error.value.paths == ("src/main.py",)
    with Going(work / "src", "echo 1 > deep/new; PAUSE") as going:
        stored_changes.apply(hold(work, "rm -r src/deep").id)
        found = going.ended()
    with pytest.raises(ApplyConflict) as error:
        stored_changes.apply(found.id)
    assert set(error.value.paths) == {"deep", "deep/new"}


def test_an_edit_made_while_the_workspace_is_copied_is_a_conflict(
    own_places: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from redoma.jail.overlay import copies

    copy = copies.copy_tree

    def copy_and_edit(*given: Any) -> None:
        copy(*given)
        (work / "notes").write_text("mine\n")

    monkeypatch.setattr(copies, "copy_tree", copy_and_edit)
    (own_places / "place").mkdir()
    found = hold_elsewhere(work, "echo 1 >> notes", own_places / "place")
    with pytest.raises(ApplyConflict) as error:
        stored_changes.apply(found.id)
    assert error.value.paths == ("notes",)
    assert (work / "notes").read_text() == "mine\n"


def test_what_another_changed_on_top_is_not_undone_below_it(work: Path) -> None:
    one = hold(work, "mkdir d; echo 1 > d/x; chmod 750 src")
    stored_changes.apply(one.id)
    os.setxattr(work / "d", "user.a", b"old")
    code = "import os; os.setxattr('d', 'user.a', b'new')"
    two = hold(work, f'/usr/bin/python3 -I -S -c "{code}"')
    stored_changes.apply(two.id)
    with pytest.raises(UndoImpossible) as error:
        stored_changes.undo(one.id)
    assert (error.value.paths, error.value.hint) == (("d",), f"redoma undo {two.id} first")
    stored_changes.undo(two.id)
    assert os.getxattr(work / "d", "user.a") == b"old"


def test_a_change_that_looks_the_same_is_a_conflict_all_the_same(work: Path) -> None:
    mine = hold(work, "echo 1 >> notes")
    stored_changes.apply(hold(work, "sed -i s/some/Some/ notes; touch -d @1000000000 notes").id)
    with pytest.raises(ApplyConflict) as error:
        stored_changes.apply(mine.id)
    assert error.value.paths == ("notes",)
