"""Real clusters of Ray on this machine: several nodes, each with a small store, gone at the end."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

STORE = 80 << 20
MEMORY = 1 << 30


def processes_of(session: str) -> list[str]:
    """The command lines of every process that names a session of Ray."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                line = Path(f"/proc/{entry}/cmdline").read_bytes()
            except OSError:
                continue
            if session.encode() in line:
                found.append(line.replace(b"\0", b" ").decode(errors="replace"))
    return found


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head that runs nothing and two nodes of two processors each."""
    yield from started(2)


def started(nodes: int) -> Iterator[Any]:
    """A cluster, whose every process is gone when it is over."""
    with warnings.catch_warnings():
        # What Ray's own modules do when they are imported is not ours to mend.
        warnings.filterwarnings("ignore", module=r"ray\b.*")
        warnings.filterwarnings("ignore", category=FutureWarning, message=".*Ray.*")
        from redoma.fleet.cluster import ray_library

        ray = ray_library()
        from ray.cluster_utils import Cluster

        kept = os.environ.get("RAY_AUTH_MODE")
        os.environ["RAY_AUTH_MODE"] = "disabled"  # a token would be written into somebody's home
        made = Cluster(
            initialize_head=True,
            head_node_args={
                "num_cpus": 0,
                "include_dashboard": False,
                "object_store_memory": STORE,
            },
        )
    try:
        for _ in range(nodes):
            made.add_node(num_cpus=2, object_store_memory=STORE, memory=MEMORY)
        session = made.head_node.get_session_dir_path()
        yield made
    finally:
        if ray.is_initialized():
            ray.shutdown()
        made.shutdown()
        if kept is None:
            del os.environ["RAY_AUTH_MODE"]
        else:
            os.environ["RAY_AUTH_MODE"] = kept
    until = time.monotonic() + 60
    while (left := processes_of(session)) and time.monotonic() < until:
        time.sleep(0.2)
    assert left == []


def waited(condition: Callable[[], bool], seconds: float = 120) -> bool:
    """Whether something came to be so in good time."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def staffed(fleet: Any) -> Any:
    """A fleet whose workers are all there: which of them runs what is else a matter of luck."""
    fleet.start()
    crew = fleet.crew
    slots = sum(suited.slots for *_, suited, _ in crew.reports() if suited)
    assert waited(lambda: sum(hand.ready for hand in tuple(crew.hands.values())) == slots)
    return fleet
