"""A process killed in the middle of an apply or an undo leaves the old tree or the new, never a mix.

The next start finds what was left and brings it to one end. A start that is killed itself is no
exception.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.jail.protect.untrusted_paths import remove_tree
from redoma.model.change import Standing
from redoma.pipeline import stored_changes
from tests.crash.victim import events_of, killed_at
from tests.unit.jail.overlay.applied import populate, tree

pytestmark = [pytest.mark.both_users, pytest.mark.slow]

POINTS = {"renaming": 260, "copying": 130}  # of an apply, and as many of an undo
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
from tests.unit.jail.overlay.applied import hold, hold_elsewhere
work, script, *elsewhere = sys.argv[1:]
if elsewhere:
    print(hold_elsewhere(Path(work), script, Path(elsewhere[0])).id)
else:
    print(hold(Path(work), script).id)
"""


def prepare(work: Path, *elsewhere: Path) -> str:
    """A workspace and what is held over it; made by another process, so that we have no threads."""
    populate(work)
    (work / "gone/in").mkdir(parents=True)
    (work / "gone/in/file").write_text("file\n")
    (work / "kept").write_text("kept\n")
    (work / "shut").mkdir(mode=0o555)
    made = subprocess.run(
        [sys.executable, "-c", HOLD, str(work), SCRIPT, *map(str, elsewhere)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"src:{os.getcwd()}"},
    )
    return made.stdout.strip()


def start_again(chance: random.Random, points: int) -> None:
    """What every start does first; now and then that is killed as well."""
    while chance.random() < 0.2:
        killed_at(chance.randrange(1, points), stored_changes.recover)
    stored_changes.recover()


def drawn(chance: random.Random, points: int) -> int:
    """Any point; every second time one of the last quarter, where things are done and written.

    What is remembered grows by and by, and with it the way to the end.
    """
    return chance.randrange(chance.choice((1, points * 3 // 4)), points * 9 // 8)


def standing() -> Standing:
    entry = stored_changes.history()[0]
    assert entry.why == ""
    return entry.standing


class Held:
    """What is held, over which workspace, and how often to be killed with it."""

    def __init__(self, name: str, work: Path, times: int) -> None:
        self.name = name
        self.work = work
        self.times = times


@pytest.fixture(params=["renaming", "copying"])
def case(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    # In memory, where nothing waits for a disk.
    base = Path(tempfile.mkdtemp(prefix="rdm-crash-", dir="/dev/shm"))
    base.chmod(0o755)
    monkeypatch.setenv("XDG_STATE_HOME", str(base / "state"))
    elsewhere = Path(tempfile.mkdtemp(prefix="rdm-crash-", dir="/var/tmp"))
    places = [elsewhere] if request.param == "copying" else []
    try:
        name = prepare(base / "work", *places)
        yield Held(name, base / "work", POINTS[request.param])
    finally:
        remove_tree(str(base))
        remove_tree(str(elsewhere))


def test_an_apply_that_is_killed_has_happened_or_has_not(case: Held) -> None:
    name, work = case.name, case.work
    chance = random.Random(1)
    old = tree(work)
    stored_changes.apply(name)
    stored_changes.undo(name)
    points = events_of(lambda: stored_changes.apply(name))
    new = tree(work)
    stored_changes.undo(name)
    assert tree(work) == old
    ends = {"old": 0, "new": 0}
    for _ in range(case.times):
        killed_at(drawn(chance, points), lambda: stored_changes.apply(name))
        start_again(chance, points)
        now = without_directory_times(tree(work))
        if standing() is Standing.APPLIED:
            assert now == without_directory_times(new)
            ends["new"] += 1
            stored_changes.undo(name)
        else:
            ends["old"] += 1
        assert tree(work) == old
    assert min(ends.values()) > 0


def test_an_undo_that_is_killed_has_happened_or_has_not(case: Held) -> None:
    name, work = case.name, case.work
    chance = random.Random(2)
    old = tree(work)
    stored_changes.apply(name)
    stored_changes.undo(name)
    stored_changes.apply(name)
    points = events_of(lambda: stored_changes.undo(name))
    ends = {"old": 0, "new": 0}
    for _ in range(case.times):
        if standing() is not Standing.APPLIED:
            stored_changes.apply(name)
        new = tree(work)
        killed_at(drawn(chance, points), lambda: stored_changes.undo(name))
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
