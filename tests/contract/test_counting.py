"""Whoever holds memory and written bytes, by control groups or by looking: each counts once."""

from __future__ import annotations

import pytest

from redoma import NO_LIMIT, Limits
from redoma.model.grant import Guarantee
from redoma.model.result import Outcome
from tests.contract.machine import Machine, claims

pytestmark = pytest.mark.both_users

MB = 1 << 20
SHARED_BY_WORKERS = """
import mmap, os, time
kept = mmap.mmap(-1, 200 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, len(kept), 4096): kept[at] = 1
workers = []
for _ in range(8):
    pid = os.fork()
    if pid == 0:
        total = sum(kept[at] for at in range(0, len(kept), 4096))
        time.sleep(0.7)
        os._exit(total != len(kept) // 4096)
    workers.append(pid)
assert all(os.waitpid(pid, 0)[1] == 0 for pid in workers)
print("done")
"""
EACH_ITS_OWN = SHARED_BY_WORKERS.replace(
    "total = sum(kept[at] for at in range(0, len(kept), 4096))",
    "total = 0\n        for at in range(0, len(kept), 4096): kept[at] = 2; total += 1",
)
BY_A_GRANDCHILD = """
sh -c 'sh -c "head -c 60000000 /dev/zero > f; sync f"; sleep 0.6; true'; sleep 0.6; echo done
"""


def test_pages_that_workers_share_count_once(machine: Machine) -> None:
    claims(machine.engine, Guarantee.MEMORY_WATCHED)
    (machine.workspace / "shared.py").write_text(SHARED_BY_WORKERS)
    result = machine.sandbox(limits=Limits(memory=600 * MB)).run("python3 shared.py")
    assert (result.outcome, result.stdout) == (Outcome.EXITED, b"done\n"), result.stderr


def test_pages_that_each_worker_wrote_count_for_each(machine: Machine) -> None:
    claims(machine.engine, Guarantee.MEMORY_WATCHED)
    (machine.workspace / "own.py").write_text(EACH_ITS_OWN)
    result = machine.sandbox(limits=Limits(memory=600 * MB)).run("python3 own.py")
    assert result.outcome is Outcome.OUT_OF_MEMORY
    assert result.exit is not None and "memory" in result.exit.limits_reached


def test_what_a_grandchild_wrote_counts_once(machine: Machine) -> None:
    claims(machine.engine, Guarantee.DISK_WATCHED)
    sandbox = machine.sandbox(limits=Limits(total_written=100 * MB, file_size=NO_LIMIT))
    result = sandbox.run(BY_A_GRANDCHILD)
    assert (result.outcome, result.stdout) == (Outcome.EXITED, b"done\n")
    assert 55 * MB <= result.resources_used.bytes_written <= 75 * MB
