"""Redoma killed at any moment of a run: the audit log verifies, and the workspace is old or new."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time

import pytest

from redoma.audit.entries import AuditReader, EntryFilter
from redoma.audit.verification import verify
from tests.pipeline.place import Place
from tests.unit.cli.previewing import START


@pytest.mark.requirement("K14")
@pytest.mark.parametrize("times", [30, pytest.param(1000, marks=pytest.mark.full)])
def test_a_killed_run_leaves_a_whole_record_and_a_whole_workspace(place: Place, times: int) -> None:
    chance = random.Random(times)
    state = os.environ["XDG_STATE_HOME"]
    env = {**os.environ, "PATH": "/usr/bin:/bin"}
    script = "for n in 1 2 3 4; do echo {turn} > $n; done"
    names = [place.workspace / str(number) for number in range(1, 5)]

    def started(turn: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*START, "run", "-q", script.format(turn=turn)],
            cwd=place.workspace,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    began = time.monotonic()
    assert started(0).wait(60) == 0
    usual = time.monotonic() - began
    for turn in range(1, times + 1):
        process = started(turn)
        time.sleep(chance.uniform(0, usual * 1.2))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if turn % 10 == 0:
            # The next start ends what was begun, before it begins anything itself.
            subprocess.run([*START, "history"], cwd=place.workspace, env=env, check=True,
                           stdout=subprocess.DEVNULL)  # fmt: skip
            assert len({name.read_text() for name in names}) == 1
    assert started(times + 1).wait(60) == 0
    assert [name.read_text() for name in names] == [f"{times + 1}\n"] * 4
    found = verify(f"{state}/redoma/audit")
    assert (found.ok, found.faults) == (True, ())
    with AuditReader(f"{state}/redoma/audit") as reader:
        rows = list(reader.all(EntryFilter()))
    starts = {row.run for row in rows if row.kind == "run-starting"}
    ends = [row for row in rows if row.kind in ("run-ended", "interrupted")]
    applied = [json.loads(row.details)["changes"] for row in rows if row.kind == "applied"]
    assert {row.run for row in ends} <= starts
    assert starts == {row.run for row in ends}  # each start has its end, by hand or by the next
    assert len(applied) == len(set(applied))
