"""The terminal sandbox at work: modes, confirmation, runs, shortcuts and metrics."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.audit.entries import AuditReader, EntryFilter
from redoma.dialects import terminal
from redoma.dialects.terminal import (
    CommandRisk,
    ExecutionMode,
    SandboxMetrics,
    TerminalExecutor,
    TerminalSandbox,
)
from redoma.dialects.terminal.levels import MOST_DENIED, SandboxCounts, SandboxResult

AUTONOMOUS = ExecutionMode.AUTONOMOUS
CRITICAL_IN_AUTONOMOUS = "[SANDBOX] Comando critico bloqueado em modo autonomo"


def yes(command: str, risk: CommandRisk, reason: str) -> bool:
    return True


def no(command: str, risk: CommandRisk, reason: str) -> bool:
    return False


@pytest.fixture
def victim(project: Path) -> Path:
    made = project / "test.txt"
    made.write_text("here")
    return made


@pytest.fixture
def shared() -> Iterator[None]:
    """The shared sandbox, put back afterwards as it was."""
    sandbox = terminal.get_default_sandbox()
    kept = (sandbox.execution_mode, sandbox.confirm_callback)
    yield
    sandbox.execution_mode, sandbox.confirm_callback = kept


class TestExecutionModes:
    @pytest.mark.requirement("T4", "T12")
    def test_critical_is_refused_in_autonomous_mode_and_nobody_is_asked(self, victim: Path) -> None:
        asked: list[str] = []
        sandbox = TerminalSandbox(
            execution_mode=AUTONOMOUS,
            confirm_callback=lambda command, risk, reason: asked.append(command) or True,
        )
        assert sandbox.execute_sandboxed("rm test.txt") == (-1, "", CRITICAL_IN_AUTONOMOUS)
        assert (victim.exists(), asked) == (True, [])
        assert sandbox.get_denied_commands() == ["rm test.txt"]

    @pytest.mark.requirement("T4")
    def test_safe_runs_in_autonomous_mode(self, project: Path) -> None:
        sandbox = TerminalSandbox(execution_mode=AUTONOMOUS)
        assert sandbox.execute_sandboxed("echo hi") == (0, "hi\n", "")

    @pytest.mark.requirement("T2")
    def test_moderate_runs_unless_strict(self, project: Path) -> None:
        tool = project / "frobnicate"
        tool.write_text("#!/bin/sh\necho ran\n")
        tool.chmod(0o755)
        ran = (0, "ran\n", "")
        loose = TerminalSandbox(strict_mode=False, execution_mode=AUTONOMOUS)
        assert loose.execute_sandboxed("./frobnicate") == ran
        assert TerminalSandbox(confirm_callback=yes).execute_sandboxed("./frobnicate") == ran
        assert TerminalSandbox(confirm_callback=no).execute_sandboxed("./frobnicate")[0] == -1
        strict = TerminalSandbox(execution_mode=AUTONOMOUS)
        assert strict.execute_sandboxed("./frobnicate") == (
            -1,
            "",
            "[SANDBOX] Comando fora da lista de comandos seguros bloqueado em modo autonomo",
        )

    @pytest.mark.requirement("T2")
    def test_dangerous_is_blocked_when_strict_and_asked_about_when_not(self, project: Path) -> None:
        asked: list[CommandRisk] = []

        def confirm(command: str, risk: CommandRisk, reason: str) -> bool:
            asked.append(risk)
            return False

        strict = TerminalSandbox(confirm_callback=confirm)
        said = "[SANDBOX] Comando perigoso bloqueado em modo estrito"
        assert strict.execute_sandboxed("crontab -r") == (-1, "", said)
        assert asked == []
        loose = TerminalSandbox(confirm_callback=confirm, strict_mode=False)
        assert loose.execute_sandboxed("crontab -r")[0] == -1
        assert asked == [CommandRisk.DANGEROUS]
        alone = TerminalSandbox(execution_mode=AUTONOMOUS, strict_mode=False)
        said = "[SANDBOX] Comando perigoso bloqueado em modo autonomo"
        assert alone.execute_sandboxed("crontab -r") == (-1, "", said)

    @pytest.mark.requirement("T5")
    @pytest.mark.parametrize("strict", [True, False])
    def test_blocked_is_blocked_whoever_says_yes(self, project: Path, strict: bool) -> None:
        sandbox = TerminalSandbox(confirm_callback=yes, strict_mode=strict)
        said = "[SANDBOX] Comando bloqueado: Fork bomb"
        assert sandbox.execute_sandboxed(":(){ :|:& };:") == (-1, "", said)

    @pytest.mark.requirement("T15")
    def test_english_on_request(self, project: Path) -> None:
        sandbox = TerminalSandbox(execution_mode=AUTONOMOUS, language="en")
        said = "[SANDBOX] Critical command blocked in autonomous mode"
        assert sandbox.execute_sandboxed("sudo apt update") == (-1, "", said)


@pytest.mark.requirement("T3")
class TestConfirmationCallback:
    def test_it_is_given_the_command_its_risk_and_why(self, victim: Path) -> None:
        asked: list[tuple[str, CommandRisk, str]] = []

        def confirm(command: str, risk: CommandRisk, reason: str) -> bool:
            asked.append((command, risk, reason))
            return True

        sandbox = TerminalSandbox(confirm_callback=confirm)
        assert sandbox.execute_sandboxed("rm test.txt") == (0, "", "")
        why = "Comando critico: Remocao de arquivos"
        assert asked == [("rm test.txt", CommandRisk.CRITICAL, why)]
        assert not victim.exists()

    def test_safe_commands_do_not_ask(self, project: Path) -> None:
        asked: list[str] = []
        sandbox = TerminalSandbox(confirm_callback=lambda c, r, w: asked.append(c) or False)
        assert sandbox.execute_sandboxed("pwd") == (0, f"{project}\n", "")
        assert asked == []

    def test_a_no_is_a_no(self, victim: Path) -> None:
        sandbox = TerminalSandbox(confirm_callback=no)
        said = "[SANDBOX] Comando negado pelo usuario: Comando critico: Remocao de arquivos"
        assert sandbox.execute_sandboxed("rm test.txt") == (-1, "", said)
        assert victim.exists()

    def test_nobody_to_ask_is_a_no(self, victim: Path) -> None:
        exit_code, _, stderr = TerminalSandbox().execute_sandboxed("rm test.txt")
        assert (exit_code, victim.exists()) == (-1, True)
        assert stderr.startswith("[SANDBOX] Comando nao confirmado")

    def test_an_exception_is_a_no(self, victim: Path) -> None:
        def confirm(command: str, risk: CommandRisk, reason: str) -> bool:
            raise RuntimeError("the dialog is gone")

        assert TerminalSandbox(confirm_callback=confirm).execute_sandboxed("rm test.txt")[0] == -1
        assert victim.exists()

    def test_what_is_not_true_itself_is_a_no(self, victim: Path) -> None:
        answers: list[object] = ["s", 1, None, "True", [True]]
        sandbox = TerminalSandbox(confirm_callback=lambda command, risk, reason: answers.pop())
        while answers:
            assert sandbox.execute_sandboxed("rm test.txt")[0] == -1
        assert victim.exists()

    @pytest.mark.parametrize(("answer", "there"), [(True, False), (False, True), ("yes", True)])
    def test_an_async_callback_is_awaited(self, victim: Path, answer: object, there: bool) -> None:
        async def confirm(command: str, risk: CommandRisk, reason: str) -> object:
            await asyncio.sleep(0.01)
            return answer

        TerminalSandbox(confirm_callback=confirm).execute_sandboxed("rm test.txt")
        assert victim.exists() is there

    def test_an_answer_that_comes_too_late_is_a_no(self, victim: Path) -> None:
        config = Path(os.environ["XDG_CONFIG_HOME"]) / "redoma"
        config.mkdir(parents=True)
        text = 'version: "1.0"\nconfirmation:\n  timeout_seconds: 1\n'
        (config / "sandbox.yaml").write_text(text)

        def confirm(command: str, risk: CommandRisk, reason: str) -> bool:
            time.sleep(1.3)
            return True

        assert TerminalSandbox(confirm_callback=confirm).execute_sandboxed("rm test.txt")[0] == -1
        assert victim.exists()


class TestExecuteSandboxed:
    @pytest.mark.both_users
    @pytest.mark.requirement("T7")
    def test_codes_and_output_are_the_commands_own(self, project: Path) -> None:
        run = TerminalSandbox().execute_sandboxed
        assert run("echo out; echo err >&2; exit 3") == (3, "out\n", "err\n")
        assert run("printf 'caf\\351'") == (0, "caf\ufffd", "")

    @pytest.mark.requirement("T7")
    def test_the_whole_tree_ends_with_the_time(self, project: Path) -> None:
        mark = f"31{os.getpid()}"
        sandbox = TerminalSandbox()
        started = time.monotonic()
        result = sandbox.execute_sandboxed(f"echo a; sleep {mark} & sleep {mark}", timeout=0.5)
        assert result == (124, "a\n", "[SANDBOX] Tempo esgotado apos 0.5 segundos")
        assert time.monotonic() - started < 60
        listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
        assert f"sleep {mark}" not in listed.stdout.splitlines()

    @pytest.mark.both_users
    @pytest.mark.requirement("T11")
    def test_the_environment_is_clean(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LD_PRELOAD", "")
        monkeypatch.setenv("LD_LIBRARY_PATH", "/tmp/evil")
        monkeypatch.setenv("API_TOKEN", "hunter2")
        exit_code, stdout, _ = TerminalSandbox().execute_sandboxed("env")
        given = dict(line.split("=", 1) for line in stdout.splitlines())
        assert exit_code == 0
        assert given["HOME"] == os.environ["HOME"]
        assert given["PATH"] == "/usr/local/bin:/usr/bin:/bin"
        assert given["LANG"]
        assert {"LD_PRELOAD", "LD_LIBRARY_PATH", "API_TOKEN"} & set(given) == set()

    @pytest.mark.requirement("T7")
    def test_commands_side_by_side_do_not_meet(self, project: Path) -> None:
        sandbox = TerminalSandbox()
        found: dict[int, tuple[int, str, str]] = {}

        def run(number: int) -> None:
            command = f"echo {number}; echo {number} > {number}; exit {number}"
            found[number] = sandbox.execute_sandboxed(command)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == {number: (number, f"{number}\n", "") for number in range(4)}
        assert sorted(os.listdir(project)) == ["0", "1", "2", "3"]
        assert sandbox.get_metrics().exit_codes == {0: 1, 1: 1, 2: 1, 3: 1}

    def test_a_policy_of_the_project_counts_as_well(self, project: Path) -> None:
        text = 'version: "1.0"\nblocklist_extensions: ["echo forbidden-word"]\n'
        (project / "sandbox.yaml").write_text(text)
        exit_code, _, stderr = TerminalSandbox().execute_sandboxed("echo forbidden-word")
        assert exit_code == -1
        assert stderr.startswith("[SANDBOX] Comando bloqueado pela politica: ")
        assert TerminalSandbox().execute_sandboxed("echo other")[0] == 0

    def test_every_attempt_is_in_the_record(self, project: Path) -> None:
        place = str(project.parent / "record")
        sandbox = TerminalSandbox(record=place)
        for command in ("echo a", "rm -rf /", "rm b", "touch ~/x"):
            sandbox.execute_sandboxed(command)
        with AuditReader(place) as reader:
            rows = list(reader.all(EntryFilter()))
        assert {row.command for row in rows} - {""} == {"echo a", "rm -rf /", "rm b", "touch ~/x"}


@pytest.mark.requirement("T8")
@pytest.mark.usefixtures("shared")
class TestHelperFunctions:
    def test_only_safe_is_safe(self) -> None:
        asked = ["ls -la", "frobnicate", "rm a", "iptables -F", "rm -rf /"]
        assert [terminal.is_command_safe(each) for each in asked] == [True, *[False] * 4]
        assert terminal.get_command_risk("sudo apt update").risk.value == "critical"

    def test_the_shared_sandbox_obeys_its_mode_and_callback(self, victim: Path) -> None:
        terminal.set_sandbox_mode(AUTONOMOUS)
        assert terminal.execute_safe("rm test.txt") == (-1, "", CRITICAL_IN_AUTONOMOUS)
        terminal.set_sandbox_mode(ExecutionMode.INTERACTIVE)
        terminal.set_confirm_callback(yes)
        assert terminal.execute_safe("rm test.txt") == (0, "", "")
        assert not victim.exists()

    def test_threads_share_one_sandbox(self) -> None:
        found: list[TerminalSandbox] = []
        threads = [
            threading.Thread(target=lambda: found.append(terminal.get_default_sandbox()))
            for _ in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 16
        assert len(set(map(id, found))) == 1

    @pytest.mark.requirement("T13")
    def test_the_executor_goes_through_the_sandbox(self, project: Path) -> None:
        sandbox = TerminalSandbox(execution_mode=AUTONOMOUS)
        executor = TerminalExecutor(sandbox)
        assert executor.execute("echo hi") == (0, "hi\n", "")
        assert executor.execute("sudo ls") == (-1, "", CRITICAL_IN_AUTONOMOUS)
        assert sandbox.get_denied_commands() == ["sudo ls"]
        assert TerminalExecutor().sandbox is terminal.get_default_sandbox()


class TestDeniedCommands:
    @pytest.mark.requirement("T12")
    def test_they_are_kept_and_can_be_forgotten(self, project: Path) -> None:
        sandbox = TerminalSandbox(confirm_callback=no)
        sandbox.execute_sandboxed("rm test.txt")
        sandbox.execute_sandboxed("echo fine")
        assert sandbox.get_denied_commands() == ["rm test.txt"]
        sandbox.clear_denied_commands()
        assert sandbox.get_denied_commands() == []

    @pytest.mark.requirement("T12")
    def test_no_more_than_a_thousand_are_kept(self) -> None:
        counts = SandboxCounts()
        for number in range(MOST_DENIED + 5):
            made = SandboxResult(command=f"rm {number}", risk=CommandRisk.CRITICAL, reason="")
            counts.declined(made, asked=True)
        assert len(counts.denied()) == MOST_DENIED
        assert counts.denied()[0] == "rm 5"


class TestMetrics:
    @pytest.mark.requirement("T14")
    def test_what_was_run_blocked_and_denied_is_counted(self, project: Path) -> None:
        sandbox = TerminalSandbox(confirm_callback=no)
        for command in ("true", "exit 3", "exit 3", "rm -rf /", ":(){ :|:& };:", "rm a"):
            sandbox.execute_sandboxed(command)
        sandbox.execute_sandboxed("sleep 30", timeout=0.3)
        sandbox.execution_mode = AUTONOMOUS
        sandbox.execute_sandboxed("rm b")
        found = sandbox.get_metrics()
        assert found == SandboxMetrics(
            executed=4,
            blocked_by_pattern={"delete-everything": 1, "blocked-fork-bomb": 1},
            blocked_by_mode=1,
            denied_by_user=1,
            timed_out=1,
            execution_seconds=found.execution_seconds,
            longest_execution_seconds=found.longest_execution_seconds,
            exit_codes={0: 1, 3: 2, 124: 1},
        )
        assert 0.3 <= found.longest_execution_seconds <= found.execution_seconds
        assert found.as_dict()["exit_codes"] == {0: 1, 3: 2, 124: 1}
