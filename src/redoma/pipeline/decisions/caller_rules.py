"""A caller's own pack and rules beside the `sandbox.yaml` files: the stricter decides."""

from __future__ import annotations

from hashlib import sha256

from redoma.judge.policy.conditions import ConditionError, parse
from redoma.judge.policy.shipped import named
from redoma.model.errors import UsageError
from redoma.model.message import Message
from redoma.model.policy import BUILT_IN, DEFAULT, Action, Clause, Policy, Rule
from redoma.model.value import replace
from redoma.pipeline.decisions.knowledge import pack as pack_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from redoma.model.decision import Decision

CALLER = "the caller's own rules"


def own(pack: str, rules: Iterable[tuple[str, str, str]]) -> Policy:
    """The verdicts of a pack, with rules (name, condition, action) that can only tighten them."""
    added = tuple(_rule(*rule) for rule in rules)
    base = named(DEFAULT, pack_named(pack or DEFAULT).name)
    told = "\n".join(f"{rule.name}\t{rule.when.text}\t{rule.action.value}" for rule in added)
    digest = f"{base.digest} {sha256(told.encode()).hexdigest()}"
    return replace(base, rules=(*base.rules, *added), digest=digest)


def over(files: Policy, mine: Policy) -> Policy:
    """What both say; where there are no files, the caller's own stands alone.

    The files are also asked about the levels of the caller's pack: `policy: strict` blocks what is
    elevated there, whatever the pack of the files calls it.
    """
    if files is BUILT_IN:
        return mine
    digest = f"{files.digest} {mine.digest}"
    if files.pack != mine.pack:
        same = replace(files, pack=mine.pack, beside=mine, digest=digest)
        return replace(files, beside=same, digest=digest)
    return replace(files, beside=mine, digest=digest)


def stricter(one: Decision, other: Decision) -> Decision:
    """The decision with the stricter verdict, the first one of two that are alike.

    Only files ask for isolation or a preview, and what they ask for stays.
    """
    chosen, left = (one, other) if one.verdict >= other.verdict else (other, one)
    return replace(
        chosen,
        isolation=chosen.isolation or left.isolation,
        preview=chosen.preview or left.preview,
        multiple_files=chosen.multiple_files or left.multiple_files,
    )


def _rule(name: str, condition: str, action: str) -> Rule:
    try:
        when = Clause(text=condition, tree=parse(condition))
    except ConditionError as error:
        raise UsageError("rule {name}: {error}", name=name, error=error) from None
    try:
        return Rule(name=name, when=when, action=Action(action), source=CALLER)
    except ValueError:
        known = ", ".join(each.value for each in Action)
        raise UsageError(
            "rule {name}: {action} is no action",
            name=name,
            action=repr(action),
            hint=Message("one of: {known}", known=known),
        ) from None
