"""The sentences that lists of a policy may use instead of a condition, and what they mean."""

from __future__ import annotations

import re

from redoma.judge.policy.conditions import LEVELS, ConditionError, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.policy import Tree

PHRASES = {
    **{level: f"safety_level == {level}" for level in LEVELS},
    "multiple files": "multiple_files",
    "operations affecting multiple files": "multiple_files",
    "external network": "external_network",
    "network operations to external hosts": "external_network",
    "schema changes": "effects == schema-change",
    "database schema modifications": "effects == schema-change",
    "publishing": "effects == publishes",
    "deployment": "effects == remote",
    "publishing or deployment operations": "effects in [publishes, remote]",
    "first execution of command": "first_execution",
}
# What the document of the skill wants confirmed.
CONFIRMED_BY_SKILL = (
    *("dangerous", "multiple files", "external network", "schema changes"),
    *("publishing", "deployment"),
)
_LEVEL = re.compile(rf"({'|'.join(LEVELS)})\s*\(if multiple files\)")
_FILES = re.compile(r"commands? affecting\s*(>=|>|more than|at least)\s*(\d{1,9})\s*files?")
_SIGNS = {"more than": ">", "at least": ">="}


def clause(text: str) -> Tree:
    """The condition that a phrase stands for, or that is written out."""
    said = " ".join(text.split())
    known = PHRASES.get(said.lower())
    if known:
        return parse(known)
    found = _LEVEL.fullmatch(said.lower())
    if found:
        return parse(f"safety_level == {found[1]} and multiple_files")
    found = _FILES.fullmatch(said.lower())
    if found:
        return parse(f"files_affected {_SIGNS.get(found[1], found[1])} {found[2]}")
    try:
        return parse(text)
    except ConditionError as error:
        if re.search(r"==|!=|[<>()]|\b(?:in|not|and|or)\b", text):
            raise
        from difflib import get_close_matches

        near = get_close_matches(said.lower(), PHRASES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "one of: " + ", ".join(PHRASES)
        raise ConditionError(f"{said!r} is neither a condition nor known", 0, hint) from error
