"""Applying makes a workspace what the command would have made it; undoing, what it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma.model.change import Standing
from redoma.pipeline import stored_changes
from tests.unit.jail.overlay.applied import SCRIPTS, hold, populate, run_bare, tree
from tests.unit.jail.overlay.places import own_places

pytestmark = pytest.mark.both_users
_ = own_places


@pytest.fixture
def work(own_places: Path) -> Path:
    return populate(own_places / "work")


@pytest.mark.parametrize("script", SCRIPTS)
def test_applying_a_preview_gives_the_tree_that_running_gives(
    own_places: Path, work: Path, script: str
) -> None:
    bare = populate(own_places / "bare")
    run_bare(bare, script)
    before = tree(work)
    found = hold(work, script)
    assert tree(work) == before
    applied = stored_changes.apply(found.id)
    assert (applied.held_back, {c.path for c in applied.changes}) == (
        (),
        {c.path for c in found.items},
    )
    assert sorted(tree(work, times=False)) == sorted(tree(bare, times=False))
    skip = {p for p in tree(bare) if p.startswith(".git")}  # commit times and hashes differ
    after, expected = tree(work, times=False), tree(bare, times=False)
    assert {p: v for p, v in after.items() if p not in skip} == {
        p: v for p, v in expected.items() if p not in skip
    }


@pytest.mark.parametrize("script", SCRIPTS)
def test_undoing_gives_back_exactly_what_was(work: Path, script: str) -> None:
    before = tree(work, numbers=True)
    found = hold(work, script)
    stored_changes.apply(found.id)
    assert tree(work) != before
    undone = stored_changes.undo(found.id)
    assert set(undone.paths) == {c.path for c in found.items}
    assert tree(work, numbers=True) == before
    assert stored_changes.history()[0].standing is Standing.UNDONE


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_was_undone_can_be_applied_again(work: Path, script: str) -> None:
    before = tree(work, numbers=True)
    found = hold(work, script)
    stored_changes.apply(found.id)
    once = tree(work, numbers=True, times=False)
    stored_changes.undo(found.id)
    stored_changes.apply(found.id)
    assert tree(work, numbers=True, times=False) == once
    stored_changes.undo()
    assert tree(work, numbers=True) == before
