"""The terminal sandbox's levels, modes and patterns, what it says of a command, and its counts."""

from __future__ import annotations

import threading
from collections import Counter, deque
from dataclasses import asdict, dataclass, field
from enum import Enum

from redoma import Outcome, Result, Risk

MOST_DENIED = 1000
PATH_NOT_ALLOWED = "path-not-allowed"


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


class SandboxCounts:
    """The numbers of one sandbox and the commands it was told not to run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._denied: deque[str] = deque(maxlen=MOST_DENIED)
        self._patterns: Counter[str] = Counter()
        self._codes: Counter[int] = Counter()
        self._numbers: Counter[str] = Counter()
        self._seconds = 0.0
        self._longest = 0.0

    def blocked(self, found: SandboxResult, rule: str) -> None:
        """A command was refused without asking: by a pattern, or by the mode."""
        with self._lock:
            if found.risk is CommandRisk.BLOCKED or not found.blocked:
                self._patterns[rule] += 1
                return
            self._numbers["blocked_by_mode"] += 1
            if found.requires_confirmation:
                self._denied.append(found.command)

    def path_refused(self) -> None:
        """A path that may not be worked on."""
        with self._lock:
            self._patterns[PATH_NOT_ALLOWED] += 1

    def declined(self, found: SandboxResult, *, asked: bool) -> None:
        """Nobody said yes."""
        with self._lock:
            self._numbers["denied_by_user" if asked else "unconfirmed"] += 1
            self._denied.append(found.command)

    def failed(self, found: SandboxResult) -> None:
        """It could not be run at all."""
        with self._lock:
            self._numbers["failed"] += 1

    def ran(self, result: Result) -> None:
        """A command ran to some end."""
        took = result.resources_used.wall_seconds
        with self._lock:
            self._numbers["executed"] += 1
            self._numbers["timed_out"] += result.outcome is Outcome.TIMED_OUT
            self._codes[result.exit_code] += 1
            self._seconds += took
            self._longest = max(self._longest, took)

    def denied(self) -> list[str]:
        """The commands that were refused for want of a yes, the oldest first."""
        with self._lock:
            return list(self._denied)

    def forget_denied(self) -> None:
        with self._lock:
            self._denied.clear()

    def metrics(self) -> SandboxMetrics:
        """Everything counted so far."""
        with self._lock:
            return SandboxMetrics(
                executed=self._numbers["executed"],
                blocked_by_pattern=dict(self._patterns),
                blocked_by_mode=self._numbers["blocked_by_mode"],
                denied_by_user=self._numbers["denied_by_user"],
                unconfirmed=self._numbers["unconfirmed"],
                timed_out=self._numbers["timed_out"],
                failed=self._numbers["failed"],
                execution_seconds=self._seconds,
                longest_execution_seconds=self._longest,
                exit_codes=dict(self._codes),
            )
