"""SANDBOX_001 to SANDBOX_003: from what went wrong, or was tried, to what an action answers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import Enum

from redoma import Outcome, RedomaError, Result, facts
from redoma.base.paths import is_within

_NO_FILES = ("/dev", "/proc", "/sys")


class Refusal(Enum):
    """The three errors: code, type, message, and what to do about it."""

    BLOCKED = (
        "SANDBOX_001",
        "CommandBlocked",
        "Command blocked by security policy",
        ("use_alternative_command", "request_policy_exception", "use_dry_run_mode"),
    )
    DENIED = (
        "SANDBOX_002",
        "ConfirmationDenied",
        "Command execution denied",
        ("modify_command", "use_dry_run_mode", "abort_operation"),
    )
    VIOLATION = (
        "SANDBOX_003",
        "SandboxViolation",
        "Operation violated sandbox constraints",
        ("adjust_sandbox_level", "modify_operation", "abort_operation"),
    )

    def told(self, **details: str) -> dict[str, object]:
        """The error as an action answers it."""
        code, kind, message, recovery = self.value
        return {
            "error": {
                "type": kind,
                "code": code,
                "message": message,
                "details": details,
                "recovery": list(recovery),
            }
        }


FILES, NETWORK, RESOURCE = "filesystem", "network", "resource"
ABOUT_THE_REQUEST = "usage"
# What Redoma raises, by its stable code; and for a violation, of what kind.
ERRORS: dict[str, tuple[Refusal, str]] = {
    "redoma": (Refusal.VIOLATION, RESOURCE),
    "policy": (Refusal.BLOCKED, ""),
    "policy-syntax": (Refusal.BLOCKED, ""),
    "policy-unknown-key": (Refusal.BLOCKED, ""),
    "policy-loosens": (Refusal.BLOCKED, ""),
    "refused": (Refusal.BLOCKED, ""),
    "denied": (Refusal.BLOCKED, ""),
    "declined": (Refusal.DENIED, ""),
    "confirmation-needed": (Refusal.DENIED, ""),
    "confirmation-expired": (Refusal.DENIED, ""),
    "ask-unavailable": (Refusal.DENIED, ""),
    "rate-limited": (Refusal.VIOLATION, RESOURCE),
    "isolation": (Refusal.VIOLATION, RESOURCE),
    "no-engine": (Refusal.VIOLATION, RESOURCE),
    "engine-failed": (Refusal.VIOLATION, RESOURCE),
    "guarantee-lost": (Refusal.VIOLATION, NETWORK),
    "run": (Refusal.VIOLATION, RESOURCE),
    "timed-out": (Refusal.VIOLATION, RESOURCE),
    "limit-reached": (Refusal.VIOLATION, RESOURCE),
    "output-too-large": (Refusal.VIOLATION, RESOURCE),
    "change": (Refusal.VIOLATION, FILES),
    "apply-conflict": (Refusal.VIOLATION, FILES),
    "preview-gone": (Refusal.VIOLATION, FILES),
    "undo-impossible": (Refusal.VIOLATION, FILES),
    "no-room-for-undo": (Refusal.VIOLATION, FILES),
    "record": (Refusal.VIOLATION, RESOURCE),
    "chain-broken": (Refusal.VIOLATION, RESOURCE),
    "record-unavailable": (Refusal.VIOLATION, RESOURCE),
    "state-unavailable": (Refusal.VIOLATION, RESOURCE),
    "catalogue": (Refusal.VIOLATION, RESOURCE),
}
# How a run can end by what it may not do, and the limit behind it.
OUTCOMES: dict[Outcome, tuple[str, str]] = {
    Outcome.TIMED_OUT: (RESOURCE, "max_execution_time_seconds"),
    Outcome.OUT_OF_MEMORY: (RESOURCE, "max_memory_mb"),
    Outcome.TOO_MANY_PROCESSES: (RESOURCE, "max_processes"),
    Outcome.CPU_TIME_SPENT: (RESOURCE, "max_cpu_seconds"),
    Outcome.OUTPUT_TOO_LARGE: (RESOURCE, "max_output"),
    Outcome.DISK_FULL: (FILES, "max_total_size_mb"),
    Outcome.TOO_MANY_CONNECTIONS: (NETWORK, "max_connections"),
    Outcome.GATE_LOST: (NETWORK, "allowed_hosts"),
}


def row_of(error: RedomaError) -> tuple[Refusal, str]:
    """The row of an error, or of the nearest kind of error that it is."""
    codes = [vars(kind).get("code", "") for kind in type(error).__mro__]
    if ABOUT_THE_REQUEST in codes:
        raise error
    return next(ERRORS[code] for code in codes if code in ERRORS)


def told(error: RedomaError, command: str, *, level: str, policy: str) -> dict[str, object]:
    """An error of Redoma's as an action answers it; one that is about the request is raised."""
    refusal, kind = row_of(error)
    why = str(error)
    if refusal is Refusal.BLOCKED:
        return refusal.told(command=command, safety_level=level, policy=policy, reason=why)
    if refusal is Refusal.DENIED:
        return refusal.told(command=command, denied_by="nobody", reason=why)
    return refusal.told(violation_type=kind, attempted_action=command, constraint=why)


def violation(result: Result, command: str, workspace: str, cwd: str) -> dict[str, object] | None:
    """The error for a run that failed because of what it may not do; None for any other run."""
    ended = result.exit
    if ended is None or result.ok or result.outcome not in (Outcome.EXITED, Outcome.SIGNALLED):
        return None
    unreached = next((each for each in result.network_calls or () if not each.allowed), None)
    if unreached is not None:
        return _told(NETWORK, f"reach {unreached.target}", f"allowed_hosts: {unreached.why}")
    said = (ended.stdout + ended.stderr).decode("utf-8", "replace")
    for path, named in _written(result, workspace):
        if not ended.stderr.strip() or path in said or (len(named) > 1 and named in said):
            return _told(FILES, f"write {path}", f"allowed_paths: {workspace}")
    reached = [each.what for each in ended.refused if each.kind == "network"]
    if not reached or result.network_calls is not None or not _closed(result):
        return None
    hosts = _hosts(command, cwd)
    if hosts is None and ended.stderr.strip() and not any(_named(each, said) for each in reached):
        return None
    return _told(NETWORK, f"reach {hosts or reached[-1]}", "network: closed at this level")


def _told(kind: str, attempted: str, constraint: str) -> dict[str, object]:
    return Refusal.VIOLATION.told(
        violation_type=kind, attempted_action=attempted, constraint=constraint
    )


def _written(result: Result, workspace: str) -> Iterator[tuple[str, str]]:
    """What was to be written outside of the workspace, in directories that are there."""
    assert result.exit is not None
    for each in result.exit.refused:
        if each.kind != "write" or any(is_within(each.what, p) for p in (workspace, *_NO_FILES)):
            continue
        if os.path.isdir(os.path.dirname(each.what)):
            yield each.what, each.named


def _closed(result: Result) -> bool:
    held = result.enforcement.held if result.enforcement is not None else frozenset()
    return any(guarantee.value == "network-closed" for guarantee in held)


def _hosts(command: str, cwd: str) -> str | None:
    """The hosts that a command names; None for one that has nothing to do with a network."""
    found = [fact for fact in facts(command, cwd=cwd) if fact.effect.leaves_machine]
    named = [t.text for fact in found for t in fact.targets if t.place.value == "host"]
    return ", ".join(dict.fromkeys(named)) if found else None


def _named(address: str, said: str) -> bool:
    return address.rpartition(":")[0] in said
