"""Shells complete what the tables say, and the manual page is one that `man` reads."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from redoma.cli import COMMANDS, load
from tests.unit.cli.running import run


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> Path:
    script = tmp_path_factory.mktemp("completion") / "redoma.bash"
    script.write_text(run("completion", "bash").out)
    return script


def completed(script: Path, *words: str, cwd: Path) -> list[str]:
    """What a real bash offers for the last of these words."""
    code = (
        f"source {script}; COMP_WORDS=(redoma {' '.join(repr(word) for word in words)});"
        f" COMP_CWORD={len(words)}; compopt() {{ :; }}; _redoma; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", code], cwd=cwd, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands(bash: Path, tmp_path: Path) -> None:
    assert completed(bash, "che", cwd=tmp_path) == ["check"]
    assert set(COMMANDS) < set(completed(bash, "", cwd=tmp_path))
    assert completed(bash, "--language", "pt", cwd=tmp_path) == ["pt-BR"]
    assert completed(bash, "--language", "en", "undo", "--js", cwd=tmp_path) == ["--json"]
    assert completed(bash, "help", "und", cwd=tmp_path) == ["undo"]


def test_bash_completes_subcommands_and_agents(bash: Path, tmp_path: Path) -> None:
    assert completed(bash, "audit", "ver", cwd=tmp_path) == ["verify"]
    assert completed(bash, "hook", "cl", cwd=tmp_path) == ["claude-code"]


def test_bash_completes_options_and_their_values(bash: Path, tmp_path: Path) -> None:
    assert completed(bash, "run", "--allow-w", cwd=tmp_path) == ["--allow-write"]
    assert completed(bash, "preview", "--st", cwd=tmp_path) == ["--stat"]
    assert completed(bash, "run", "--level", "st", cwd=tmp_path) == ["standard", "strict"]
    assert completed(bash, "run", "--memory", "", cwd=tmp_path) == []


def test_bash_completes_files_where_files_are_named(bash: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    assert completed(bash, "run", "--workspace", "f", cwd=tmp_path) == ["folder"]
    assert set(completed(bash, "run", "--profile", "f", cwd=tmp_path)) == {"folder", "file"}
    assert set(completed(bash, "run", "--", "f", cwd=tmp_path)) == {"folder", "file"}


def test_bash_offers_every_option_of_every_command(bash: Path, tmp_path: Path) -> None:
    for name in COMMANDS:
        wanted = {each for row in load(name).offered() for each in row.names}
        assert set(completed(bash, name, "-", cwd=tmp_path)) == wanted


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_every_command_and_option(shell: str, tmp_path: Path) -> None:
    text = run("completion", shell).out
    for name in COMMANDS:
        for row in load(name).offered():
            spelled = row.name if shell == "zsh" else f"-l {row.name[2:]} "
            assert spelled in text
    if shutil.which(shell):
        script = tmp_path / "script"
        script.write_text(text)
        subprocess.run([shell, "-n", str(script)], check=True)


@pytest.mark.parametrize(("shell", "escape"), [("zsh", r"'\\''"), ("fish", r"\\'|\\\\")])
def test_no_quote_in_other_shells_is_left_open(shell: str, escape: str) -> None:
    for line in run("completion", shell).out.splitlines():
        assert re.sub(escape, "", line).count("'") % 2 == 0, line


def test_a_shell_that_there_is_not_is_refused() -> None:
    done = run("completion", "basch")
    assert (done.status, done.err) == (
        2,
        "redoma: there is no redoma completion 'basch'\nhint: redoma completion bash\n",
    )


@pytest.mark.parametrize("language", ["en", "pt-BR"])
def test_the_manual_page_names_everything_and_groff_has_nothing_against_it(
    language: str,
) -> None:
    done = run("man", "--language", language)
    assert (done.status, done.err) == (0, "")
    for name in COMMANDS:
        assert f"\n.SS redoma {name}\n" in done.out
        for row in load(name).offered():
            assert row.name.replace("-", "\\-") in done.out
    if shutil.which("groff"):
        read = subprocess.run(
            ["groff", "-man", "-ww", "-z", "-Kutf8"],
            input=done.out.encode(),
            capture_output=True,
            check=True,
        )
        assert read.stderr == b""
