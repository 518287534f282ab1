"""Applying keeps its word on other file systems, on a full disk, and with a great many files."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.jail.protect.untrusted_paths import remove_tree
from redoma.model.change import Standing
from redoma.model.errors import ChangeError
from redoma.pipeline import stored_changes
from tests.unit.jail.overlay.applied import (
    SCRIPTS,
    another_file_system,
    hold,
    hold_elsewhere,
    populate,
    run_bare,
    tree,
)
from tests.unit.jail.overlay.held import mount
from tests.unit.jail.overlay.places import own_places

pytestmark = pytest.mark.both_users
_ = own_places


@pytest.fixture
def work(own_places: Path) -> Path:
    return populate(own_places / "work")


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    with another_file_system() as place:
        yield place


def without_git(found: dict[str, object]) -> dict[str, object]:
    """A commit has the time in its name."""
    return {path: value for path, value in found.items() if not path.startswith(".git")}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_layer_on_another_file_system_is_copied_and_undone_all_the_same(
    own_places: Path, work: Path, elsewhere: Path, script: str
) -> None:
    bare = populate(own_places / "bare")
    run_bare(bare, script)
    before = tree(work)
    found = hold_elsewhere(work, script, elsewhere)
    applied = stored_changes.apply(found.id)
    assert applied.notes[:1] == (
        "the overlay is on another file system than the workspace: files were copied",
    )
    assert without_git(tree(work, times=False)) == without_git(tree(bare, times=False))
    stored_changes.undo(found.id)
    assert tree(work) == before
    stored_changes.apply(found.id)
    assert without_git(tree(work, times=False)) == without_git(tree(bare, times=False))
    stored_changes.undo(found.id)
    assert tree(work) == before


def test_holes_and_names_of_one_file_survive_the_copying(work: Path, elsewhere: Path) -> None:
    script = "truncate -s 60M sparse; printf end >> sparse; ln sparse again; mkdir d; ln sparse d/x"
    stored_changes.apply(hold_elsewhere(work, script, elsewhere).id)
    status = (work / "sparse").stat()
    assert (status.st_size, status.st_nlink) == ((60 << 20) + 3, 3)
    assert status.st_blocks * 512 < 1 << 20


def test_transactions_in_a_row_are_undone_in_a_row_though_copied(
    work: Path, elsewhere: Path
) -> None:
    before = tree(work)
    for number in range(3):
        stored_changes.apply(
            hold_elsewhere(work, f"echo {number} >> notes; rm -f src/main.py", elsewhere).id
        )
    for _ in range(3):
        stored_changes.undo()
    assert tree(work) == before


@pytest.fixture
def small_disk(own_places: Path) -> Iterator[Path]:
    place = own_places / "small"
    place.mkdir()
    mount("-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place))
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.root
def test_a_full_workspace_disk_is_an_error_and_nothing_is_half_done(
    small_disk: Path, elsewhere: Path
) -> None:
    work = populate(small_disk / "work")
    script = "for i in 1 2 3 4 5 6 7 8; do head -c 1M /dev/urandom > big$i; done; echo 1 >> notes"
    found = hold_elsewhere(work, script, elsewhere)
    before = tree(work, numbers=True)
    with pytest.raises(ChangeError, match="No space left"):
        stored_changes.apply(found.id)
    assert tree(work, numbers=True) == before
    assert stored_changes.history()[0].standing is Standing.HELD
    assert [c.path for c in stored_changes.apply(found.id, ["notes"]).changes] == ["notes"]


@pytest.mark.root
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_workspace_that_lies_on_an_overlay_is_applied_and_undone(
    own_places: Path, elsewhere: Path, script: str
) -> None:
    lower = populate(own_places / "lower")
    bare = populate(own_places / "bare")
    run_bare(bare, script)
    for name in ("upper", "kernel", "work"):
        (own_places / name).mkdir()
    options = f"lowerdir={lower},upperdir={own_places}/upper,workdir={own_places}/kernel"
    mount("-t", "overlay", "-o", options, "overlay", str(own_places / "work"))
    work = own_places / "work"
    try:
        before = tree(work)
        found = hold(work, script)
        stored_changes.apply(found.id)
        assert without_git(tree(work, times=False)) == without_git(tree(bare, times=False))
        stored_changes.undo(found.id)
        assert tree(work) == before
    finally:
        subprocess.run(["umount", str(work)], check=True)
        remove_tree(str(own_places / "kernel"))
