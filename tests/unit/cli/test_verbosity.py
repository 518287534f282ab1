"""`-v`, `-vv` and `REDOMA_LOG` show what Redoma does, and never a secret."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import PACKAGE

# Put together here, so that no secret shape stands in this file.
IN_THE_COMMAND = "ghp_" + "c0MMand" * 5 + "1"
IN_THE_ENVIRONMENT = "envir0nment-" + "Zx81" * 6
ON_INPUT = "ghp_" + "1nPut5a" * 5 + "2"
GRANTED = "gr4nted-" + "Qy72" * 6


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "work").mkdir()
    return {
        **os.environ,
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "DEPLOY_PASSWORD": IN_THE_ENVIRONMENT,
    }


def redoma(
    home: dict[str, str], *arguments: str, said: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-S", "-X", "utf8", str(PACKAGE / "__main__.py"), *arguments],
        env={**home, **more},
        input=said,
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_is_logged_unless_it_is_asked_for(home: dict[str, str], tmp_path: Path) -> None:
    done = redoma(home, "run", "--workspace", str(tmp_path / "work"), "--", "/bin/true")
    assert done.returncode == 0, done.stderr
    assert "INFO" not in done.stderr


@pytest.mark.parametrize(
    ("options", "variable", "debug"),
    [(["-v"], "", False), (["-vv"], "", True), ([], "debug", True), ([], "info", False)],
)
def test_an_operator_sees_what_happens(
    home: dict[str, str], tmp_path: Path, options: list[str], variable: str, debug: bool
) -> None:
    words = [*options, "run", "--workspace", str(tmp_path / "work"), "--", "/bin/true"]
    done = redoma(home, *words, REDOMA_LOG=variable)
    assert done.returncode == 0, done.stderr
    assert (
        "INFO redoma.jail.supervisor.outcome: a command ended: exited; limits met: none\n"
        in done.stderr
    )
    assert ("DEBUG redoma.audit.log: " in done.stderr) is debug


def test_no_secret_is_ever_in_the_log(home: dict[str, str], tmp_path: Path) -> None:
    assert redoma(home, "vault", "set", "deploy", said=f"{GRANTED}\n").returncode == 0
    done = redoma(
        home,
        *("-vv", "run", "--workspace", str(tmp_path / "work"), "--level", "standard"),
        *("--env", f"API_TOKEN={IN_THE_ENVIRONMENT}", "--inspect"),
        *("--allow-host", "api.example.com", "--credential", "api.example.com=vault:deploy"),
        *("--", "/bin/sh", "-c", f"cat >/dev/null; test {IN_THE_COMMAND}; exit 7"),
        said=ON_INPUT,
    )
    assert "DEBUG redoma" in done.stderr
    assert "INFO redoma.vault.secret_store: the secret deploy is opened" in done.stderr
    for secret in (IN_THE_COMMAND, IN_THE_ENVIRONMENT, ON_INPUT, GRANTED):
        assert secret not in done.stderr


def test_no_secret_of_a_hooks_call_is_in_the_log(home: dict[str, str], tmp_path: Path) -> None:
    call = (
        '{"hook_event_name": "PreToolUse", "tool_name": "Bash", "session_id": "a", '
        f'"cwd": "{tmp_path}", "tool_input": {{"command": "echo {IN_THE_COMMAND}"}}}}'
    )
    done = redoma(home, "hook", "claude-code", said=call, REDOMA_LOG="debug")
    assert "INFO redoma.hook.answer: claude-code: " in done.stderr
    assert IN_THE_COMMAND not in done.stderr
