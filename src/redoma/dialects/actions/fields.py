"""Reads what an action is given: a dict or YAML text, every field known and of its own type.

SANDBOX_001 to SANDBOX_003: from what went wrong, or was tried, to what an action answers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum

import yaml

from redoma import Outcome, RedomaError, Result, facts
from redoma.base.levels import LEVELS
from redoma.base.paths import is_within

LARGEST = 256 * 1024
DEEPEST = 8
LONGEST_COMMAND = 64 * 1024
LONGEST_TIME = 10 * 365 * 86400
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


class BadAction(RedomaError):
    """An action that is not there, or a field that is missing, unknown or of the wrong type."""

    code = "bad-action"
    exit_status = 2

    def __init__(self, message: str, *, field: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.field = field

    def details(self) -> dict[str, object]:
        return {"field": self.field}


def parsed(given: Mapping[str, object] | str, what: str) -> dict[str, object]:
    """The fields of a dict or of a YAML text, each once."""
    found: object = _from_yaml(given, what) if isinstance(given, str) else given
    if not isinstance(found, Mapping):
        raise BadAction(f"{what}: keys with values are needed, not {_kind(found)}", field=what)
    for name in found:
        if not isinstance(name, str):
            raise BadAction(f"{what}: {name!r} is no name of a field", field=str(name))
    return dict(found)


def checked(action: str, given: Mapping[str, object] | str) -> dict[str, object]:
    """The parameters of an action; what is not as documented is a `BadAction` that names it."""
    if action not in ACTIONS:
        known = ", ".join(ACTIONS)
        raise BadAction(f"there is no action {action!r}", field="action", hint=f"one of: {known}")
    fields = ACTIONS[action]
    found = parsed(given, "params")
    for name, value in found.items():
        if name not in fields:
            raise BadAction(
                f"{action} has no parameter {name!r}",
                field=name,
                hint=f"its parameters: {', '.join(fields)}",
            )
        fields[name](name, value)
    if "command" not in found:
        raise BadAction(f"{action} needs a command", field="command")
    return found


def _from_yaml(text: str, what: str) -> object:
    """What a YAML text says.

    Attack: aliases that unfold into gigabytes, tags that make objects, and a key given twice, of
    which a person reads the first and a program the last.
    """
    if len(text) > LARGEST:
        raise BadAction(f"{what}: at most {LARGEST} characters are read", field=what)
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            tagged = isinstance(event, yaml.NodeEvent) and getattr(event, "tag", None)
            if getattr(event, "anchor", None) or tagged:
                raise BadAction(f"{what}: anchors, aliases and tags are not used", field=what)
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        _plain(node, what, 0)
        return loader.construct_document(node) if node is not None else None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadAction(f"{what}: this is not YAML: {error}", field=what) from None


def _plain(node: yaml.Node | None, what: str, depth: int) -> None:
    if depth > DEEPEST:
        raise BadAction(f"{what}: this is nested too deeply", field=what)
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise BadAction(f"{what}: {key.value} is given twice", field=key.value)
                seen.add(key.value)
        for _, value in node.value:
            _plain(value, what, depth + 1)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _plain(item, what, depth + 1)


def _kind(value: object) -> str:
    return "nothing" if value is None else type(value).__name__


def _text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise BadAction(f"{name}: a text is needed, not {_kind(value)}", field=name)
    if "\0" in value:
        raise BadAction(f"{name}: a NUL byte cannot be part of it", field=name)


def _command(name: str, value: object) -> None:
    _text(name, value)
    assert isinstance(value, str)
    if not value.strip():
        raise BadAction(f"{name}: it is empty", field=name)
    if len(value) > LONGEST_COMMAND:
        raise BadAction(f"{name}: more than {LONGEST_COMMAND} characters", field=name)


def _flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise BadAction(f"{name}: true or false is needed, not {value!r}", field=name)


def _seconds(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadAction(f"{name}: a number is needed, not {_kind(value)}", field=name)
    if not 0 < value <= LONGEST_TIME:
        raise BadAction(f"{name}: {value} is no time", field=name, hint="a number above 0")


def _level(name: str, value: object) -> None:
    if value not in LEVELS:
        hint = f"one of: {', '.join(LEVELS)}"
        raise BadAction(f"{name}: {value!r} is no level", field=name, hint=hint)


def _variables(name: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise BadAction(f"{name}: names with values are needed, not {_kind(value)}", field=name)
    for variable, content in value.items():
        _text(f"{name}.{variable}", content)
        # Attack: `BASH_FUNC_ls%%` is a variable, and to bash a function.
        if not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
            raise BadAction(f"{name}: {variable!r} is no name of a variable", field=name)


def _context(name: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise BadAction(f"{name}: names with values are needed, not {_kind(value)}", field=name)
    for key, content in value.items():
        if key not in ("triggered_by", "workflow_phase", "previous_commands"):
            raise BadAction(f"{name} has no field {key!r}", field=f"{name}.{key}")
        if key != "previous_commands":
            _text(f"{name}.{key}", content)
        elif not isinstance(content, list | tuple):
            raise BadAction(f"{name}.{key}: a list is needed", field=f"{name}.{key}")
        else:
            for each in content:
                _text(f"{name}.{key}", each)


_Check = Callable[[str, object], None]
ACTIONS: dict[str, dict[str, _Check]] = {
    "sandbox.execute": {
        "command": _command,
        "working_directory": _text,
        "environment": _variables,
        "isolation_level": _level,
        "dry_run": _flag,
        "timeout_seconds": _seconds,
    },
    "sandbox.check": {"command": _command},
    "sandbox.confirm": {"command": _command, "context": _context, "timeout_seconds": _seconds},
}


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
