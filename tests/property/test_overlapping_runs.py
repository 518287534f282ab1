"""For any runs that overlap in any way: what is applied is what some order of them would leave.

A run that overlaps another is applied, or it is refused and nothing of it is. What was applied
equals the same commands one after the other, in one order or another.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redoma.model.errors import ApplyConflict, UndoImpossible
from redoma.pipeline import stored_changes
from tests.property.test_apply_undo import own_places
from tests.unit.jail.overlay.applied import populate
from tests.unit.jail.overlay.overlapping import Going

pytestmark = [pytest.mark.both_users, pytest.mark.slow]

FILES = ("notes", "src/main.py", "src/deep/one", "src/deep/two")
DIRECTORIES = ("src", "src/deep")


def script_of(chance: random.Random, work: Path, name: str) -> str:
    """A command of which each part has an effect on the workspace as it is now.

    A part without effect would only have read: nobody promises that what was read is still so.
    """
    files = [file for file in FILES if (work / file).exists()]
    places = [place for place in ("", *DIRECTORIES) if (work / place).is_dir()]
    parts = []
    for number in range(chance.randrange(1, 3)):
        target = f"{chance.choice(places) or '.'}/new-{chance.choice('ab')}"
        kinds = ["make"]
        if files:
            kinds += ["append", "append", "write", "remove", "move"]
        if number == 0 and len(places) > 1:
            kinds += ["remove directory", "move directory"]
        kind = chance.choice(kinds)
        if kind == "make":
            parts.append(f"echo {name} > {target}")
        elif kind == "remove directory":
            parts.append(f"rm -r {chance.choice(places[1:])}")
            break
        elif kind == "move directory":
            parts.append(f"mv -T {chance.choice(places[1:])} moved-{name}")
            break
        else:
            file = files.pop(chance.randrange(len(files)))
            parts.append(
                {
                    "append": f"echo {name} >> {file}",
                    "write": f"echo {name} > {file}.tmp; mv {file}.tmp {file}",
                    "remove": f"rm {file}",
                    "move": f"mv {file} {target}",
                }[kind]
            )
    return "; ".join(parts)


def contents(root: Path) -> dict[str, str]:
    """Every path and what is in it."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = f"link to {os.readlink(path)}"
        else:
            found[name] = "directory" if path.is_dir() else path.read_text()
    return found


def outcomes(first: Path, scripts: list[str], room: Path) -> list[dict[str, str]]:
    """What each order of these scripts leaves."""
    found = []
    for order in permutations(scripts):
        shutil.copytree(first, room, symlinks=True)
        for script in order:
            subprocess.run(["/bin/sh", "-c", script], cwd=room, check=False, capture_output=True)
        found.append(contents(room))
        shutil.rmtree(room)
    return found


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(seed=st.integers(0, 2**32))
def test_what_overlapping_runs_leave_is_what_some_order_of_them_leaves(seed: int) -> None:
    chance = random.Random(seed)
    with own_places() as base:
        work = populate(base / "work")
        first = base / "first"
        shutil.copytree(work, first, symlinks=True)
        waiting = [f"run{number}" for number in range(chance.randrange(2, 4))]
        going: dict[str, tuple[Going, str]] = {}
        read: dict[str, tuple[str, str]] = {}
        applied: dict[str, str] = {}
        while waiting or going or read:
            kind = chance.choice([*"b" * len(waiting), *"e" * len(going), *"a" * len(read)])
            if kind == "b":
                name = waiting.pop()
                script = script_of(chance, work, name)
                pause = chance.choice((f"{script}; PAUSE", f"PAUSE {script}"))
                # Each begins from what is there, which may be gone when it is its turn.
                going[name] = Going(work, f"{pause}\ntrue").__enter__(), script
            elif kind == "e":
                name = chance.choice(sorted(going))
                run, script = going.pop(name)
                found = run.ended()
                if run.failed:
                    continue
                if found.items:
                    read[name] = found.id, script
                else:
                    applied[name] = script
            else:
                name = chance.choice(sorted(read))
                transaction, script = read.pop(name)
                before = contents(work)
                try:
                    stored_changes.apply(transaction)
                except ApplyConflict:
                    assert contents(work) == before
                else:
                    applied[name] = script
                    if chance.random() < 0.2:
                        try:
                            stored_changes.undo(transaction)
                        except UndoImpossible:
                            raise AssertionError("nobody changed it since") from None
                        assert contents(work) == before
                        del applied[name]
        left = contents(work)
        assert left in outcomes(first, list(applied.values()), base / "room"), (applied, left)
        assert not [name for name in os.listdir(work) if name.startswith(".redoma")]
