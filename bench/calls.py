"""What does a Python call cost? `Sandbox.call(len, "x")` beside bubblewrap's `/bin/true`.

    python bench/calls.py [--rounds N] [--loop N] [--together N]

The ways take turns in one run, since a busy machine changes from second to second: read the ratios.
Then a loop of calls and what it left behind, and as many calls at once from threads and tasks.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import resource
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from bench.launch import measured, start, traces, usual  # noqa: E402
from redoma import AsyncSandbox, Sandbox  # noqa: E402


def added(one: int, other: int) -> int:
    """A function of the caller's own: sent by value, since it is the program's."""
    return one + other


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def memory() -> int:
    """Kilobytes that are resident now."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1024


def costs(workspace: str, rounds: int) -> float:
    """Milliseconds of each way, each in turns with bubblewrap; the ratio of the simplest call."""
    sandbox = Sandbox(workspace)
    bwrap = usual(workspace)
    ways: dict[str, Callable[[], None]] = {
        "Sandbox.call(len, 'x')": lambda: _is(sandbox.call(len, "x"), 1),
        "Sandbox.call of a function of __main__": lambda: _is(sandbox.call(added, 1, 2), 3),
        "Sandbox.run(/bin/true)": lambda: sandbox.run(["/bin/true"]).raise_for_outcome() and None,
    }
    ratios = []
    for name, way in ways.items():
        times = measured({"bwrap": lambda: start(bwrap, {}), name: way}, rounds)
        base, middle = (statistics.median(took) for took in times.values())
        ratios.append(middle / base)
        least = min(times[name]) / min(times["bwrap"])
        print(f"{name:40}{middle:9.2f} ms  bwrap{base:9.2f} ms  {middle / base:5.2f} ×"
              f"  (least of each: {least:.2f} ×)")  # fmt: skip
    return ratios[0]


def leaves(workspace: str, loop: int) -> None:
    """What a loop of calls leaves behind."""
    sandbox = Sandbox(workspace)
    for _ in range(20):
        sandbox.call(len, "x")
    before, fds, kilobytes = traces(workspace), descriptors(), memory()
    began = time.perf_counter()
    for _ in range(loop):
        _is(sandbox.call(len, "x"), 1)
    took = time.perf_counter() - began
    # Mounts of layers are let go a little later, many at once.
    until = time.monotonic() + 5
    while descriptors() > fds and time.monotonic() < until:
        time.sleep(0.2)
    after = traces(workspace)
    print(f"{loop} calls in {took:.1f} s; descriptors {fds} → {descriptors()}; "
          f"memory {kilobytes} → {memory()} kB; {before} → {after}")  # fmt: skip


def together(workspace: str, count: int) -> None:
    """So many calls at once, from threads and from one event loop."""
    sandbox = Sandbox(workspace)
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda at=at: found.append(sandbox.call(added, at, 1)))
        for at in range(count)
    ]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{count} threads: {sorted(found) == list(range(1, count + 1))} "
          f"in {time.perf_counter() - began:.1f} s")  # fmt: skip

    async def awaited() -> list[int]:
        own = AsyncSandbox(workspace)
        return await asyncio.gather(*(own.call(added, at, 1) for at in range(count)))

    began = time.perf_counter()
    values = asyncio.run(awaited())
    print(f"{count} tasks: {values == list(range(1, count + 1))} "
          f"in {time.perf_counter() - began:.1f} s")  # fmt: skip


def _is(found: object, wanted: object) -> None:
    assert found == wanted, (found, wanted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--loop", type=int, default=1000)
    parser.add_argument("--together", type=int, default=50)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rdm-calls-", dir="/var/tmp") as workspace:
        ratio = costs(workspace, given.rounds)
        print(f"a call is {ratio:.2f} × bubblewrap's launch; load {os.getloadavg()[0]:.1f}")
        if given.together:
            together(workspace, given.together)
        if given.loop:
            leaves(workspace, given.loop)


if __name__ == "__main__":
    main()
