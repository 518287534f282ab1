"""The lists of the terminal sandbox, read out of the rules that judge by them.

They are words and flags of a parsed command, not expressions for raw text: `git push --force` is
found behind quotes, variables and `bash -c`, and a mention in a message is not.
"""

from __future__ import annotations

from redoma import Risk, rules
from redoma.dialects.terminal.words import RULES

_LISTED = rules("terminal")

BLOCKED_PATTERNS: tuple[str, ...] = tuple(
    command for rule in _LISTED if rule.risk is Risk.FORBIDDEN for command in rule.commands
)
DANGEROUS_PATTERNS: tuple[tuple[str, str], ...] = tuple(
    (command, RULES[rule.rule])
    for rule in _LISTED
    if rule.risk is Risk.DANGEROUS
    for command in rule.commands
)
CRITICAL_PATTERNS: tuple[tuple[str, str], ...] = tuple(
    (command, RULES[rule.rule])
    for rule in _LISTED
    if rule.risk is Risk.ELEVATED
    for command in rule.commands
)
SAFE_COMMANDS: frozenset[str] = frozenset(
    command for rule in _LISTED if rule.rule == "listed-safe" for command in rule.commands
)
