"""A rule pack: judges facts one by one; of a group of rules the first that fits counts."""

from __future__ import annotations

from redoma.judge.interpret.arg import UNKNOWN
from redoma.judge.programs.cards import fits
from redoma.judge.text.budget import spend
from redoma.model.decision import Effect, Fact, Finding, Place, Risk, Verdict
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.model.decision import Target

TARGET = 32
_LANGUAGES = ("python", "node", "perl", "ruby", "php", "deno", "bun", "lua", "pytest", "nox")
_USUAL_IN_PROGRAMS = frozenset(("raw", "fork-bomb"))
"""A program opens sockets, and a server forks in a loop; in a line of a shell both are strange."""
_DOUBTS = frozenset(("unknown-file", "stream", "root-if-empty", "nothing", "path", "prepared"))


class Pack:
    """Compiled rules with their names for levels and the verdicts that levels get."""

    __slots__ = ("levels", "longest", "name", "rules", "verdicts", "wants_calls")

    def __init__(self, compiled: dict[str, Any]) -> None:
        self.name: str = compiled["name"]
        self.longest: int = compiled["longest"]
        self.levels: dict[str, str] = compiled["levels"]
        self.verdicts: dict[str, int] = compiled["verdicts"]
        self.rules: dict[str, tuple[Any, ...]] = compiled["rules"]
        self.wants_calls = Effect.CALLS.value in self.rules

    def level(self, risk: Risk) -> str:
        """What this pack calls a level."""
        return self.levels.get(risk.label, risk.label)

    def verdict(self, risk: Risk) -> Verdict:
        return Verdict(self.verdicts[risk.label])

    def judge(self, fact: Fact) -> Finding | None:
        """The worst finding among a fact's targets, or None for a fact that means nothing."""
        groups = self.rules.get(fact.effect.value)
        if groups is None:
            return None
        spend(TARGET * (len(fact.targets) + 1))
        best: tuple[int, Any, Target | None] | None = None
        for target in fact.targets or (None,):
            for rules in groups:
                rule = _first(rules, fact, target)
                if rule is not None and rule[1] >= 0 and (best is None or rule[1] > best[0]):
                    best = (rule[1], rule, target)
        if best is None:
            return None
        _, rule, target = best
        risk, reason = Risk(rule[1]), _told(rule[7], fact, target)
        if fact.where:
            reason = Message("{where}: {reason}", where=fact.where, reason=Message(reason))
            if _doubtful(fact, target):
                risk = min(risk, Risk.ELEVATED)
        return Finding(
            rule=rule[0],
            effect=fact.effect,
            risk=risk,
            span=fact.span,
            reason=reason,
            targets=tuple(_shown(t.text) for t in fact.targets),
            alternative=_told(rule[8], fact, target),
        )


def _doubtful(fact: Fact, target: Target | None) -> bool:
    """Whether a fact in a file rests on what only the running script knows.

    A project's own scripts are full of names that are made while they run. What is doubtful there
    is logged; what is plain counts as it would in the command itself.
    """
    usual = not _USUAL_IN_PROGRAMS.isdisjoint(fact.tags) and "metadata" not in fact.tags
    if usual and fact.program.startswith(_LANGUAGES):
        return True
    if fact.effect is Effect.UNKNOWN or not _DOUBTS.isdisjoint(fact.tags):
        return True
    return target is not None and (target.place is Place.UNKNOWN or UNKNOWN in target.text)


def _first(rules: tuple[Any, ...], fact: Fact, target: Target | None) -> Any:
    tags = fact.tags
    place = target.place.value if target is not None else ""
    for rule in rules:
        _, _, places, needed, refused, programs, sources, _, _, commands = rule
        if places is not None and place not in places:
            continue
        if needed and not needed <= tags:
            continue
        if refused and not refused.isdisjoint(tags):
            continue
        if programs is not None and fact.program not in programs:
            continue
        if commands is not None and not any(_called(c, fact.detail) for c in commands):
            continue
        if sources is not None and not any(_comes_from(each, fact.detail) for each in sources):
            continue
        return rule
    return None


def _comes_from(source: str, address: str) -> bool:
    """Whether an address is the source or lies below it; nothing before, beside or unknown."""
    rest = address.removeprefix(source)
    plain = UNKNOWN not in rest and ".." not in rest and "%" not in rest and "@" not in rest
    return address.startswith(source) and rest[:1] in ("", "/") and plain


def _called(command: tuple[tuple[str, ...], tuple[str, ...]], detail: str) -> bool:
    """Whether a called argv (joined by the unit separator) fits a pattern of words and flags."""
    words, flags = command
    argv = detail.split("\x1f")
    if fits(words, [w for w in argv if w[:1] != "-" or w == "-"]) < 0:  # type: ignore[misc]
        return False
    given = [w for w in argv if w[:1] == "-"]
    return all(any(_same_flag(flag, word) for word in given) for flag in flags)


def _same_flag(flag: str, word: str) -> bool:
    if flag.startswith("--"):
        shortened = len(word) > 4 and flag.startswith(word)
        return word == flag or word.startswith(flag + "=") or shortened
    return not word.startswith("--") and all(letter in word for letter in flag[1:])


def _shown(text: str) -> str:
    return text.replace(UNKNOWN, "…")


def _told(template: str, fact: Fact, target: Target | None) -> str:
    """What a rule says of a fact: its template, with those of its three holes that it has."""
    values: dict[str, object] = {}
    if "{program}" in template:
        values["program"] = fact.program or Message("this")
    if "{target}" in template:
        values["target"] = _shown(target.text) if target is not None else Message("it")
    if "{detail}" in template:
        detail = fact.detail
        ours = isinstance(detail, Message)
        values["detail"] = detail if ours else _shown(detail).replace("\x1f", " ")
    return Message(template, **values) if values else template
