"""What does an item of a fleet cost? Beside a loop of local warm runs, and bare tasks of Ray.

    python bench/fleet.py [--items N] [--nodes 1 2 4] [--queued N] [--seconds S]

All in one run on one machine: read the ratios. The nodes share its processors, so more nodes than
processors show what that costs, not what more machines would give. At last, a file of many items is
put before the driver, and what its memory does while it works on them for some seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from redoma import Access, Sandbox  # noqa: E402
from redoma.fleet import Fleet  # noqa: E402
from redoma.fleet.cluster import ray_library  # noqa: E402

COMMAND = ("/bin/true",)
STORE = 80 << 20


def timed(count: int, work: Callable[[], int]) -> float:
    """Milliseconds for each item."""
    began = time.perf_counter()
    assert work() == count
    return (time.perf_counter() - began) / count * 1000


def local(count: int) -> float:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        sandbox = Sandbox(place, access=Access(apply="never"))
        for _ in range(10):
            sandbox.run(COMMAND)
        return timed(count, lambda: sum(sandbox.run(COMMAND).ok for _ in range(count)))


def bare(ray: object, address: str, count: int) -> float:
    """The same command by tasks of Ray, with nothing around it."""
    ray.init(address=address, log_to_driver=False, logging_level=40)  # type: ignore[attr-defined]
    task = ray.remote(num_cpus=1)(  # type: ignore[attr-defined]
        lambda: subprocess.run(COMMAND, check=False, capture_output=True).returncode == 0
    )
    get = ray.get  # type: ignore[attr-defined]
    get([task.remote() for _ in range(10)])
    took = timed(count, lambda: sum(get([task.remote() for _ in range(count)])))
    ray.shutdown()  # type: ignore[attr-defined]
    return took


def fleet(address: str, count: int) -> tuple[float, float]:
    """One item after the other, and as many at once as there are slots."""
    with Fleet(address) as made:
        for _ in made.map([COMMAND] * 20, ordered=False):
            pass
        few = max(20, count // 4)
        alone = timed(few, lambda: sum(made.run(COMMAND).ok for _ in range(few)))
        many = made.map([COMMAND] * count, ordered=False)
        return alone, timed(count, lambda: sum(result.ok for result in many))


def resident() -> int:
    """KiB of this process that are resident."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") >> 10


def queued(address: str, count: int, seconds: float) -> None:
    """The driver's memory, with so many items before it, while it works on them."""
    from redoma.fleet.job_run import JobRun

    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        jobs = Path(place, "jobs.jsonl")
        jobs.write_text("".join(json.dumps([*COMMAND, str(n)]) + "\n" for n in range(count)))
        seen: list[tuple[int, int]] = []
        began: list[float] = []

        def show(progress: object) -> None:
            if progress.done >= 200:  # type: ignore[attr-defined]
                began.append(time.monotonic())
                run.stopping = began[-1] - began[0] > seconds
                seen.append((progress.done, resident()))  # type: ignore[attr-defined]

        run = JobRun(str(jobs), f"{place}/results.jsonl", show=show, address=address)
        run.run()
        print(f"{count} items queued, {seen[-1][0]} done: driver {seen[0][1]} KiB after 200, "
              f"{seen[-1][1]} KiB at the end, most {max(kib for _, kib in seen)} KiB")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--items", type=int, default=300)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--queued", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    os.environ["RAY_AUTH_MODE"] = "disabled"
    with tempfile.TemporaryDirectory(dir="/var/tmp") as state:
        os.environ["XDG_STATE_HOME"] = state
        ray = ray_library()
        from ray.cluster_utils import Cluster

        base = statistics.median(local(given.items // 3) for _ in range(3))
        print(f"local warm run, one after the other   {base:7.2f} ms/item")
        cluster = Cluster(
            initialize_head=True,
            head_node_args={
                "num_cpus": 0,
                "include_dashboard": False,
                "object_store_memory": STORE,
            },
        )
        try:
            there = 0
            for nodes in sorted(given.nodes):
                for _ in range(nodes - there):
                    cluster.add_node(num_cpus=1, object_store_memory=STORE, memory=1 << 30)
                there = nodes
                task = bare(ray, cluster.address, given.items)
                alone, many = fleet(cluster.address, given.items)
                print(f"{nodes} nodes of 1 processor: one by one {alone:7.2f} ms/item "
                      f"({alone / base:.2f} × local), together {many:7.2f} ({many / base:.2f} × local, "
                      f"{1000 / many:.0f} items/s); bare tasks {task:.2f}")  # fmt: skip
            queued(cluster.address, given.queued, given.seconds)
        finally:
            ray.shutdown()
            cluster.shutdown()


if __name__ == "__main__":
    main()
