"""Reads what an action is given: a dict or YAML text, every field known and of its own type."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import yaml

from redoma import RedomaError
from redoma.base.levels import LEVELS

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
