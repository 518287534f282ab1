"""Every example of the terminal sandbox's document runs as written and does what it says."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.dialects import terminal
from tests.unit.dialects import terminal_examples as examples

pytestmark = pytest.mark.requirement("T15")


def ran(example: str, **known: object) -> dict[str, object]:
    """The names that an example leaves behind."""
    names: dict[str, object] = {name: getattr(terminal, name) for name in terminal.__all__}
    names |= known
    text = example
    for path in ("src.core.terminal_sandbox", "src.core.terminal_executor"):
        text = text.replace(path, "redoma.dialects.terminal")
    exec(compile(text, "<example>", "exec"), names)
    return names


@pytest.fixture(autouse=True)
def shared_sandbox_as_it_was() -> Iterator[None]:
    sandbox = terminal.get_default_sandbox()
    kept = (sandbox.execution_mode, sandbox.confirm_callback)
    yield
    sandbox.execution_mode, sandbox.confirm_callback = kept


@pytest.mark.parametrize(("typed", "left"), [("S", False), ("n", True)])
def test_interactive(
    project: Path,
    in_tmp: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed: str,
    left: bool,
) -> None:
    monkeypatch.setattr("builtins.input", lambda prompt: typed)
    ran(examples.CONFIRM.replace("/tmp/old_files", str(in_tmp)))
    assert capsys.readouterr().out == (
        f"Confirmar execucao de: rm -rf {in_tmp}?\n"
        "Risco: critical - Comando critico: Remocao de arquivos\n"
    )
    assert (in_tmp / "file").exists() is left


def test_autonomous(project: Path) -> None:
    names = ran(examples.AUTONOMOUS)
    assert names["exit_code"] == -1
    assert names["stderr"] == "[SANDBOX] Comando critico bloqueado em modo autonomo"


def test_analysis(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran(examples.ANALYSIS)
    said = "CommandRisk.CRITICAL\nTrue\nComando critico: Remocao de arquivos\n"
    assert capsys.readouterr().out == said


def test_execution(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ran(examples.EXECUTION)
    assert names["exit_code"] == 0
    assert str(names["stdout"]).startswith("total ")
    assert capsys.readouterr().out == "critical\n"


def test_mode(project: Path) -> None:
    ran(examples.MODE)
    assert terminal.execute_safe("rm x") == (
        -1,
        "",
        "[SANDBOX] Comando critico bloqueado em modo autonomo",
    )


def test_callback(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, str]] = []
    dialogs = types.ModuleType("src.ui.dialogs")
    dialogs.show_confirmation_dialog = lambda **said: shown.append(said) or True  # type: ignore[attr-defined]
    for name in ("src", "src.ui"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "src.ui.dialogs", dialogs)
    ran(examples.CALLBACK)
    (project / "a").touch()
    assert terminal.execute_safe("rm a") == (0, "", "")
    message = "Comando: rm a\nRisco: critical\nComando critico: Remocao de arquivos"
    assert shown == [{"title": "Confirmar Comando Critico", "message": message}]


def test_paths(project: Path) -> None:
    ran(examples.PATHS)
    asked = terminal.TerminalSandbox().validate_path
    assert [asked(path) for path in ("~", "/tmp", "/etc")] == [True, True, False]


def test_timeout(project: Path) -> None:
    tool = project / "long_running_command"
    tool.write_text("#!/bin/sh\necho done\n")
    tool.chmod(0o755)
    sandbox = terminal.TerminalSandbox(confirm_callback=lambda command, risk, reason: True)
    names = ran(examples.TIMEOUT.replace('"long', '"./long'), sandbox=sandbox)
    assert (names["exit_code"], names["stdout"], names["stderr"]) == (0, "done\n", "")


def test_denied_commands(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ran(examples.DENIED, deny_callback=lambda command, risk, reason: False)
    assert capsys.readouterr().out == "['rm test.txt']\n"
    assert names["sandbox"].get_denied_commands() == []  # type: ignore[attr-defined]


def test_executor(project: Path) -> None:
    names = ran(examples.EXECUTOR)
    assert (names["exit_code"], names["stderr"]) == (0, "")


def test_the_whole_example(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clean = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=project, env=clean, check=True)
    ran(examples.WHOLE)["safe_terminal_agent"]()  # type: ignore[operator]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[OK] ls -la: total ")
    assert "[OK] git status: On branch main" in lines
    assert lines[-2:] == [
        "[BLOQUEADO] rm old_file.txt: Comando critico: Remocao de arquivos",
        "[BLOQUEADO] sudo apt update: Comando critico: Execucao com privilegios elevados",
    ]
