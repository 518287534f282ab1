"""One process at a time works in a workspace; nobody waits for another's, and readers mend first."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from redoma.jail.overlay import locks, site, transaction_store
from redoma.jail.overlay.locks import UnfinishedWork, anything_unfinished, locked, unfinished
from redoma.model.change import Standing
from redoma.pipeline import stored_changes
from tests.unit.jail.overlay.applied import hold, populate, tree
from tests.unit.jail.overlay.places import own_places

pytestmark = pytest.mark.both_users
_ = own_places


@pytest.fixture
def work(own_places: Path) -> Path:
    return populate(own_places / "work")


def identity(place: Path) -> tuple[int, int]:
    status = os.stat(place)
    return status.st_dev, status.st_ino


def is_free(place: Path) -> bool:
    with locked(str(place), identity(place), wait=False) as found:
        return found is not None


def test_two_workspaces_do_not_wait_for_each_other(own_places: Path, work: Path) -> None:
    other = populate(own_places / "other")
    found = hold(other, "echo 1 > new")
    with locked(str(work), identity(work)):
        stored_changes.apply(found.id)
        stored_changes.collect_garbage()
        assert (other / "new").exists()
        assert not is_free(work)
    assert is_free(work)


def test_workspaces_one_inside_the_other_take_turns(work: Path) -> None:
    with locked(str(work), identity(work)):
        assert not is_free(work / "src/deep")
    with locked(str(work / "src/deep"), identity(work / "src/deep")):
        assert not is_free(work)
        assert not is_free(work / "src")
        assert is_free(work.parent / "state")


def test_one_directory_by_two_names_has_one_lock(own_places: Path, work: Path) -> None:
    (own_places / "alias").symlink_to(work)
    with locked(str(work), identity(work)):
        assert not is_free(own_places / "alias")
        work.rename(own_places / "moved")
        assert not is_free(own_places / "moved")


def test_an_old_lock_that_is_removed_while_someone_waits_for_it_is_taken_anew(work: Path) -> None:
    taken: list[bool] = []

    def wait() -> None:
        with locked(str(work), identity(work)):
            taken.append(not is_free(work))

    with locked(str(work), identity(work)):
        waiting = threading.Thread(target=wait)
        waiting.start()
        time.sleep(0.2)
        for name in os.listdir(f"{locks.own_directories.state()}/locks"):
            os.unlink(f"{locks.own_directories.state()}/locks/{name}")
    waiting.join(30)
    assert taken == [True]


def test_locks_that_nobody_takes_any_more_are_removed(work: Path) -> None:
    assert is_free(work)
    with locked(str(work / "src"), identity(work / "src")):
        locks.remove_old(time.time() + 1)
        assert len(os.listdir(f"{locks.own_directories.state()}/locks")) >= 2  # those in use
    locks.remove_old(time.time() + 1)
    assert os.listdir(f"{locks.own_directories.state()}/locks") == []


def test_notes_of_several_workspaces_lie_beside_each_other(work: Path) -> None:
    notes = [
        UnfinishedWork(name=name, number=n, undoing=n == 2, start=n, root_mtime=-n)
        for n, name in enumerate(("one", "two", "three"))
    ]
    with locked(str(work), identity(work)) as taken:
        assert taken is not None
        for note in notes:
            taken.begin(note)
        assert unfinished() == notes
        taken.end(notes[1])
        assert unfinished() == [notes[0], notes[2]]
        taken.begin(notes[1])
        assert unfinished() == notes
        for note in notes:
            taken.end(note)
        assert not anything_unfinished()


@contextmanager
def in_the_middle(name: str, how: int, work: Callable[[str], object]) -> Iterator[int]:
    """Another process that got a signal after the first move of an apply or an undo."""
    pid = os.fork()
    if pid == 0:
        move = site.Mover.do, site.Mover.take_back

        def then_stop(which: int) -> Callable[..., None]:
            def moved(self: site.Mover, step: object) -> None:
                move[which](self, step)  # type: ignore[arg-type]
                os.kill(os.getpid(), how)

            return moved

        site.Mover.do = then_stop(0)  # type: ignore[method-assign]
        site.Mover.take_back = then_stop(1)  # type: ignore[method-assign]
        work(name)
        os._exit(0)
    _, status = os.waitpid(pid, os.WUNTRACED)
    try:
        yield pid
    finally:
        if os.WIFSTOPPED(status):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


SCRIPT = "echo 1 > a; echo 1 > b; rm -r src"
READERS: dict[str, Callable[[str], object]] = {
    "history": lambda name: stored_changes.history(),
    "previews": lambda name: stored_changes.previews(),
    "load": stored_changes.load,
    "overlay_of": stored_changes.overlay_of,
    "resolve": stored_changes.resolve,
    "gc": lambda name: stored_changes.collect_garbage(),
    "gc --dry-run": lambda name: stored_changes.collect_garbage(only_tell=True),
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_mends_what_a_killed_apply_left(work: Path, reader: str) -> None:
    before = tree(work, numbers=True)
    found = hold(work, SCRIPT)
    with in_the_middle(found.id, signal.SIGKILL, stored_changes.apply):
        assert tree(work, numbers=True) != before
        READERS[reader](found.id)
    assert tree(work, numbers=True) == before
    assert stored_changes.history()[0].standing is Standing.HELD


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_mends_what_a_killed_undo_left(work: Path, reader: str) -> None:
    found = hold(work, SCRIPT)
    stored_changes.apply(found.id)
    after = tree(work, numbers=True)
    with in_the_middle(found.id, signal.SIGKILL, stored_changes.undo):
        READERS[reader](found.id)
    assert tree(work, numbers=True) == after
    assert stored_changes.history()[0].standing is Standing.APPLIED


def test_what_a_living_process_is_in_the_middle_of_is_said_to_be_in_progress(work: Path) -> None:
    before = tree(work, numbers=True)
    found, other = hold(work, SCRIPT), hold(work, "echo 2 > c")
    with in_the_middle(found.id, signal.SIGSTOP, stored_changes.apply):
        standings = {entry.id: entry.standing for entry in stored_changes.history()}
        assert standings == {found.id: Standing.IN_PROGRESS, other.id: Standing.HELD}
        assert stored_changes.previews() == (other.id,)
        assert tree(work, numbers=True) != before
    standings = {entry.id: entry.standing for entry in stored_changes.history()}
    assert standings == {found.id: Standing.HELD, other.id: Standing.HELD}
    assert tree(work, numbers=True) == before


def test_what_died_in_a_workspace_around_is_mended_before_one_inside_it_changes(
    work: Path,
) -> None:
    before = tree(work, numbers=True)
    outer, inner = hold(work, SCRIPT), hold(work / "src", "echo 3 > new")
    with in_the_middle(outer.id, signal.SIGKILL, stored_changes.apply):
        assert tree(work, numbers=True) != before
    stored_changes.apply(inner.id)
    assert (work / "src/new").read_text() == "3\n"
    assert transaction_store.read_entry(outer.id).shown.standing is Standing.HELD
    stored_changes.undo(inner.id)
    assert tree(work, numbers=True) == before
