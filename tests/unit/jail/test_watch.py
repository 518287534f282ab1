"""A look at a running tree counts what is the tree's, and nothing of the machine's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.jail.run.limiter import Limiter
from redoma.jail.run.watch import Pace, Watch
from redoma.model.access import Limits

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
    watch = Watch(limiter, os.getpid(), "/", in_memory=(str(tmp_path),))
    assert (watch.look(), watch.peak_memory) == ("", 0)


@pytest.mark.parametrize(("limit", "past"), [(60 << 20, "memory"), (1 << 30, "")])
def test_sockets_count_where_their_buffers_could_pass_the_limit(
    many_sockets: int, limit: int, past: str
) -> None:
    limiter = Limiter(Limits(memory=limit), None, frozenset())
    assert Watch(limiter, many_sockets, "/").look() == past


def test_the_faster_memory_grows_towards_its_limit_the_sooner_it_is_looked_at_again() -> None:
    pace = Pace(1000 << 20)
    waits = []
    for memory, at in ((100, 0.0), (110, 1.0), (400, 1.05), (800, 1.1), (980, 1.11), (980, 1.2)):
        pace.saw(memory << 20, at)
        waits.append(round(pace.patience, 4))
    assert waits == [0.05, 0.05, 0.05, 0.0125, 0.002, 0.05]
