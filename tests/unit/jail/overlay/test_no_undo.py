"""What was applied last can be undone, whatever its size; what cannot be kept is said before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from redoma.jail.overlay import store, transaction_store
from redoma.jail.overlay.undo import RetentionBounds
from redoma.model.change import Standing
from redoma.model.errors import NoRoomForUndo, PreviewGone, UndoImpossible, UsageError
from redoma.model.remedies import Help, Remedy
from redoma.pipeline import stored_changes
from tests.crash.victim import events_of, killed_at
from tests.unit.jail.overlay.applied import (
    another_file_system,
    hold,
    hold_elsewhere,
    populate,
    tree,
)
from tests.unit.jail.overlay.places import own_places
from tests.unit.jail.overlay.test_apply_kept import later, standings

pytestmark = pytest.mark.both_users
_ = own_places


@pytest.fixture
def work(own_places: Path) -> Path:
    made = populate(own_places / "work")
    (made / "big").mkdir()
    for number in range(20):
        (made / f"big/{number}").write_bytes(os.urandom(100_000))
    return made


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    with another_file_system() as place:
        yield place


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds of one megabyte, as on a small disk."""
    monkeypatch.setattr(RetentionBounds, "bytes", property(lambda self: min(self.size, 1 << 20)))


@pytest.mark.usefixtures("small")
def test_what_was_just_applied_can_be_undone_whatever_its_size(work: Path) -> None:
    before = tree(work, numbers=True)
    assert not os.path.exists(f"{transaction_store.root()}/collected")  # so making room is due
    found = hold(work, "rm -r big")
    applied = stored_changes.apply(found.id)
    assert applied.undoable
    assert any("until the next change is applied here" in note for note in applied.notes)
    for _ in range(2):
        stored_changes.collect_garbage(RetentionBounds(age=0, size=0, count=0, share=0))
        assert standings() == {found.id: Standing.APPLIED}
    stored_changes.undo()
    assert tree(work, numbers=True) == before


@pytest.mark.usefixtures("small")
def test_what_is_too_large_goes_when_the_next_is_applied_and_not_before(work: Path) -> None:
    large = hold(work, "rm -r big")
    stored_changes.apply(large.id)
    small, other = hold(work, "echo 1 > a"), hold(work, "echo 2 > b")
    stored_changes.apply(small.id)
    assert standings()[large.id] is Standing.EXPIRED
    stored_changes.apply(other.id)
    # What is within the bounds stays beside it.
    assert [standings()[name] for name in (small.id, other.id)] == [Standing.APPLIED] * 2


def test_the_newest_of_each_workspace_stays_however_old_and_goes_when_that_is_said(
    own_places: Path, work: Path
) -> None:
    other = populate(own_places / "other")
    gone = populate(own_places / "gone")
    names = [hold(place, "echo 1 > new").id for place in (work, other, gone)]
    for name in names:
        stored_changes.apply(name)
        later(name, 30 * 86400)
    gone.rename(own_places / "away")  # of a workspace that is gone nothing can be undone
    assert stored_changes.collect_garbage().ids == (names[2],)
    stored_changes.undo(names[1])
    assert stored_changes.collect_garbage(RetentionBounds(age=0, newest=True)).ids == (
        names[0],
        names[1],
    )


def test_a_large_newest_one_takes_no_room_from_the_others(own_places: Path, work: Path) -> None:
    other = populate(own_places / "other")
    names = [hold(other, f"echo {number} > new").id for number in range(3)]
    stored_changes.apply(hold(work, "rm -r big").id)
    stored_changes.collect_garbage(RetentionBounds(size=1 << 20))
    assert all(standings()[name] is Standing.HELD for name in names)


def test_a_layer_that_a_crash_left_of_what_was_let_go_is_removed(work: Path) -> None:
    found = hold(work, "echo 1 > new")
    later(found.id, 1)
    entry = transaction_store.read_entry(found.id)
    transaction_store.write_entry(entry.standing(Standing.EXPIRED))
    overlay = store.find_overlay(found.id)
    assert overlay is not None
    stored_changes.collect_garbage()
    assert not os.path.exists(overlay.directory)


