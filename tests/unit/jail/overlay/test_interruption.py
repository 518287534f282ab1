"""Ctrl-C after a command: nothing is changed, or everything is, and what is said of it is true."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from redoma import Sandbox
from redoma.jail.overlay import changes, site, store, transaction_store
from redoma.model.change import Standing
from redoma.pipeline import stored_changes
from redoma.pipeline.decisions.policies import load_policy
from redoma.pipeline.transactions import local_transactions
from tests.crash.victim import events_of
from tests.unit.jail.overlay.applied import (
    another_file_system,
    hold,
    hold_elsewhere,
    populate,
    tree,
)
from tests.unit.jail.overlay.places import own_places

pytestmark = pytest.mark.both_users
_ = own_places
SCRIPT = "echo 1 >> notes; rm -r src; mkdir d; echo 2 > d/x; echo 3 > a; echo 4 > b"


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Ctrl-C comes through, also where whoever started these tests had it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def work(own_places: Path) -> Path:
    return populate(own_places / "work")


def stop() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def stop_at(monkeypatch: pytest.MonkeyPatch, name: str, number: int) -> None:
    """Ctrl-C right after the nth move, or the nth move back."""
    move, left = getattr(site.Mover, name), [number]

    def moved(self: site.Mover, step: object) -> None:
        move(self, step)
        left[0] -= 1
        if left[0] == 0:
            stop()

    monkeypatch.setattr(site.Mover, name, moved)


def standing(name: str) -> Standing:
    return transaction_store.read_entry(name).shown.standing


def test_an_apply_that_is_stopped_between_two_moves_is_taken_back(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = hold(work, SCRIPT)
    before = tree(work, numbers=True)
    stops = 0
    for number in range(1, 20):
        with monkeypatch.context() as patched:
            stop_at(patched, "do", number)
            try:
                stored_changes.apply(found.id)
            except KeyboardInterrupt:
                stops += 1
                assert tree(work, numbers=True) == before
                assert standing(found.id) is Standing.HELD
                continue
        break
    assert stops >= 3
    assert standing(found.id) is Standing.APPLIED  # it came with the last move: all was done
    after = tree(work, numbers=True)
    for number in range(1, 20):
        with monkeypatch.context() as patched:
            stop_at(patched, "take_back", number)
            try:
                stored_changes.undo(found.id)
            except KeyboardInterrupt:
                stops -= 1
                assert tree(work, numbers=True) == after
                assert standing(found.id) is Standing.APPLIED
                continue
        break
    assert stops == 0
    assert tree(work, numbers=True) == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def interrupted_at(point: int, work: Callable[[], object]) -> int:
    """How a process ended that got a Ctrl-C at that point.

    0: it was done; 1: stopped, and said that nothing was changed; 3: stopped, and said nothing.
    """
    pid = os.fork()
    if pid == 0:
        left = point

        def count_down(frame: FrameType, event: str, argument: object) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                stop()

        status = 2
        try:
            sys.setprofile(count_down)
            work()
            status = 0
        except KeyboardInterrupt as stopped:
            status = 1 if stopped.args else 3
        finally:
            sys.setprofile(None)
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.slow
@pytest.mark.parametrize("copied", [False, True])
def test_wherever_ctrl_c_comes_what_is_said_of_it_is_true(work: Path, copied: bool) -> None:
    chance = random.Random(5)
    policy = load_policy(str(work))
    transactions = local_transactions(policy)
    with another_file_system() as place:
        name = (hold_elsewhere(work, SCRIPT, place) if copied else hold(work, SCRIPT)).id

        def apply() -> object:
            return transactions.apply(name)

        def undo() -> object:
            return transactions.undo(name)

        apply()
        undo()
        points = {apply: events_of(apply), undo: events_of(undo)}
        ends: list[int] = []
        for _ in range(100):
            todo = undo if standing(name) is Standing.APPLIED else apply
            before = tree(work, times=False)
            ended = interrupted_at(chance.randrange(1, points[todo]), todo)
            assert ended in (0, 1, 3)
            stored_changes.recover()
            done = standing(name) is (Standing.APPLIED if todo is apply else Standing.UNDONE)
            assert ended == 3 or done == (ended == 0)
            assert (tree(work, times=False) == before) != done
            ends.append(ended)
    assert {0, 1} <= set(ends)
    assert ends.count(3) < len(ends) // 4


def test_a_run_that_is_stopped_while_its_changes_are_read_leaves_nothing(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = changes.read_changes

    def read_and_stop(*given: object) -> object:
        stop()
        return read(*given)  # type: ignore[arg-type]

    before = tree(work, numbers=True)
    monkeypatch.setattr(changes, "read_changes", read_and_stop)
    with pytest.raises(KeyboardInterrupt) as stopped:
        Sandbox(str(work)).run(SCRIPT)
    assert stopped.value.args == (stored_changes.LET_GO,)
    assert tree(work, numbers=True) == before
    assert (stored_changes.history(), store.overlays()) == ((), [])


def test_a_run_that_is_stopped_when_its_changes_are_held_says_how_to_keep_them(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "redoma.jail.overlay.apply.choose", lambda *_, **__: stop() or pytest.fail("not stopped")
    )
    before = tree(work, numbers=True)
    with pytest.raises(KeyboardInterrupt) as stopped:
        Sandbox(str(work)).run(SCRIPT)
    (entry,) = stored_changes.history()
    assert f"redoma apply {entry.id} keeps" in stopped.value.args[0]
    assert tree(work, numbers=True) == before
    assert entry.standing is Standing.HELD
