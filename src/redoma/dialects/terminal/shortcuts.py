"""Functions and an executor over one sandbox that the whole process shares."""

from __future__ import annotations

import os
import threading

from redoma.dialects.terminal.levels import CommandRisk, ExecutionMode, SandboxResult
from redoma.dialects.terminal.terminal_sandbox import (
    DEFAULT_TIMEOUT,
    ConfirmCallback,
    TerminalSandbox,
)

_lock = threading.Lock()
_shared: list[TerminalSandbox] = []


def get_default_sandbox() -> TerminalSandbox:
    """The sandbox behind the functions of this module; made when it is first needed."""
    with _lock:
        if not _shared:
            _shared.append(TerminalSandbox())
        return _shared[0]


def execute_safe(
    command: str, timeout: float = DEFAULT_TIMEOUT, cwd: str | os.PathLike[str] = ""
) -> tuple[int, str, str]:
    """Runs a command in the shared sandbox: exit code, standard output, standard error."""
    return get_default_sandbox().execute_sandboxed(command, timeout=timeout, cwd=cwd)


def is_command_safe(command: str) -> bool:
    """Whether a command is SAFE, so that it runs without a question."""
    return get_command_risk(command).risk is CommandRisk.SAFE


def get_command_risk(command: str) -> SandboxResult:
    """How bad a command is, and why."""
    return get_default_sandbox().analyze_command(command)


def get_risk_summary(command: str) -> dict[str, object]:
    """The same as plain data."""
    return get_default_sandbox().get_risk_summary(command)


def set_sandbox_mode(mode: ExecutionMode) -> None:
    """Whether somebody is there to be asked, from the next command on."""
    get_default_sandbox().execution_mode = mode


def set_confirm_callback(callback: ConfirmCallback | None) -> None:
    """Who is asked, from the next command on."""
    get_default_sandbox().confirm_callback = callback


class TerminalExecutor:
    """Executes terminal commands, every one of them through a sandbox."""

    def __init__(self, sandbox: TerminalSandbox | None = None) -> None:
        """The shared sandbox by default."""
        self._sandbox = sandbox

    @property
    def sandbox(self) -> TerminalSandbox:
        return self._sandbox or get_default_sandbox()

    def execute(
        self, command: str, timeout: float = DEFAULT_TIMEOUT, cwd: str | os.PathLike[str] = ""
    ) -> tuple[int, str, str]:
        """Exit code, standard output, standard error."""
        return self.sandbox.execute_sandboxed(command, timeout=timeout, cwd=cwd)
