"""How a command ended is told as a shell would tell it."""

from __future__ import annotations

import signal

import pytest

from redoma.model.result import Outcome
from tests.contract.machine import Machine

pytestmark = pytest.mark.both_users


@pytest.mark.parametrize("code", [0, 1, 3, 42, 125, 126, 127, 128, 255])
def test_a_commands_own_status_is_the_result(machine: Machine, code: int) -> None:
    result = machine.sandbox().run(f"exit {code}")
    assert (result.outcome, result.exit_code, result.ok) == (Outcome.EXITED, code, code == 0)


def test_a_program_without_a_shell_has_its_own_status(machine: Machine) -> None:
    assert machine.sandbox().run(["/bin/sh", "-c", 'exit "$1"', "sh", "9"]).exit_code == 9


@pytest.mark.parametrize("name", ["no-such-program", "/no/such/program", "./no-such-program"])
def test_a_missing_program_is_127(machine: Machine, name: str) -> None:
    result = machine.sandbox().run([name, "argument"])
    assert (result.outcome, result.exit_code) == (Outcome.EXITED, 127)


def test_a_file_that_is_no_program_is_126(machine: Machine) -> None:
    (machine.workspace / "text").write_text("not a program")
    (machine.workspace / "directory").mkdir()
    assert [machine.sandbox().run([f"./{n}"]).exit_code for n in ("text", "directory")] == [
        126,
        126,
    ]


def test_a_script_that_names_no_reader_is_read_by_the_shell(machine: Machine) -> None:
    made = machine.workspace / "script"
    made.write_text("echo read by $0\n")
    made.chmod(0o755)
    result = machine.sandbox().run([str(made)])
    assert (result.exit_code, result.stdout.decode()) == (0, f"read by {made}\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGHUP])
def test_a_command_that_a_signal_ended_is_told_so(machine: Machine, number: int) -> None:
    result = machine.sandbox().run(f"kill -{int(number)} $$; sleep 5")
    assert result.exit is not None
    assert (result.outcome, result.exit.signal, result.exit_code) == (
        Outcome.SIGNALLED,
        int(number),
        128 + number,
    )


def test_a_command_begins_with_no_signal_ignored(machine: Machine) -> None:
    said = machine.sandbox().run(["cat", "/proc/self/status"]).stdout.decode()
    ignored = dict(line.split(":\t") for line in said.splitlines())["SigIgn"]
    assert int(ignored, 16) & 0x7FFFFFFF == 0  # above are those of the C library
