"""Reads a profile's YAML strictly: an unknown key or a wrong value is an error with its line."""

from __future__ import annotations

import yaml

from redoma.egress.host_rules import read_host
from redoma.jail.engines.registry import DEFAULTS, engine_name
from redoma.jail.profiles.profile import COUNTS, SIZES, TIMES, read_limit
from redoma.model.errors import PolicySyntax, UnknownKey, UsageError
from redoma.model.grant import Guarantee
from redoma.model.message import Message

_CHOICES = {
    "workspace": ("direct", "layer", "memory", "read-only"),
    "apply": ("always", "on_end", "on_success", "ask", "never"),
    "home": ("toolchains", "nothing"),
    "network": ("closed", "gated", "open"),
    "network_grants": ("allowed", "never"),
    "syscalls": ("usual", "strictest"),
    "variables": ("few", "none"),
}
# `rank` orders the shipped levels; in a file of one's own it says nothing. `extends` is a level, or
# the file of another profile.
_PLAIN = ("level", "rank", "extends")
_LISTS = {
    "require": tuple(guarantee.value for guarantee in Guarantee),
    "prefer": DEFAULTS,
}
_LIMITS = SIZES | COUNTS | TIMES


def read(path: str) -> list[tuple[str, str]]:
    """(key, value) pairs; nested keys have a dot."""
    with open(path, encoding="utf-8") as file:
        try:
            tree = yaml.compose(file, Loader=yaml.SafeLoader)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else path
            what = getattr(error, "problem", None) or "not YAML"
            raise PolicySyntax(what, location=place) from None
    if not isinstance(tree, yaml.MappingNode):
        raise PolicySyntax("a profile is a list of keys with values", location=path)
    found: list[tuple[str, str]] = []
    for key, value in tree.value:
        found += _entry(path, key, value)
    return found


def _entry(path: str, key: yaml.Node, value: yaml.Node) -> list[tuple[str, str]]:
    name = str(key.value)
    if name in _PLAIN:
        return [(name, _scalar(path, name, value))]
    if name in _CHOICES:
        return [(name, _one_of(path, name, value, _CHOICES[name]))]
    if name in _LISTS:
        if not isinstance(value, yaml.SequenceNode):
            raise PolicySyntax(Message("{name} is a list", name=name), location=_place(path, value))
        return [(name, _one_of(path, name, item, _LISTS[name])) for item in value.value]
    if name == "hosts":
        if not isinstance(value, yaml.SequenceNode):
            raise PolicySyntax("hosts is a list", location=_place(path, value))
        return [(name, _host(path, item)) for item in value.value]
    if name == "limits":
        if not isinstance(value, yaml.MappingNode):
            raise PolicySyntax("limits are keys with values", location=_place(path, value))
        return [_limit(path, *pair) for pair in value.value]
    known = ", ".join([*_PLAIN, *_CHOICES, "hosts", "limits", *_LISTS])
    raise UnknownKey(
        Message("unknown key {name}", name=repr(name)),
        location=_place(path, key),
        hint=Message("keys: {known}", known=known),
    )


def _host(path: str, value: yaml.Node) -> str:
    text = _scalar(path, "hosts", value)
    try:
        read_host(text)
    except UsageError as error:
        raise PolicySyntax(str(error), location=_place(path, value), hint=error.hint) from None
    return text.strip()


def _limit(path: str, key: yaml.Node, value: yaml.Node) -> tuple[str, str]:
    name = str(key.value)
    if name not in _LIMITS:
        raise UnknownKey(
            Message("unknown limit {name}", name=repr(name)),
            location=_place(path, key),
            hint=Message("limits: {known}", known=", ".join(sorted(_LIMITS))),
        )
    text = _scalar(path, name, value)
    try:
        read_limit(name, text)
    except UsageError as error:
        raise PolicySyntax(str(error), location=_place(path, value), hint=error.hint) from None
    return f"limits.{name}", text


def _one_of(path: str, name: str, value: yaml.Node, choices: tuple[str, ...]) -> str:
    text = _scalar(path, name, value)
    text = engine_name(text) if name == "prefer" else text
    if text not in choices:
        raise PolicySyntax(
            Message(
                "{name}: {text} is not one of {choices}",
                name=name,
                text=repr(text),
                choices=", ".join(choices),
            ),
            location=_place(path, value),
        )
    return text


def _scalar(path: str, name: str, value: yaml.Node) -> str:
    if not isinstance(value, yaml.ScalarNode):
        raise PolicySyntax(
            Message("{name} is a single value", name=name), location=_place(path, value)
        )
    return str(value.value)


def _place(path: str, node: yaml.Node) -> str:
    mark = node.start_mark
    return f"{path}:{mark.line + 1}:{mark.column + 1}"
