"""Long output goes through the reader's pager, and only where there is a reader."""

from __future__ import annotations

import os
import pty
import sys
from pathlib import Path

import pytest

from redoma.cli.console import pager
from redoma.jail.supervisor.streams import fed
from tests.house.tree import PACKAGE


@pytest.mark.parametrize(
    ("environment", "chosen"),
    [
        ({"TERM": "xterm"}, ("less", "-FRX")),
        ({"TERM": "dumb"}, ()),
        ({}, ()),
        ({"TERM": "xterm", "PAGER": "more -d"}, ("more", "-d")),
        ({"TERM": "xterm", "PAGER": "cat"}, ()),
        ({"TERM": "xterm", "PAGER": ""}, ()),
        ({"TERM": "xterm", "PAGER": "less", "REDOMA_PAGER": "most"}, ("most",)),
        ({"TERM": "xterm", "PAGER": "less; touch /tmp/x"}, ("less;", "touch", "/tmp/x")),
        ({"TERM": "xterm", "PAGER": "less '"}, ()),
    ],
)
def test_the_pager_is_the_readers_choice_and_no_shell_reads_it(
    environment: dict[str, str], chosen: tuple[str, ...]
) -> None:
    assert pager(environment) == chosen


def test_a_pager_that_cannot_be_started_has_taken_nothing() -> None:
    assert fed(("no-such-pager",), iter([b"text"])) is False


def test_a_reader_who_stops_early_ends_the_writing(tmp_path: Path) -> None:
    out = tmp_path / "seen"
    stop = ("sh", "-c", f"head -c 4 > '{out}'")
    assert fed(stop, (b"x" * 65536 for _ in range(1000))) is True
    assert out.read_bytes() == b"xxxx"


def test_on_a_terminal_the_report_goes_through_the_pager(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    seen = tmp_path / "seen"
    script = tmp_path / "pager"
    script.write_text(f"#!/bin/sh\ncat > '{seen}'\n")
    script.chmod(0o755)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path / "project")
        start = [sys.executable, "-I", "-S", "-X", "utf8", str(PACKAGE / "__main__.py")]
        env = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "TERM": "xterm",
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "REDOMA_PAGER": str(script),
        }
        os.execve(start[0], [*start, "preview", "echo x > new"], env)
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:
        pass  # the terminal is gone with its last process
    finally:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert seen.read_text().startswith("\x1b[32m+ new  +1 -0\x1b[0m\n")