@pytest.mark.usefixtures("small")
def test_what_would_have_to_be_copied_and_cannot_be_kept_is_refused_before(
    work: Path, elsewhere: Path
) -> None:
    found = hold_elsewhere(work, "rm -r big; echo 1 > new", elsewhere)
    before = tree(work, numbers=True)
    with pytest.raises(NoRoomForUndo, match="cannot be kept to undo it") as error:
        stored_changes.apply(found.id)
    assert error.value.remedy == Remedy(help=Help.NO_UNDO, about=found.id)
    assert tree(work, numbers=True) == before
    assert standings() == {found.id: Standing.HELD}
    stored_changes.apply(found.id, ["new"])  # what can be kept is applied
    assert (work / "new").exists()


@pytest.mark.parametrize("copied", [True, False])
def test_without_undo_it_is_applied_for_good_and_nothing_is_kept(
    work: Path, elsewhere: Path, copied: bool
) -> None:
    script = "rm -r big; echo 1 >> notes; mkdir d; echo 2 > d/x"
    found = hold_elsewhere(work, script, elsewhere) if copied else hold(work, script)
    overlay = store.find_overlay(found.id)
    assert overlay is not None
    with pytest.raises(UsageError, match="whole"):
        stored_changes.apply(found.id, ["notes"], undo=False)
    applied = stored_changes.apply(found.id, undo=False)
    assert (applied.undoable, applied.kept) == (False, 0)
    assert sorted(os.listdir(work)) == ["d", "link", "notes", "src"]
    assert (work / "notes").read_text() == "some notes\n1\n"
    assert not os.path.exists(overlay.directory)
    assert standings() == {found.id: Standing.FINAL}
    with pytest.raises(UndoImpossible, match="nothing kept"):
        stored_changes.undo(found.id)
    with pytest.raises(PreviewGone):
        stored_changes.apply(found.id)
    with pytest.raises(PreviewGone):
        stored_changes.discard(found.id)
    assert stored_changes.load(found.id).items == found.items


def test_the_last_one_is_not_passed_over_where_it_cannot_be_undone(work: Path) -> None:
    first = hold(work, "echo 1 > a")
    stored_changes.apply(first.id)
    stored_changes.apply(hold(work, "echo 1 > b").id, undo=False)
    with pytest.raises(UndoImpossible, match="nothing kept"):
        stored_changes.undo(workspace=str(work))
    assert (work / "a").exists()
    stored_changes.undo(first.id)
    with pytest.raises(UndoImpossible, match="nothing that was applied"):
        stored_changes.undo(workspace=str(work))


@pytest.mark.slow
@pytest.mark.parametrize("copied", [True, False])
def test_an_apply_without_undo_that_is_killed_has_happened_or_has_not(
    own_places: Path, elsewhere: Path, copied: bool
) -> None:
    ends = set()
    points = 0
    for number in range(24):
        work = populate(own_places / f"work{number}")
        script = "rm -r src; echo 1 >> notes; mkdir d; echo 2 > d/x"
        found = hold_elsewhere(work, script, elsewhere) if copied else hold(work, script)
        before = tree(work, numbers=True)
        apply = partial(stored_changes.apply, found.id, undo=False)
        points = points or events_of(apply)
        if number:
            killed_at(points // 2 + number * points // 40, apply)
        standing = {entry.id: entry.standing for entry in stored_changes.history()}[found.id]
        ends.add(standing)
        if standing is Standing.FINAL:
            assert sorted(os.listdir(work)) == ["d", "link", "notes"]
        else:
            assert (standing, tree(work, numbers=True)) == (Standing.HELD, before)
    assert ends == {Standing.HELD, Standing.FINAL}


@pytest.mark.usefixtures("small")
def test_what_was_undone_counts_for_what_it_holds_and_not_for_what_it_replaced(work: Path) -> None:
    found = hold(work, "rm -r big")
    stored_changes.apply(found.id)
    assert stored_changes.history()[0].size > 1 << 20
    stored_changes.undo(found.id)
    assert stored_changes.history()[0].size == 0
    stored_changes.apply(hold(work, "echo 1 > a").id)
    assert standings()[found.id] is Standing.UNDONE
    stored_changes.apply(found.id)
    assert stored_changes.history()[-1].size > 1 << 20
