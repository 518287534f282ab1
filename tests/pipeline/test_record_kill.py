"""Whatever is killed, whenever: the audit log verifies, and what was said to be written is there."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from redoma.audit.log import AuditLog
from redoma.audit.verification import verify
from tests.unit.audit import dying
from tests.unit.audit.story import entries

WRITERS = 1000


@pytest.mark.slow
@pytest.mark.requirement("S12")
def test_a_thousand_writers_killed_at_random_points_leave_a_record_that_verifies(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "audit"
    seed = random.randrange(1 << 32)
    done = subprocess.run(
        [sys.executable, dying.__file__, str(directory), str(WRITERS), str(seed)],
        capture_output=True,
        text=True,
        check=True,
        timeout=900,
    )
    told = done.stdout.splitlines()
    assert len(told) > WRITERS // 10, f"seed {seed}: the writers wrote"
    found = verify(str(directory))
    assert found.faults == (), f"seed {seed}"

    kinds: dict[str, list[str]] = {}
    for entry in entries(directory):
        if entry.kind != "judged":
            kinds.setdefault(entry.run, []).append(entry.kind)
    for line in told:
        word, _, run = line.partition(" ")
        wanted = "run-starting" if word == "started" else "run-ended"
        assert wanted in kinds.get(run, []), f"seed {seed}: {line} was said and is not there"
    lives = {tuple(kind) for kind in kinds.values()}
    ended, interrupted = ("run-starting", "run-ended"), ("run-starting", "interrupted")
    assert lives <= {ended, interrupted, ("run-starting",)}, f"seed {seed}"

    with AuditLog(str(directory), keep=None) as record:
        record.close_interrupted()
    over: dict[str, list[str]] = {}
    for entry in entries(directory):
        if entry.kind != "judged":
            over.setdefault(entry.run, []).append(entry.kind)
    assert {tuple(kind) for kind in over.values()} == {ended, interrupted}, f"seed {seed}"
    assert verify(str(directory)).ok
