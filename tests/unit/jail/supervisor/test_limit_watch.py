"""A look at a running tree counts what is the tree's, and nothing of the machine's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.jail.kernel.process import process_tree
from redoma.jail.supervisor.limit_watch import LimitWatch, Pace, WrittenBytes
from redoma.jail.supervisor.limiter import Limiter
from redoma.model.grant import Limits

SOCKETS = 700


@pytest.fixture
def many_sockets() -> Iterator[int]:
    """A process that has a few megabytes, and many sockets."""
    program = (
        "import socket, sys\n"
        f"kept = [socket.socketpair() for _ in range({SOCKETS // 2})]\n"
        "print(flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


def test_the_machines_own_disk_is_not_what_a_run_holds_in_memory(tmp_path: Path) -> None:
    limiter = Limiter(Limits(total_written=1 << 40), None, frozenset())
    watch = LimitWatch(limiter, os.getpid(), "/", in_memory=(str(tmp_path),))
    assert (watch.look(), watch.peak_memory) == ("", 0)


@pytest.mark.parametrize(("limit", "past"), [(60 << 20, "memory"), (1 << 30, "")])
def test_sockets_count_where_their_buffers_could_pass_the_limit(
    many_sockets: int, limit: int, past: str
) -> None:
    limiter = Limiter(Limits(memory=limit), None, frozenset())
    assert LimitWatch(limiter, many_sockets, "/").look() == past


def test_the_faster_memory_grows_towards_its_limit_the_sooner_it_is_looked_at_again() -> None:
    pace = Pace(1000 << 20)
    waits = []
    for memory, at in ((100, 0.0), (110, 1.0), (400, 1.05), (800, 1.1), (980, 1.11), (980, 1.2)):
        pace.saw(memory << 20, at)
        waits.append(round(pace.patience, 4))
    # What grew fast a moment ago is believed to stand still only little by little.
    assert waits == [0.05, 0.05, 0.0345, 0.0083, 0.002, 0.002]
    for at in range(2, 30):
        pace.saw(980 << 20, float(at))
    assert pace.patience == 0.05


def test_an_exact_count_that_is_below_the_estimate_before_it_does_not_put_off_the_next_look() -> (
    None
):
    pace = Pace(1 << 30)
    for memory, at in ((900, 1.0), (1000, 1.05), (990, 1.08)):
        pace.saw(memory << 20, at)
    assert pace.patience < 0.02


def test_a_tree_that_is_only_watched_gives_way_to_its_watcher() -> None:
    limiter = Limiter(Limits(memory=1 << 30), None, frozenset())
    with subprocess.Popen(["/bin/sh", "-c", "sleep 60 & wait"]) as process:
        try:
            watch = LimitWatch(limiter, process.pid, "/")
            watch._give_way()
            own = os.getpriority(os.PRIO_PROCESS, 0)
            found = {os.getpriority(os.PRIO_PROCESS, pid) for pid in process_tree(process.pid)}
            assert found == {min(19, own + 5)}
        finally:
            for pid in reversed(process_tree(process.pid)):
                os.kill(pid, signal.SIGKILL)


SHARED = """
import mmap, os, signal, sys
kept = mmap.mmap(-1, 200 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, len(kept), 4096): kept[at] = 1
workers = []
for _ in range(8):
    pid = os.fork()
    if pid == 0:
        def write(*_):
            for at in range(0, len(kept), 4096): kept[at] = 2
            os.write(1, b"wrote\\n")
        signal.signal(signal.SIGUSR1, write)
        os.write(1, b"ready\\n")
        while True: signal.pause()
    workers.append(pid)
for line in sys.stdin:
    for pid in workers: os.kill(pid, signal.SIGUSR1)
for pid in workers: os.kill(pid, signal.SIGKILL)
"""


def test_pages_that_workers_share_count_once_until_each_has_its_own() -> None:
    limiter = Limiter(Limits(memory=700 << 20), None, frozenset())
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", SHARED], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        try:
            for _ in range(8):
                process.stdout.readline()
            watch = LimitWatch(limiter, process.pid, "/")
            assert watch.look() == ""
            assert 200 << 20 <= watch.peak_memory < 400 << 20
            process.stdin.write(b"\n")
            process.stdin.flush()
            for _ in range(8):
                process.stdout.readline()
            watch._next_full = 0.0
            assert watch.look() == "memory"
        finally:
            process.stdin.close()


def test_what_a_reaped_child_wrote_counts_once() -> None:
    written = WrittenBytes()
    looks = [
        {1: 0, 2: 0, 3: 100},  # a grandchild writes
        {1: 0, 2: 0},  # read just before its parent waited for it
        {1: 0, 2: 100},  # its parent has its count
        {1: 100, 4: 50},
        {1: 100},  # this one nobody waited for
        {1: 100},
        {1: 130},
    ]
    assert [written.total(look) for look in looks] == [100, 100, 100, 150, 150, 150, 180]


def test_a_disk_that_gets_full_ends_the_run_before_it_is(tmp_path: Path) -> None:
    limiter = Limiter(Limits(keep_free=1 << 30), None, frozenset())
    watch = LimitWatch(limiter, os.getpid(), str(tmp_path))
    assert watch.look() == ""
    watch.keep = 1 << 60  # as if others had filled it meanwhile
    assert watch.look() == "keep_free"
