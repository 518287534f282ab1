"""Help comes from the table: every row is there, every line fits, and what it shows works."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from redoma.cli import COMMANDS, load
from redoma.cli.help import WIDTH, page
from redoma.cli.options import Sample
from redoma.i18n import choose
from tests.unit.cli.running import START, run

SAMPLES = [(name, sample) for name in COMMANDS for sample in load(name).samples]


@pytest.mark.parametrize("language", ["en", "pt-BR"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_has_every_row_and_fits_a_screen(name: str, language: str) -> None:
    table = load(name)
    choose(language)
    try:
        text = page(table)
    finally:
        choose("")
    assert [row.spelled for row in table.offered() if row.name not in text] == []
    assert [name for name in table.subcommands if f"\n  {name} " not in text] == []
    assert [line for line in text.splitlines() if len(line) > WIDTH] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_help_and_a_command_is_the_commands_help(name: str) -> None:
    asked = run("help", name)
    assert (asked.status, asked.out) == (0, run(name, "--help").out)


@pytest.mark.parametrize("name", ["policy", "audit", "vault", "plan", "hook", "completion"])
def test_a_command_that_needs_a_second_word_explains_itself_without_one(name: str) -> None:
    done = run(name)
    assert (done.status, done.out) == (2, "")
    assert done.err == run(name, "--help").out


def test_redoma_alone_says_what_there_is() -> None:
    done = run()
    assert (done.status, done.out, done.err) == (2, "", run("--help").out)


def test_every_command_shows_how_it_is_used() -> None:
    assert set(COMMANDS) == {name for name, _ in SAMPLES}


# A shell is for a person at a terminal: without one it waits for them.
RUN_ALONE = [(name, sample) for name, sample in SAMPLES if name != "shell"]


@pytest.mark.parametrize(("name", "sample"), RUN_ALONE, ids=[s.line for _, s in RUN_ALONE])
def test_an_example_of_the_help_does_what_it_says(
    name: str, sample: Sample, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    (tmp_path / "path").mkdir()
    project.mkdir()
    script = tmp_path / "path/redoma"
    words = " ".join(f"'{word}'" for word in START)
    script.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    script.chmod(0o755)
    env = {
        "PATH": f"{tmp_path / 'path'}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
        **{f"XDG_{kind}_HOME": str(tmp_path / kind) for kind in ("STATE", "CACHE", "CONFIG")},
    }
    line = sample.line

    def shell(text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", text],
            cwd=project,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    if name == "apply":
        line = line.replace("ID", json.loads(shell("redoma preview --json 'touch a'").stdout)["id"])
    if name == "undo":
        assert shell("redoma run 'touch a'").returncode == 0
    done = shell(line)
    assert done.returncode == sample.status, (line, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr


def test_a_run_loads_no_help() -> None:
    code = (
        f"import sys; sys.path[:0] = [{str(Path(load.__code__.co_filename).parents[2])!r}]\n"
        "from redoma.__main__ import main\nmain(['check', 'ls'])\n"
        "print(sorted(m for m in sys.modules if m.startswith('redoma.cli.')))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "utf8", "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stdout.splitlines()[-1]
    assert "redoma.cli.help" not in loaded
    assert "redoma.cli.run_options" not in loaded
