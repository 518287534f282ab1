"""Whatever is killed, each item ends once: a worker, a node, the driver, in the middle of a job."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redoma import Access
from redoma.fleet import Fleet, ItemOutcome
from redoma.fleet.gathered_rows import verified
from tests.fleet.conftest import MEMORY, STORE, staffed, started, waited

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    yield from started(2)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory of the nodes' machine that every run may write: so a run cannot be repeated."""
    place = tmp_path / "outside"
    place.mkdir()
    os.chmod(tmp_path, 0o755)
    os.chmod(place, 0o777)
    return place


def workers(cluster: Any) -> list[int]:
    """The processes of this cluster alone that run items now; others may test beside this one."""
    session = cluster.head_node.get_session_dir_path().encode()
    found = []
    for line in listed("pid,ppid,args"):
        pid, above, name = line.split(None, 2)
        if name.startswith("ray::") and "FleetWorker" in name:
            with contextlib.suppress(OSError):
                if session in Path(f"/proc/{above}/cmdline").read_bytes():
                    found.append(int(pid))
    return found


def children(above: list[int]) -> list[int]:
    pairs = [line.split() for line in listed("pid,ppid")]
    return [int(pid) for pid, parent in pairs if int(parent) in above]


def end(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def listed(columns: str) -> list[str]:
    done = subprocess.run(["ps", "-eo", columns], check=False, capture_output=True, text=True)
    return done.stdout.splitlines()[1:]


@pytest.mark.parametrize("count", [300, pytest.param(2000, marks=pytest.mark.full)])
def test_a_node_is_killed_in_the_middle_and_no_item_is_lost_and_none_doubled(
    cluster: Any, count: int, tmp_path: Path
) -> None:
    doomed = cluster.add_node(num_cpus=1, object_store_memory=STORE, memory=MEMORY)
    node = doomed.node_id
    commands = [("/bin/echo", str(number)) for number in range(count)]
    ended, killed = [], False
    audit = str(tmp_path / "audit")
    with Fleet(cluster.address, audit=audit, slots=1) as fleet:
        staffed(fleet)
        for result in fleet.map(commands, ordered=False):
            ended.append(result)
            on_it = sum(r.node == node for r in ended)
            if on_it == count // 20 and not killed:
                cluster.remove_node(doomed, allow_graceful=False)
                killed = True
    assert killed
    assert sorted(result.number for result in ended) == list(range(count))
    assert {result.outcome for result in ended} == {ItemOutcome.FINISHED}
    for result in ended:
        assert result.result is not None and result.result.stdout == b"%d\n" % result.number
    found, _ = verified(audit)
    assert found.faults == ()


def test_a_worker_is_killed_and_what_it_had_begun_is_run_again_where_it_left_nothing(
    cluster: Any,
) -> None:
    with Fleet(cluster.address, slots=1) as fleet:
        pending = fleet.submit(_item("sleep 2.0625; echo done"))
        assert waited(lambda: _runs("sleep 2.0625"))
        end(workers(cluster))
        ended = pending.result()
    assert ended.outcome is ItemOutcome.FINISHED and ended.attempts == 2
    assert ended.result is not None and ended.result.stdout == b"done\n"


def test_an_item_that_always_ends_its_worker_is_given_up_after_so_many_attempts(
    cluster: Any,
) -> None:
    with Fleet(cluster.address, attempts=2, slots=1) as fleet:
        pending = fleet.submit(_item("sleep 600.0625"))
        for attempt in (1, 2):
            assert waited(lambda n=attempt: pending.attempts == n and _runs("sleep 600.0625"))
            end(workers(cluster))
            assert waited(lambda: not _runs("sleep 600.0625"))
        ended = pending.result()
    assert ended.outcome is ItemOutcome.BROKEN and ended.attempts == 2


def test_what_was_begun_and_reached_outside_is_never_run_twice_but_said_to_be_unknown(
    cluster: Any, outside: Path
) -> None:
    with Fleet(cluster.address, access=Access(write=(str(outside),)), slots=1) as fleet:
        pending = fleet.submit(_item(f"echo x >> {outside}/once; sleep 600"))
        assert waited((outside / "once").exists)
        # As Ray ends a worker, its children first: that is no end of the command's own.
        doomed = workers(cluster)
        end(children(doomed))
        time.sleep(0.5)
        end(doomed)
        ended = pending.result()
        assert ended.outcome is ItemOutcome.UNKNOWN and ended.attempts == 1
        assert fleet.run(("/bin/true",)).ok
    assert (outside / "once").read_text() == "x\n"


def test_a_driver_is_killed_and_the_job_goes_on_and_nothing_is_run_twice(
    cluster: Any, tmp_path: Path, outside: Path
) -> None:
    count = 60
    jobs, results = tmp_path / "jobs.jsonl", tmp_path / "results.jsonl"
    jobs.write_text(
        "".join(json.dumps(f"echo x >> {outside}/{n}; sleep 0.05") + "\n" for n in range(count))
    )
    command = [sys.executable, "-m", "redoma", "fleet", "run", str(jobs), "-o", str(results)]
    command += ["--address", cluster.address, "--allow-write", str(outside), "-q", "--slots", "1"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    driver = subprocess.Popen(command, env=env, cwd=tmp_path)
    try:
        assert waited(lambda: results.exists() and results.read_bytes().count(b"\n") >= 10)
    finally:
        driver.kill()
        driver.wait()
    before = results.read_bytes()
    with open(results, "ab") as file:  # and a line was cut off by it
        file.write(b'{"item": 0, "ok')
    again = subprocess.run(
        command, env=env, cwd=tmp_path, check=False, capture_output=True, timeout=480
    )
    assert again.returncode in (0, 1), again.stderr
    after = results.read_bytes()
    assert after.startswith(before)
    lines = [json.loads(line) for line in after.splitlines()]
    assert sorted(line["item"] for line in lines) == list(range(count))
    outcomes = Counter(line["outcome"] for line in lines)
    # At most what was at the two workers when the driver died was cut off.
    assert outcomes["finished"] >= count - 4 and set(outcomes) <= {"finished", "unknown"}
    times = Counter({n: (outside / str(n)).read_text().count("x") for n in range(count)
                     if (outside / str(n)).exists()})  # fmt: skip
    assert set(times.values()) == {1}
    finished = [line for line in lines if line["outcome"] == "finished"]
    assert [line for line in finished if line["item"] not in times] == []
    done = subprocess.run(
        command, env=env, cwd=tmp_path, check=False, capture_output=True, timeout=240
    )
    assert results.read_bytes() == after and done.returncode == again.returncode
    checked = subprocess.run(
        [*command[:4], "verify", str(results)],
        env=env,
        check=False,
        capture_output=True,
        timeout=240,
    )
    assert checked.returncode == 0, checked.stderr
    # Other options are another job.
    other = subprocess.run(
        [*command, "--level", "strict"], env=env, cwd=tmp_path, check=False, capture_output=True
    )
    assert other.returncode == 2 and b"other options" in other.stderr


def _item(command: str) -> Any:
    from redoma.fleet import FleetItem

    return FleetItem(command=command)


def _runs(command: str) -> bool:
    return any(line.strip() == command for line in listed("args"))
