"""When a run is over nothing of it is left: no process, no descriptor, no file of ours."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from redoma import Limits
from redoma.jail.supervisor.start import Control
from redoma.model.grant import Guarantee
from redoma.model.result import Outcome
from redoma.pipeline.async_sandbox import AsyncSandbox
from tests.contract.machine import Machine, claims

pytestmark = pytest.mark.both_users

ROOT = Path(__file__).resolve().parents[2]
# Leaves its session, its parents and its streams, as a daemon does.
DAEMON = "(setsid sh -c 'while :; do sleep 1; done' {token} </dev/null >/dev/null 2>&1 &) ; "


def alive(token: str, *, within: float = 3.0) -> list[int]:
    """Processes with this word on their command line that live longer than a moment."""
    until = time.monotonic() + within
    while True:
        found = []
        for name in os.listdir("/proc"):
            try:
                words = Path(f"/proc/{name}/cmdline").read_bytes() if name.isdigit() else b""
            except OSError:
                continue
            if token.encode() in words and int(name) != os.getpid():
                found.append(int(name))
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.05)


@pytest.fixture
def token() -> str:
    return f"token{secrets.token_hex(8)}"


def test_a_background_process_does_not_outlive_its_command(machine: Machine, token: str) -> None:
    claims(machine.engine, Guarantee.TREE_KILLED)
    result = machine.sandbox().run(DAEMON.format(token=token) + "sleep 0.2; echo over")
    assert (result.stdout, alive(token)) == (b"over\n", [])


def test_nothing_outlives_a_timeout(machine: Machine, token: str) -> None:
    claims(machine.engine, Guarantee.TREE_KILLED)
    result = machine.sandbox().run(DAEMON.format(token=token) + "sleep 60", timeout=0.8)
    assert (result.outcome, alive(token)) == (Outcome.TIMED_OUT, [])


def test_a_process_that_keeps_forking_is_ended(machine: Machine, token: str) -> None:
    claims(machine.engine, Guarantee.TREE_KILLED)
    hop = f"hop() {{ : {token}; (hop &) ; }}; hop; sleep 60"
    result = machine.sandbox(limits=Limits(processes=40)).run(hop, timeout=0.8)
    assert (result.outcome in (Outcome.TIMED_OUT, Outcome.TOO_MANY_PROCESSES), alive(token)) == (
        True,
        [],
    )


def test_a_cancelled_run_ends_at_once_with_all_it_started(machine: Machine, token: str) -> None:
    control = Control()
    timer = threading.Timer(0.6, control.cancel)
    timer.start()
    began = time.monotonic()
    result = machine.sandbox().run(DAEMON.format(token=token) + "sleep 60", control=control)
    timer.join()
    control.close()
    assert (result.outcome, alive(token)) == (Outcome.CANCELLED, [])
    assert time.monotonic() - began < 15


def test_a_signal_is_passed_on_to_the_command(machine: Machine) -> None:
    control = Control()

    def sink(_: int, data: bytes) -> None:
        if b"ready" in data:
            control.signal(signal.SIGTERM)

    text = "trap 'echo caught; exit 8' TERM; echo ready; while :; do sleep 0.05; done"
    result = machine.sandbox().run(text, sink=sink, control=control, timeout=20)
    control.close()
    assert (result.exit_code, b"caught" in result.stdout) == (8, True)


def test_an_awaited_run_is_the_same_run(machine: Machine) -> None:
    profile = str(machine.profile())

    async def go() -> tuple[bytes, int]:
        sandbox = AsyncSandbox(str(machine.workspace), level=profile, engine=machine.engine)
        first, second = await asyncio.gather(sandbox.run("echo one"), sandbox.run("exit 2"))
        return first.stdout, second.exit_code

    assert asyncio.run(go()) == (b"one\n", 2)


def test_a_cancelled_task_ends_its_run_first(machine: Machine, token: str) -> None:
    profile = str(machine.profile())

    async def go() -> None:
        sandbox = AsyncSandbox(str(machine.workspace), level=profile, engine=machine.engine)
        task = asyncio.create_task(sandbox.run(DAEMON.format(token=token) + "sleep 60"))
        await asyncio.sleep(0.8)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
    assert alive(token) == []


def test_runs_side_by_side_do_not_meet(machine: Machine) -> None:
    results: dict[int, bytes] = {}

    def one(number: int) -> None:
        place = machine.base / f"side{number}"
        place.mkdir()
        results[number] = machine.sandbox(workspace=place).run(f"echo {number} > f; cat f").stdout

    threads = [threading.Thread(target=one, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: b"%d\n" % n for n in range(4)}


def test_ten_runs_leave_no_descriptor_behind(machine: Machine) -> None:
    sandbox = machine.sandbox()
    sandbox.run("true")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        sandbox.run("true", stdin=b"x")
    until = time.monotonic() + 5
    while len(os.listdir("/proc/self/fd")) > before and time.monotonic() < until:
        time.sleep(0.05)  # a layer's mounts are let go a little later
    assert len(os.listdir("/proc/self/fd")) <= before


def test_with_a_killed_supervisor_dies_its_tree(machine: Machine, token: str) -> None:
    claims(machine.engine, Guarantee.TREE_KILLED)
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from redoma import Sandbox\n"
        "def sink(_, data): print(data.decode(), flush=True)\n"
        "Sandbox(sys.argv[2], level=sys.argv[3], engine=sys.argv[4]).run(sys.argv[5], sink=sink)\n"
    )
    command = DAEMON.format(token=token) + "echo ready; sleep 60"
    place, profile = str(machine.workspace), str(machine.profile())
    # The word stands on the supervisor's own command line too, until it is killed.
    supervisor = subprocess.Popen(
        [sys.executable, "-c", script, str(ROOT / "src"), place, profile, machine.engine, command],
        stdout=subprocess.PIPE,
    )
    assert supervisor.stdout is not None
    try:
        assert supervisor.stdout.readline().strip() == b"ready"
    finally:
        supervisor.kill()
        supervisor.wait()
        supervisor.stdout.close()
    assert alive(token, within=5) == []
