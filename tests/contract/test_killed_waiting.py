"""Killed while a sandbox waits for its word, we leave no command that begins without us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from redoma.jail.protect.run_journal import MARK, kill_orphaned_waiters, mark
from redoma.jail.supervisor.start import end_unseen
from tests.contract.machine import Machine
from tests.contract.test_permit import waiting_for

pytestmark = pytest.mark.both_users
ROOT = Path(__file__).parents[2]
SUPERVISOR = """
import os, sys, time
sys.path[:0] = [{root!r}, {root!r} + "/src"]
from pathlib import Path
from tests.contract.machine import Machine
from tests.contract.test_permit import planned
from redoma.pipeline.execute import execute
from redoma.pipeline.this_host import this_host

made = Machine.__new__(Machine)
made.engine, made.base = {engine!r}, Path({base!r})
made.workspace = made.base / "work"
if made.engine == "forkserver":
    execute(planned(made, "true"), this_host())

def killed():
    time.sleep(0.3)
    print("waits", flush=True)
    time.sleep(600)

execute(planned(made, {command!r}), this_host(), wait_for_start=killed)
"""
NEXT = """
import sys
sys.path[:0] = [{root!r} + "/src"]
from redoma.pipeline.this_host import this_host
this_host()
"""


def test_a_command_never_begins_after_its_supervisor_was_killed(machine: Machine) -> None:
    command = f": {machine.base.name}; echo $$ > begun"
    code = SUPERVISOR.format(
        root=str(ROOT),
        engine=machine.engine,
        base=str(machine.base),
        command=command,
    )
    supervisor = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert supervisor.stdout is not None
    assert supervisor.stdout.readline() == b"waits\n"
    supervisor.send_signal(signal.SIGKILL)
    supervisor.wait()
    supervisor.stdout.close()
    time.sleep(0.5)  # long enough to begin, for what begins
    assert os.listdir(machine.workspace) == []
    subprocess.run([sys.executable, "-c", NEXT.format(root=str(ROOT))], check=True)
    assert waiting_for(command) == []
    assert os.listdir(machine.workspace) == []


def sleeper(word: str) -> subprocess.Popen[bytes]:
    """A process with a word on its command line."""
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", word])


class Started:
    """A supervisor whose sandbox is being made."""

    killed = False

    def kill(self) -> None:
        self.killed = True


@pytest.mark.parametrize("told", ['{{ "child-pid": {} }}\n', '{{"child-pid": {}, "net": 1}}'])
def test_a_first_process_that_is_only_told_of_is_ended_with_the_attempt(told: str) -> None:
    first, run = sleeper("first"), Started()
    reads, writes = os.pipe()
    os.write(writes, told.format(first.pid).encode())
    try:
        end_unseen(run, reads)  # type: ignore[arg-type]
        assert (run.killed, first.wait(10)) == (True, -signal.SIGKILL)
    finally:
        first.kill()
        first.wait()
        os.close(reads)
        os.close(writes)


def test_only_what_waits_for_a_supervisor_that_is_gone_is_ended() -> None:
    namespace = mark().removeprefix(MARK).partition("-")[0]
    gone = f"{os.getpid()}-1"  # our number, and another's start
    waits = {
        "gone": sleeper(f"{MARK}{namespace}-{gone}"),
        "alive": sleeper(mark()),
        "elsewhere": sleeper(f"{MARK}1-{gone}"),
        "other": sleeper(gone),
    }
    try:
        time.sleep(0.2)
        kill_orphaned_waiters()
        assert waits["gone"].wait(10) == -signal.SIGKILL
        assert [name for name, each in waits.items() if each.poll() is None] == [
            *("alive", "elsewhere", "other")
        ]
    finally:
        for each in waits.values():
            each.kill()
            each.wait()


def test_a_command_has_no_end_of_the_pipe_that_it_waited_on(machine: Machine) -> None:
    made = machine.sandbox().run("ls -l /proc/self/fd")
    assert made.ok
    held = [line.split(" -> ")[0].split()[-1] for line in made.stdout.decode().splitlines()[1:]]
    assert set(held) <= {"0", "1", "2", "3"}  # 3 is what `ls` itself reads
