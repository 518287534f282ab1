"""No audit log, no run: a command begins when it may, and not at all where it may not."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from redoma.jail.engines.choice import plan
from redoma.jail.profiles.profile import load
from redoma.model.errors import RecordUnavailable
from redoma.model.grant import RunPlan
from redoma.model.request import Request, ShellCommand
from redoma.model.value import replace
from redoma.pipeline.execute import execute
from redoma.pipeline.this_host import this_host
from tests.contract.machine import Machine

pytestmark = pytest.mark.both_users
STANDS_BY_THEN = 0.2


def planned(machine: Machine, command: str) -> RunPlan:
    grant = load(str(machine.profile())).grant(str(machine.workspace))
    if not machine.declared.confines:
        grant = replace(grant, require=frozenset())
    grant = replace(grant, prefer=(machine.engine,))
    return plan(Request(workload=ShellCommand(text=command)), grant, this_host())


def waiting_for(command: str) -> list[str]:
    """The processes that still want to run a command; reaping may lag behind a kill."""
    until = time.monotonic() + 10
    while found := [
        pid for pid in os.listdir("/proc") if pid.isdigit() and command.encode() in _words_of(pid)
    ]:
        if time.monotonic() > until:
            break
        time.sleep(0.05)
    return found


def _words_of(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def no_disk() -> None:
    """The start of the run does not reach the disk, when the sandbox stands and waits."""
    time.sleep(STANDS_BY_THEN)
    raise RecordUnavailable("the disk is full")


def test_what_may_not_begin_never_does(machine: Machine) -> None:
    before = len(os.listdir("/proc/self/fd"))
    command = f": {machine.base.name}; echo $$ > begun"
    with pytest.raises(RecordUnavailable, match="the disk is full"):
        execute(planned(machine, command), this_host(), wait_for_start=no_disk)
    assert waiting_for(command) == []
    # Only now: what was left waiting begins a moment later, when its door falls open behind us.
    assert os.listdir(machine.workspace) == []
    # And nothing of the attempt is in the way of the next one.
    assert execute(planned(machine, ": > begun"), this_host()).ok
    assert os.listdir(machine.workspace) == ["begun"]
    assert len(os.listdir("/proc/self/fd")) - before < 16  # what the engine itself keeps


def test_a_command_begins_after_it_may(machine: Machine) -> None:
    begun = Path(machine.workspace) / "begun"
    seen: list[bool] = []

    def look() -> None:
        time.sleep(0.3)
        seen.append(begun.exists())

    assert execute(planned(machine, ": > begun"), this_host(), wait_for_start=look).ok
    assert (seen, begun.exists()) == ([False], True)
