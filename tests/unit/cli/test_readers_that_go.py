"""Whoever reads `redoma run` may stop reading: then it ends as a shell's command does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import PACKAGE

pytestmark = pytest.mark.both_users

START = (sys.executable, "-I", "-S", "-X", "utf8", str(PACKAGE / "__main__.py"))
PYTHON_THAT_IGNORES_SIGPIPE = """
import sys
open("gg", "w").write("x")
for number in range(100000):
    print(number)
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    (place / "prints.py").write_text(PYTHON_THAT_IGNORES_SIGPIPE)
    return place


def piped(
    workspace: Path, *arguments: str, into: str = "head -1", joined: str = ""
) -> tuple[int, str, str]:
    """Redoma's own status, what the reader passed on, and what was said on standard error."""
    script = f'{{ "$@" {joined}; echo $? >"$STATUS"; }} | {into}'
    status = workspace.parent / "status"
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *START, *arguments],
        cwd=workspace,
        env={**os.environ, "STATUS": str(status)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    said = done.stderr.decode()
    assert "Traceback" not in said and "could not do its work" not in said, said
    return int(status.read_text()), done.stdout.decode(), said


def test_what_was_written_is_applied_when_the_reader_stops(workspace: Path) -> None:
    status, read, said = piped(workspace, "run", "echo x > gg; seq 1 100000")
    assert (status, read) == (141, "1\n")
    assert (workspace / "gg").read_text() == "x\n", said


def test_what_a_program_that_ignores_sigpipe_wrote_is_applied_too(workspace: Path) -> None:
    _, read, said = piped(workspace, "run", "python3 prints.py 2>/dev/null")
    assert read == "0\n"
    assert (workspace / "gg").read_text() == "x", said


def test_a_command_without_end_ends_with_its_reader(workspace: Path) -> None:
    assert piped(workspace, "run", "yes")[:2] == (141, "y\n")


def test_a_command_that_goes_on_after_its_output_is_not_ended(workspace: Path) -> None:
    status, _, said = piped(workspace, "run", "seq 1 100000; sleep 0.2; echo late > late")
    assert status == 0, said
    assert (workspace / "late").read_text() == "late\n"


def test_a_reader_of_both_streams_may_stop_as_well(workspace: Path) -> None:
    status, read, _ = piped(
        workspace, "run", "echo x > gg; seq 1 100000 >&2; seq 1 100000", joined="2>&1"
    )
    assert (status, read.splitlines()[0]) == (141, "1")
    assert (workspace / "gg").read_text() == "x\n"


def test_standard_error_may_be_left_alone(workspace: Path) -> None:
    status, read, _ = piped(
        workspace,
        "run",
        "echo x > gg; seq 1 100000 >&2; echo done > done",
        joined="2>&1 >/dev/null",
    )
    assert (status, read) == (0, "1\n")
    assert (workspace / "done").read_text() == "done\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&-", "<&- >&- 2>&-"])
def test_streams_that_were_closed_before_are_no_reason_to_fail(
    workspace: Path, closed: str
) -> None:
    script = f'"$@" {closed}; exit $?'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *START, "run", "echo x > gg; echo said; echo told >&2"],
        cwd=workspace,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (workspace / "gg").read_text() == "x\n"
    assert b"Traceback" not in done.stderr


def test_output_that_cannot_be_written_is_said_and_nothing_is_lost(workspace: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*START, "run", "echo x > gg; echo said"],
            cwd=workspace,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert done.returncode == 125
    assert b"could not be written: No space left on device" in done.stderr
    assert (workspace / "gg").read_text() == "x\n"


def test_a_signal_of_its_own_still_keeps_what_was_written(workspace: Path) -> None:
    piped(workspace, "run", "echo x > gg; seq 1 100000; kill -SEGV $$")
    assert (workspace / "gg").read_text() == "x\n"


@pytest.mark.parametrize(
    "arguments",
    [["history", "--all"], ["audit", "list"], ["doctor", "--json"], ["run", "--json", "seq 1 9"]],
)
def test_data_of_ours_may_be_left_alone(workspace: Path, arguments: list[str]) -> None:
    status, _, said = piped(workspace, *arguments, into="exec true")
    assert status in (0, 141), said
    assert "hint:" not in said
