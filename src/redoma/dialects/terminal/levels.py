"""The words of the terminal sandbox: its levels, its modes, and what it says of a command."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import Enum

from redoma import Risk


class CommandRisk(Enum):
    """How bad a command is, from SAFE to BLOCKED; ordered."""

    SAFE = "safe"
    MODERATE = "moderate"
    CRITICAL = "critical"
    DANGEROUS = "dangerous"
    BLOCKED = "blocked"

    @property
    def rank(self) -> int:
        """The place on the scale, 0 for SAFE."""
        return list(CommandRisk).index(self)

    def __lt__(self, other: CommandRisk) -> bool:
        return self.rank < other.rank

    def __le__(self, other: CommandRisk) -> bool:
        return self.rank <= other.rank

    def __gt__(self, other: CommandRisk) -> bool:
        return self.rank > other.rank

    def __ge__(self, other: CommandRisk) -> bool:
        return self.rank >= other.rank


# The core's scale under the names of this one.
RISKS = dict(zip(Risk, CommandRisk, strict=True))


class ExecutionMode(Enum):
    """Whether somebody is there to be asked."""

    INTERACTIVE = "interactive"
    AUTONOMOUS = "autonomous"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxResult:
    """What is known of a command before it runs."""

    command: str
    risk: CommandRisk
    reason: str
    # Whether it may run only after a yes; without anybody to say it, it does not run.
    requires_confirmation: bool = False
    # Whether it does not run at all, as the sandbox is set now.
    blocked: bool = False
    suggested_alternative: str = ""

    def as_dict(self) -> dict[str, object]:
        """The same as plain data."""
        return asdict(self) | {"risk": self.risk.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxMetrics:
    """What a sandbox has done so far."""

    executed: int = 0
    # How often each rule blocked a command, by the rule's name.
    blocked_by_pattern: dict[str, int] = field(default_factory=dict)
    blocked_by_mode: int = 0
    denied_by_user: int = 0
    # Nobody was there to ask, or what was there gave no answer.
    unconfirmed: int = 0
    timed_out: int = 0
    failed: int = 0
    execution_seconds: float = 0.0
    longest_execution_seconds: float = 0.0
    exit_codes: dict[int, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        """The same as plain data."""
        return asdict(self)
