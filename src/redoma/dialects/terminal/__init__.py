"""The terminal sandbox: commands by risk, confirmed or refused, and run in real isolation."""

from redoma.dialects.terminal.levels import (
    CommandRisk,
    ExecutionMode,
    SandboxMetrics,
    SandboxResult,
)
from redoma.dialects.terminal.messages import (
    BLOCKED_PATTERNS,
    CRITICAL_PATTERNS,
    DANGEROUS_PATTERNS,
    SAFE_COMMANDS,
)
from redoma.dialects.terminal.shortcuts import (
    TerminalExecutor,
    execute_safe,
    get_command_risk,
    get_default_sandbox,
    get_risk_summary,
    is_command_safe,
    set_confirm_callback,
    set_sandbox_mode,
)
from redoma.dialects.terminal.terminal_sandbox import TerminalSandbox

__all__ = [
    "BLOCKED_PATTERNS",
    "CRITICAL_PATTERNS",
    "DANGEROUS_PATTERNS",
    "SAFE_COMMANDS",
    "CommandRisk",
    "ExecutionMode",
    "SandboxMetrics",
    "SandboxResult",
    "TerminalExecutor",
    "TerminalSandbox",
    "execute_safe",
    "get_command_risk",
    "get_default_sandbox",
    "get_risk_summary",
    "is_command_safe",
    "set_confirm_callback",
    "set_sandbox_mode",
]
