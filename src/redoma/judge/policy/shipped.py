"""The policies that ship, in the words of their documents, and where a pack starts from another."""

from __future__ import annotations

from redoma.judge.policy.conditions import CONFIRMED_BY_SKILL, clause, parse
from redoma.model.policy import (
    BUILT_IN,
    DEFAULT,
    ISOLATION_ONLY,
    STRICT,
    Action,
    Clause,
    Policy,
    Rule,
)
from redoma.model.value import replace

POLICIES = (ISOLATION_ONLY, DEFAULT, STRICT)
"""From the mildest to the strictest."""

_TEXTS = {
    DEFAULT: (
        ("block_forbidden", "safety_level == forbidden", "block"),
        ("confirm_dangerous", "safety_level == dangerous", "require_confirmation"),
        ("log_elevated", "safety_level == elevated", "log_and_allow"),
        ("allow_safe", "safety_level in [safe, moderate]", "allow"),
    ),
    STRICT: (
        ("block_elevated_and_above", "safety_level in [elevated, dangerous, forbidden]", "block"),
        ("confirm_moderate", "safety_level == moderate", "require_confirmation"),
        ("allow_only_safe", "safety_level == safe", "allow"),
    ),
    ISOLATION_ONLY: (("isolation_decides", "safety_level >= safe", "log_and_allow"),),
}


def rules(name: str) -> tuple[Rule, ...]:
    """The rules of a shipped policy."""
    return tuple(
        Rule(name=rule, when=Clause(text=text, tree=parse(text)), action=Action(action), of=name)
        for rule, text, action in _TEXTS[name]
    )


def confirmed_by_skill() -> tuple[Clause, ...]:
    """What the document of the skill wants confirmed, whatever its level."""
    return tuple(Clause(text=each, tree=clause(each)) for each in CONFIRMED_BY_SKILL)


def named(name: str, pack: str = "default") -> Policy:
    """A shipped policy, as if a user's file had named it and nothing else."""
    return replace(start(pack), name=name, rules=rules(name), digest=f"built-in {name} {pack}")


def start(pack: str = "default") -> Policy:
    """What every file builds on; the `skill` pack starts from its document's confirmations."""
    policy = replace(BUILT_IN, rules=rules(DEFAULT), pack=pack)
    if pack == "skill":
        asked = replace(policy.confirmation, required_for=confirmed_by_skill())
        return replace(policy, confirmation=asked)
    return policy
