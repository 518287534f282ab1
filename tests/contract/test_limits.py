"""Limits hold for the whole tree, and each is an outcome of its own."""

from __future__ import annotations

import time

import pytest

from redoma import Limits
from redoma.model.grant import Guarantee
from redoma.model.result import Outcome
from tests.contract.machine import Machine, claims

pytestmark = pytest.mark.both_users

# Each of four pipes holds a buffer of 40 MB as long as nobody reads. fullblock: a stop of the tree
# while its pages are counted cuts a read from /dev/zero short, and dd would never have its 40 MB.
MEMORY_OF_A_TREE = """
for i in 1 2 3 4; do dd if=/dev/zero bs=40M count=1 iflag=fullblock 2>/dev/null | sleep 4 & done
wait; exit 9
"""
# The builtin loop gives a look at the tree time to happen; it needs no process.
MANY_PROCESSES = """
(for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
    sleep 20 & done; echo all >&2; :) 2>said
i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done
exit 9
"""


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(machine: Machine) -> None:
    began = time.monotonic()
    result = machine.sandbox().run("(setsid sleep 40 &); sleep 30 & sleep 30", timeout=0.7)
    assert (result.outcome, result.exit_code) == (Outcome.TIMED_OUT, 124)
    assert time.monotonic() - began < 15


def test_what_was_printed_before_the_end_of_time_is_kept(machine: Machine) -> None:
    result = machine.sandbox().run("echo early; sleep 30", timeout=1)
    assert (result.outcome, result.stdout) == (Outcome.TIMED_OUT, b"early\n")


def test_more_memory_than_allowed_is_an_outcome(machine: Machine) -> None:
    claims(machine.engine, Guarantee.MEMORY_WATCHED)
    result = machine.sandbox(limits=Limits(memory=96 << 20)).run(MEMORY_OF_A_TREE)
    assert result.outcome is Outcome.OUT_OF_MEMORY


def test_one_process_cannot_have_more_memory_than_allowed(machine: Machine) -> None:
    claims(machine.engine, Guarantee.MEMORY_WATCHED)
    result = machine.sandbox(limits=Limits(memory=64 << 20)).run(
        "dd if=/dev/zero of=/dev/null bs=300M count=1 iflag=fullblock && echo had it"
    )
    assert (b"had it" in result.stdout, result.ok) == (False, False)


def test_more_processes_than_allowed_are_refused(machine: Machine) -> None:
    claims(machine.engine, Guarantee.PROCESSES_CAPPED)
    result = machine.sandbox(limits=Limits(processes=12)).run(MANY_PROCESSES)
    assert "all" not in (machine.workspace / "said").read_text().splitlines()
    assert not result.ok
    if machine.engine != "landlock":  # there the kernel counts the whole user, and tells nobody
        assert result.outcome is Outcome.TOO_MANY_PROCESSES


def test_a_file_above_its_size_is_refused(machine: Machine) -> None:
    sandbox = machine.sandbox(limits=Limits(file_size=1 << 20))
    result = sandbox.run("head -c 3000000 /dev/zero > big; echo $?")
    assert (machine.workspace / "big").stat().st_size <= 1 << 20
    assert result.stdout.strip() != b"0"


def test_more_open_files_than_allowed_are_refused(machine: Machine) -> None:
    sandbox = machine.sandbox(limits=Limits(open_files=64))
    assert sandbox.run("ulimit -n; ulimit -Hn").stdout.split() == [b"64", b"64"]


def test_more_written_than_allowed_ends_the_run(machine: Machine) -> None:
    claims(machine.engine, Guarantee.DISK_WATCHED)
    sandbox = machine.sandbox(limits=Limits(total_written=16 << 20, file_size=8 << 20))
    result = sandbox.run(
        "i=0; while [ $i -lt 400 ]; do head -c 4000000 /dev/zero > f$i; i=$((i+1)); done",
        timeout=40,
    )
    assert result.outcome is Outcome.DISK_FULL


def test_more_processor_time_than_allowed_ends_the_run(machine: Machine) -> None:
    claims(machine.engine, Guarantee.CPU_WATCHED)
    result = machine.sandbox(limits=Limits(cpu_seconds=1)).run("while :; do :; done", timeout=40)
    assert result.outcome is Outcome.CPU_TIME_SPENT


def test_what_was_used_is_told(machine: Machine) -> None:
    result = machine.sandbox().run(
        "dd if=/dev/zero of=/dev/null bs=30M count=4 iflag=fullblock 2>/dev/null; sleep 0.3"
    )
    used = result.resources_used
    assert used.wall_seconds >= 0.3
    assert used.peak_memory >= 30 << 20
    assert used.cpu_seconds > 0


def test_each_limit_names_what_held_it(machine: Machine) -> None:
    result = machine.sandbox().run("true")
    assert result.exit is not None
    told = dict(result.exit.limited_by)
    assert {"open_files", "file_size", "wall_seconds", "output"} <= told.keys()
    assert all(told.values())


def test_more_address_space_than_allowed_is_refused(machine: Machine) -> None:
    sandbox = machine.sandbox(limits=Limits(address_space=256 << 20))
    assert sandbox.run("ulimit -v; ulimit -Hv").stdout.split() == [b"262144", b"262144"]
