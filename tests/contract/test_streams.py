"""What a command reads and prints passes through unchanged, and never too much of it."""

from __future__ import annotations

import os
import threading
import time

import pytest

from redoma import NO_LIMIT, Limits
from redoma.jail.supervisor.start import Control
from redoma.jail.supervisor.streams import ABANDONED
from redoma.model.result import Outcome
from tests.contract.machine import Machine

pytestmark = pytest.mark.both_users

EVERY_BYTE = bytes(range(256)) * 64


def test_every_byte_comes_back_as_it_was_given(machine: Machine) -> None:
    result = machine.sandbox().run("cat", stdin=EVERY_BYTE)
    assert (result.stdout, result.stderr, result.exit_code) == (EVERY_BYTE, b"", 0)


def test_the_two_streams_are_told_apart(machine: Machine) -> None:
    result = machine.sandbox().run("printf out; printf err >&2")
    assert (result.stdout, result.stderr) == (b"out", b"err")


def test_without_input_there_is_nothing_to_read(machine: Machine) -> None:
    assert machine.sandbox().run("cat; echo over").stdout == b"over\n"


def test_more_input_than_a_pipe_holds_is_read_to_its_end(machine: Machine) -> None:
    result = machine.sandbox().run("wc -c", stdin=b"x" * 3_000_000)
    assert result.stdout.split() == [b"3000000"]


def test_a_command_that_reads_nothing_is_not_waited_for(machine: Machine) -> None:
    result = machine.sandbox().run("exit 4", stdin=b"x" * 3_000_000)
    assert (result.outcome, result.exit_code) == (Outcome.EXITED, 4)


def test_a_descriptor_given_as_input_is_read_and_not_handed_over(machine: Machine) -> None:
    machine.victim.write_text("from a file")
    fd = os.open(machine.victim, os.O_RDWR)
    try:
        result = machine.sandbox().run("cat; echo x > /proc/self/fd/0", stdin=fd)
    finally:
        os.close(fd)
    assert (result.stdout, machine.victim.read_text()) == (b"from a file", "from a file")


def test_input_can_come_while_the_command_runs(machine: Machine) -> None:
    control = Control()

    def sink(_: int, data: bytes) -> None:
        if b"ready" in data:
            control.write(b"hello\n")
            control.end_input()

    result = machine.sandbox().run(
        "echo ready; read -r line; echo got $line; cat", stdin=None, sink=sink, control=control
    )
    control.close()
    assert result.stdout == b"ready\ngot hello\n"


def test_output_is_passed_on_as_it_comes(machine: Machine) -> None:
    seen: list[tuple[int, bytes]] = []
    first = threading.Event()
    control = Control()

    def sink(stream: int, data: bytes) -> None:
        seen.append((stream, data))
        if not first.is_set():
            first.set()
            control.write(b"go on\n")

    result = machine.sandbox().run(
        "echo one; read -r _; echo two >&2", stdin=None, sink=sink, control=control
    )
    control.close()
    assert seen == [(1, b"one\n"), (2, b"two\n")]
    assert result.exit_code == 0


def test_output_above_the_cap_is_cut_and_does_not_stop_the_command(machine: Machine) -> None:
    sandbox = machine.sandbox(limits=Limits(output=1000, output_total=10_000_000))
    result = sandbox.run("head -c 3000000 /dev/zero; echo ended > mark; exit 6")
    assert result.exit is not None
    assert (len(result.stdout), result.exit.truncated, result.exit_code) == (1000, True, 6)
    assert (machine.workspace / "mark").exists()
    assert result.exit.used.output_bytes == 3_000_000


def test_output_without_end_ends_the_run(machine: Machine) -> None:
    sandbox = machine.sandbox(limits=Limits(output=1000, output_total=2_000_000))
    result = sandbox.run("while :; do echo yes; done; exit 0")
    assert (result.outcome, len(result.stdout)) == (Outcome.OUTPUT_TOO_LARGE, 1000)


def test_a_terminal_is_one_inside(machine: Machine) -> None:
    result = machine.sandbox().run(
        "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo terminal", terminal=True
    )
    assert (result.stdout.strip(), result.exit_code) == (b"terminal", 0)


def test_limits_hold_while_a_reader_is_stuck(machine: Machine) -> None:
    stuck = threading.Event()
    try:
        result = machine.sandbox(limits=Limits(output=NO_LIMIT, output_total=NO_LIMIT)).run(
            "while :; do echo yes; done", timeout=1, sink=lambda *_: stuck.wait(60) and None
        )
    finally:
        stuck.set()
    assert result.outcome is Outcome.TIMED_OUT
    assert result.resources_used.wall_seconds < 20
    assert ABANDONED in result.notes


def test_a_slow_reader_gets_everything_of_a_command_that_ended(machine: Machine) -> None:
    seen: list[bytes] = []

    def sink(_: int, data: bytes) -> None:
        time.sleep(0.02)
        seen.append(data)

    sandbox = machine.sandbox(limits=Limits(output=NO_LIMIT, output_total=NO_LIMIT))
    result = sandbox.run("head -c 2000000 /dev/zero; exit 5", sink=sink)
    assert (result.exit_code, b"".join(seen)) == (5, bytes(2_000_000))


def test_a_reader_that_fails_ends_the_run_with_its_own_error(machine: Machine) -> None:
    def sink(*_: object) -> None:
        raise ValueError("gone")

    began = time.monotonic()
    with pytest.raises(ValueError, match="gone"):
        machine.sandbox().run("echo one; sleep 60", sink=sink)
    assert time.monotonic() - began < 20


def test_a_reader_that_goes_leaves_the_command_to_its_own_end(machine: Machine) -> None:
    def sink(*_: object) -> None:
        raise BrokenPipeError

    result = machine.sandbox().run("yes; echo after > after", sink=sink)
    assert (result.outcome, result.exit_code) == (Outcome.EXITED, 0)
    assert result.exit is not None and result.exit.unread == (1,)
    assert (machine.workspace / "after").exists()
