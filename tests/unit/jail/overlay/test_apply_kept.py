"""What is kept is bounded, private, and survives names that are no text; nobody's turn is taken."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from redoma.jail.overlay import store, transaction_store
from redoma.jail.overlay.journal import JournalFiles, from_text, to_text
from redoma.jail.overlay.locks import locked
from redoma.jail.overlay.undo import RetentionBounds
from redoma.model.change import Freed, HistoryEntry, Standing
from redoma.model.errors import PreviewGone, UndoImpossible, UsageError
from redoma.model.value import replace
from redoma.pipeline import stored_changes
from tests.unit.jail.overlay.applied import hold, populate, tree
from tests.unit.jail.overlay.places import own_places

pytestmark = pytest.mark.both_users
_ = own_places
ODD = "printf 1 > $'odd\\nname'; printf 2 > $'\\xff\\xfe'; chmod 640 notes; rm src/main.py"


@pytest.fixture
def work(own_places: Path) -> Path:
    return populate(own_places / "work")


def standings() -> dict[str, Standing]:
    return {entry.id: entry.standing for entry in stored_changes.history()}


def test_the_history_tells_what_was_done_and_how_it_stands(work: Path) -> None:
    found = hold(work, ODD)
    assert stored_changes.load(found.id[:6]) == found
    stored_changes.apply(found.id)
    (entry,) = stored_changes.history(str(work))
    assert 0 <= time.time() - entry.when < 60
    assert entry == HistoryEntry(
        id=found.id,
        when=entry.when,
        command=ODD,
        workspace=str(work),
        standing=Standing.APPLIED,
        created=2,
        deleted=1,
        attributes=1,
        size=entry.size,
    )
    assert 0 < entry.size <= 64 << 10
    assert stored_changes.history("/elsewhere") == ()
    assert stored_changes.previews() == ()


def test_a_journal_reads_as_it_was_written(work: Path) -> None:
    found = hold(work, ODD + "; mkdir d; chmod 700 src")
    os.setxattr(work / "src", "user.x", b"\xff")
    stored_changes.apply(found.id, ["d", "notes", "src/main.py", "odd\nname"])
    journal = JournalFiles(transaction_store.directory(found.id)).read(1)
    assert from_text(to_text(journal)) == journal


def test_nobody_else_can_read_what_is_kept(work: Path) -> None:
    stored_changes.apply(hold(work, ODD).id)
    for place, directories, files in os.walk(transaction_store.root()):
        for name in directories:
            assert stat.S_IMODE(os.lstat(f"{place}/{name}").st_mode) == 0o700
        for name in files:
            assert stat.S_IMODE(os.lstat(f"{place}/{name}").st_mode) == 0o600


def test_a_name_is_found_by_its_beginning_unless_two_begin_so(work: Path) -> None:
    one, two = hold(work, "echo 1 > a"), hold(work, "echo 2 > b")
    short = next(n for n in range(1, 11) if one.id[:n] != two.id[:n])
    assert stored_changes.resolve(one.id[:short]) == one.id
    os.makedirs(transaction_store.directory(one.id[:9] + ("x" if one.id[9] != "x" else "y")))
    with pytest.raises(UsageError, match="beginning of several"):
        stored_changes.resolve(one.id[:9])
    with pytest.raises(PreviewGone):
        stored_changes.resolve("")
    assert set(stored_changes.previews()) == {one.id, two.id}


def later(name: str, seconds: float) -> None:
    """As if a transaction were that much older, and its process long gone."""
    entry = transaction_store.read_entry(name)
    shown = replace(entry.shown, when=entry.shown.when - seconds)
    active = entry.active and entry.active - seconds
    transaction_store.write_entry(replace(entry, shown=shown, active=active))
    overlay = store.find_overlay(name)
    assert overlay is not None
    store.recorded(replace(overlay, maker="1-1"))


def test_what_is_too_old_is_let_go_and_its_line_stays(work: Path) -> None:
    old, new = hold(work, "echo 1 > a"), hold(work, "echo 2 > b")
    stored_changes.apply(old.id)
    stored_changes.apply(new.id)
    later(old.id, 15 * 86400)
    overlay = stored_changes.overlay_of(old.id)
    assert stored_changes.collect_garbage(only_tell=True).ids == (old.id,)
    assert os.path.exists(overlay)
    assert stored_changes.collect_garbage().ids == (old.id,)
    assert not os.path.exists(os.path.dirname(overlay))
    assert standings() == {new.id: Standing.APPLIED, old.id: Standing.EXPIRED}
    with pytest.raises(UndoImpossible, match="is expired"):
        stored_changes.undo(old.id)
    assert stored_changes.collect_garbage() == Freed()
    stored_changes.undo(new.id)
    assert sorted(os.listdir(work)) == ["a", "link", "notes", "src"]


@pytest.mark.parametrize(
    "bounds", [RetentionBounds(count=2), RetentionBounds(size=250_000), RetentionBounds(share=0)]
)
def test_the_oldest_goes_first_when_there_is_too_much(work: Path, bounds: RetentionBounds) -> None:
    made = [hold(work, f"head -c 100000 /dev/urandom > new{n}").id for n in range(4)]
    for number, name in enumerate(made):
        later(name, 400 - number)
    freed = stored_changes.collect_garbage(bounds).ids
    gone = 3 if bounds.share == 0 else 2 if bounds.count == 2 else 1
    assert freed == tuple(made[:gone])
    assert {name for name, how in standings().items() if how is Standing.EXPIRED} == set(freed)


def test_a_preview_of_a_living_process_is_never_let_go(work: Path) -> None:
    found = hold(work, "echo 1 > a")
    assert stored_changes.collect_garbage(RetentionBounds(age=0, size=0, count=0)) == Freed()
    later(found.id, 1)
    assert stored_changes.collect_garbage(RetentionBounds(age=0, size=0, count=0)).ids == (
        found.id,
    )


def test_a_layer_that_nobody_remembers_is_let_go_once_its_process_is_gone(work: Path) -> None:
    overlay = store.make_overlay(str(work))
    Path(overlay.upper, "left").write_text("over\n")
    assert stored_changes.collect_garbage() == Freed()
    store.recorded(replace(overlay, maker="1-1"))
    assert stored_changes.collect_garbage().ids == (overlay.id,)
    assert not os.path.exists(overlay.directory)


def test_the_history_itself_is_bounded(work: Path) -> None:
    for number in range(5):
        stored_changes.discard(hold(work, f"echo {number} > a").id)
    last = hold(work, "echo 1 > b")
    stored_changes.collect_garbage(RetentionBounds(lines=3))
    assert len(stored_changes.history()) == 3
    assert stored_changes.history()[0].id == last.id


def test_two_processes_take_turns(work: Path) -> None:
    found = hold(work, "echo 1 > a")
    code = f"from redoma.pipeline.stored_changes import apply; print(apply({found.id!r}).id)"
    with locked(str(work), transaction_store.read_entry(found.id).root):
        other = subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": "src"},
        )
        time.sleep(1)
        assert (other.poll(), (work / "a").exists()) == (None, False)
        assert stored_changes.recover() == ()  # what a living process works on is not ours
    assert other.communicate(timeout=60)[0].strip() == found.id
    assert (work / "a").exists()


def test_a_workspace_that_is_gone_after_a_crash_is_told_and_blocks_nobody(
    own_places: Path, work: Path
) -> None:
    from redoma.jail.overlay.locks import UnfinishedWork

    found, other = hold(work, "echo 1 > a"), hold(populate(own_places / "two"), "echo 2 > b")
    with locked(str(work), transaction_store.read_entry(found.id).root) as lock:
        assert lock is not None
        lock.begin(UnfinishedWork(name=found.id, number=1, undoing=False, start=1, root_mtime=1))
    work.rename(own_places / "aside")
    assert stored_changes.recover() == (found.id,)
    entry = next(entry for entry in stored_changes.history() if entry.id == found.id)
    assert (entry.standing, entry.why) == (
        Standing.INTERRUPTED,
        f"the workspace {work} is not there any more",
    )
    before = tree(own_places / "aside")
    stored_changes.apply(other.id)
    stored_changes.discard(found.id)
    assert tree(own_places / "aside") == before
