"""Someone who swaps a directory for a link while changes are applied gets nothing outside written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from redoma.model.errors import ChangeError
from redoma.pipeline import stored_changes
from tests.unit.jail.overlay.applied import hold, populate, tree
from tests.unit.jail.overlay.places import own_places

pytestmark = [pytest.mark.both_users, pytest.mark.slow]
_ = own_places
# Swaps `src` and a link to a directory outside, as fast as it can, until it is told to stop.
SWAPPER = """
import os, sys
print("ready", flush=True)
while True:
    os.rename("src", "aside"); os.rename("trap", "src")
    os.rename("src", "trap"); os.rename("aside", "src")
"""


def test_a_parent_that_is_a_link_every_other_moment_leads_nowhere(own_places: Path) -> None:
    work, outside = populate(own_places / "work"), own_places / "outside"
    (outside / "deep").mkdir(parents=True)
    for name in ("main.py", "deep/one", "deep/two"):
        (outside / name).write_text("not yours\n")
    (work / "trap").symlink_to(outside)
    script = "echo 1 >> src/main.py; echo 2 >> src/deep/one; rm src/deep/two; echo 3 > src/new"
    found = hold(work, script)
    before = tree(outside, numbers=True)
    swapper = subprocess.Popen(
        [sys.executable, "-c", SWAPPER], cwd=work, stdout=subprocess.PIPE, text=True
    )
    assert swapper.stdout is not None
    swapper.stdout.readline()
    applied = refused = 0
    try:
        for _ in range(40):
            try:
                stored_changes.apply(found.id)
                applied += 1
            except ChangeError:
                refused += 1
            if applied:
                try:
                    stored_changes.undo(found.id)
                    applied -= 1
                except ChangeError:
                    refused += 1
                    break
    finally:
        swapper.kill()
        swapper.communicate()
    assert tree(outside, numbers=True) == before
    assert refused > 0  # else the swapper was never in the way, and nothing was tried
    assert not os.path.lexists(outside / "new")
