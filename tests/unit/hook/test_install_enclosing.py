"""An enclosing install keeps what is there, can be undone, and never loosens."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from redoma import hook
from redoma.hook.enclosed_calls import shell_of

OTHERS = '{"env": {"A": "1"}, "hooks": {"PostToolUse": [{"hooks": []}]}}\n'


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Claude Code's settings of somebody new."""
    for name in ("CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".claude").mkdir()
    return tmp_path / ".claude/settings.json"


@pytest.mark.parametrize("before", [None, "{}\n", OTHERS], ids=["no file", "empty", "others"])
def test_installing_twice_is_once_and_uninstalling_gives_back_every_byte(
    before: str | None, settings: Path
) -> None:
    if before is not None:
        settings.write_text(before)
    assert hook.main(["install", "claude-code"]) == 0
    once = settings.read_text()
    made = json.loads(once)
    assert made["env"]["CLAUDE_CODE_SHELL_PREFIX"] == shell_of("claude-code")
    assert os.access(shell_of("claude-code"), os.X_OK)
    assert set(made["hooks"]) == {"PreToolUse", "SessionStart", "PostToolUse"}
    assert hook.main(["install", "claude-code"]) == 0
    assert settings.read_text() == once
    assert hook.main(["uninstall", "claude-code"]) == 0
    assert (settings.read_text() if settings.exists() else None) == before


def test_what_came_after_us_stays_and_judging_takes_the_place_of_enclosing(settings: Path) -> None:
    settings.write_text(OTHERS)
    hook.main(["install", "claude-code"])
    settings.write_text(settings.read_text().replace('"A": "1"', '"A": "2"'))
    assert hook.main(["install", "claude-code", "--judge-only"]) == 0
    made = json.loads(settings.read_text())
    assert made["env"] == {"A": "2"}
    assert made["hooks"]["PostToolUse"] == [{"hooks": []}]
    assert hook.main(["uninstall", "claude-code"]) == 0
    assert json.loads(settings.read_text()) == json.loads(OTHERS.replace("1", "2"))


def test_somebody_elses_prefix_is_left_alone(
    settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = '{"env": {"CLAUDE_CODE_SHELL_PREFIX": "/opt/theirs"}}'
    settings.write_text(theirs)
    assert hook.main(["install", "claude-code"]) == 2
    assert settings.read_text() == theirs
    assert "--judge-only" in capsys.readouterr().err


def test_options_of_a_run_are_checked_and_reach_the_script(
    settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--allow-host", "registry.example", "--env", "NODE_ENV=a b"]
    assert hook.main(["install", "claude-code", "--", *given]) == 0
    script = Path(shell_of("claude-code")).read_text()
    assert "--allow-host registry.example --env 'NODE_ENV=a b' -- \"$1\"" in script
    assert hook.main(["install", "claude-code", "--", "--no-such"]) == 2
    assert hook.main(["install", "codex", "--", "--env", "X=1"]) == 2
    assert "--no-such" in capsys.readouterr().err


HARNESS = {"AI_AGENT": "claude-code_2-1-197_harness", "CLAUDE_PROJECT_DIR": "/srv"}
LINE = "eval 'echo ran' < /dev/null && pwd -P >| /tmp/claude-0000-cwd"


@pytest.mark.parametrize(
    ("text", "env", "runs"),
    [
        ("echo ran", HARNESS, True),
        ("echo ran", {**HARNESS, "CLAUDE_CODE_EXECPATH": "/opt/claude"}, False),
        ("echo ran", {"AI_AGENT": "claude-code_2-1-197_harness"}, False),
        ("echo ran", {**HARNESS, "AI_AGENT": "claude-code_2-1-197_agent"}, False),
        ("echo ran", {}, False),
        (LINE, HARNESS, False),
    ],
)
def test_only_the_persons_own_programs_run_as_without_us(
    text: str, env: dict[str, str], runs: bool, settings: Path, tmp_path: Path
) -> None:
    hook.main(["install", "claude-code"])
    done = subprocess.run(
        [shell_of("claude-code"), text],
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout == "ran\n") == runs
    if not runs:  # no session is known, so nothing runs
        assert done.returncode == 126
        assert "is refused" in done.stderr


def test_where_redoma_is_gone_a_line_is_refused_and_says_how_to_go_on(settings: Path) -> None:
    hook.main(["install", "claude-code"])
    shell = Path(shell_of("claude-code"))
    text = shell.read_text()
    start = text.partition("for file in ")[2].split(";")[0].split()[-1]
    shell.write_text(text.replace(start, "/nowhere/redoma"))
    done = subprocess.run([shell, LINE], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (126, "")
    assert "/nowhere/redoma is not there any more" in done.stderr
    assert "redoma hook uninstall claude-code" in done.stderr
