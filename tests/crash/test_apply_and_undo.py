"""A process killed in the middle of an apply or an undo leaves the old tree or the new, never a mix.

The next start finds what was left and brings it to one end. A start that is killed itself is no
exception.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from redoma.flow import changes as held
from redoma.model.transaction import Standing
from tests.crash.victim import events_of, killed_at
from tests.unit.jail.overlay.applied import populate, tree
from tests.unit.jail.overlay.places import own_places

pytestmark = [pytest.mark.both_users, pytest.mark.slow]
_ = own_places

POINTS = 260  # of each: apply and undo, by renaming and by copying
# Some of everything: new, changed, gone, moved, replaced by another kind, closed, linked.
SCRIPT = """
echo more >> src/main.py; rm notes; mkdir notes; echo 1 > notes/one
mv src/deep deeper; echo 3 > src/three; ln src/three src/four; ln link other-link
mkdir -p new/in; echo 1 > new/in/x; chmod 500 new/in; rm link; echo file > link
rm -r gone; chmod 750 shut; echo late > shut/late; chmod 555 shut; ln kept second
"""
HOLD = """
import sys
from pathlib import Path
from tests.unit.jail.overlay.applied import hold
print(hold(Path(sys.argv[1]), sys.argv[2]).id)
"""


def prepare(work: Path) -> str:
    """A workspace and what a command holds over it; made elsewhere, so this process has no threads."""
    populate(work)
    (work / "gone/in").mkdir(parents=True)
    (work / "gone/in/file").write_text("file\n")
    (work / "kept").write_text("kept\n")
    (work / "shut").mkdir(mode=0o555)
    made = subprocess.run(
        [sys.executable, "-c", HOLD, str(work), SCRIPT],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"src:{os.getcwd()}"},
    )
    return made.stdout.strip()


def start_again(chance: random.Random, points: int) -> None:
    """What every start does first; now and then that is killed as well."""
    while chance.random() < 0.2:
        killed_at(chance.randrange(1, points), held.recover)
    held.recover()


def drawn(chance: random.Random, points: int) -> int:
    """Any point; every second time one of the last quarter, where things are done and written."""
    return chance.randrange(chance.choice((1, points * 3 // 4)), points)


def standing() -> Standing:
    return held.history()[0].standing


@pytest.fixture(params=["renaming", "copying"])
def work(request: pytest.FixtureRequest, own_places: Path) -> Path:
    if request.param == "renaming":
        return own_places / "work"
    return Path(request.getfixturevalue("elsewhere")) / "work"


@pytest.fixture
def elsewhere() -> object:
    """A directory on another file system than the state directory's."""
    from tempfile import mkdtemp

    from redoma.jail.overlay.removing import remove_tree

    place = mkdtemp(prefix="rdm-elsewhere-", dir="/dev/shm")
    os.chmod(place, 0o755)
    yield place
    remove_tree(place)


def test_an_apply_that_is_killed_has_happened_or_has_not(work: Path) -> None:
    name, chance = prepare(work), random.Random(1)
    old = tree(work)
    held.apply(name)
    held.undo(name)
    points = events_of(lambda: held.apply(name))
    new = tree(work)
    held.undo(name)
    assert tree(work) == old
    ends = {"old": 0, "new": 0}
    for _ in range(POINTS):
        killed_at(drawn(chance, points), lambda: held.apply(name))
        start_again(chance, points)
        now = without_directory_times(tree(work))
        if standing() is Standing.APPLIED:
            assert now == without_directory_times(new)
            ends["new"] += 1
            held.undo(name)
        else:
            ends["old"] += 1
        assert tree(work) == old
    assert min(ends.values()) > 0


def test_an_undo_that_is_killed_has_happened_or_has_not(work: Path) -> None:
    name, chance = prepare(work), random.Random(2)
    old = tree(work)
    held.apply(name)
    held.undo(name)
    held.apply(name)
    points = events_of(lambda: held.undo(name))
    ends = {"old": 0, "new": 0}
    for _ in range(POINTS):
        if standing() is not Standing.APPLIED:
            held.apply(name)
        new = tree(work)
        killed_at(drawn(chance, points), lambda: held.undo(name))
        start_again(chance, points)
        if standing() is Standing.APPLIED:
            assert tree(work) == new
            ends["new"] += 1
        else:
            assert tree(work) == old
            ends["old"] += 1
    assert min(ends.values()) > 0


def without_directory_times(found: dict[str, object]) -> dict[str, object]:
    """A second apply leaves directories with the time of that apply."""
    return {
        path: (*value[:5], 0, *value[6:])
        if isinstance(value, tuple) and value[6] is None
        else value
        for path, value in found.items()
    }
