"""The values of one layer put into a policy, key by key."""

from __future__ import annotations

from redoma.judge.policy.shipped import POLICIES, rules
from redoma.model.decision import Verdict
from redoma.model.policy import (
    Action,
    Clause,
    ConfirmPlans,
    Environment,
    Example,
    LogLevel,
    Rule,
)
from redoma.model.question import Choice
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from redoma.judge.policy.read import Layer
    from redoma.model.policy import Policy

_FIELDS = {"allowlist_extensions": "allow", "blocklist_extensions": "block"}


def built(policy: Policy, layer: Layer) -> Policy:
    """The policy with every value of the layer in its place, and nothing else changed."""
    whole: dict[str, Any] = {"sources": (*policy.sources, layer.path)}
    if layer.origin == "project":
        whole["root"] = layer.path.rpartition("/")[0].removesuffix("/.redoma")
    sections: dict[str, dict[str, Any]] = {}
    for name, value in layer.values.items():
        made = _MADE[name](value) if name in _MADE else value
        section, _, field = name.rpartition(".")
        if section:
            sections.setdefault(section, {})[field] = made
        elif name == "policy":
            whole["name"], own = _policy(value, layer)
            whole["rules"] = (*own, *policy.added_rules)
        elif name == "tests":
            whole["tests"] = (*policy.tests, *map(_example, value))
        elif name not in ("version", "rules"):
            whole[_FIELDS.get(name, name)] = made
    added = _rules(layer.values.get("rules", ()), layer, of="")
    whole["rules"] = (*whole.get("rules", policy.rules), *added)
    for section, fields in sections.items():
        whole[section] = replace(getattr(policy, section), **fields)
    return replace(policy, **whole)


def _policy(value: tuple[Any, ...], layer: Layer) -> tuple[str, tuple[Rule, ...]]:
    name = value[0]
    if len(value) == 1 and name in POLICIES:
        return name, rules(name)
    return name, _rules(value[1], layer, of=name)


def _rules(listed: tuple[Any, ...], layer: Layer, *, of: str) -> tuple[Rule, ...]:
    return tuple(
        Rule(
            name=name,
            when=Clause(text=text, tree=tree),
            action=Action(action),
            of=of,
            source=layer.path,
        )
        for name, text, tree, action in listed
    )


def _clauses(listed: tuple[Any, ...]) -> tuple[Clause, ...]:
    return tuple(Clause(text=text, tree=tree) for text, tree in listed)


def _example(listed: tuple[str, ...]) -> Example:
    command, expect, phase, isolation, source = listed
    return Example(
        command=command,
        expect=Verdict[expect.upper()],
        phase=phase,
        isolation=isolation,
        source=source,
    )


_MADE: dict[str, Callable[[Any], Any]] = {
    "environment": lambda value: Environment[value.upper()],
    "logging.level": lambda value: LogLevel[value.upper()],
    "confirmation.default_action": Choice,
    "plans.confirm": ConfirmPlans,
    "confirmation.required_for": _clauses,
    "dry_run.auto_enable_for": _clauses,
}
