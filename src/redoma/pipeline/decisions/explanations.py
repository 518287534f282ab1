"""Says of each fact which card or handler found it and which rule graded it, with file and line."""

from __future__ import annotations

import os
import re

from redoma.judge.text.budget import Exhausted
from redoma.model.decision import Effect
from redoma.model.policy import Circumstances
from redoma.model.value import Value
from redoma.pipeline.decisions import policies
from redoma.pipeline.decisions.check import examined, ground, judging
from redoma.pipeline.decisions.knowledge import knowledge, shipped_cards
from redoma.pipeline.decisions.knowledge import pack as pack_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.decision import Fact, Finding
    from redoma.model.policy import Policy

_JUDGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "judge")
_DEFINES = r"def\s+"
_OWN = "a card of your own"


class ExplainedFact(Value):
    """A fact, what found it and what graded it; empty where there is no such thing."""

    fact: Fact
    card: str
    handler: str
    finding: Finding | None
    rule: str


def explained_facts(
    text: str, *, pack: str = "", cwd: str | None, home: str | None
) -> tuple[ExplainedFact, ...]:
    """Every fact of a command in the order of its text; none where the deadline ends first."""
    policy = policies.load_policy(cwd or ".", home=home)
    rules = pack_named(pack or policy.pack)
    try:
        with judging(policy):
            where = ground(cwd, home)
            around = examined(text, rules, where, Circumstances(), knowledge(policy.cards))[1]
            graded = [(fact, rules.judge(fact)) for fact in around.facts or ()]
    except Exhausted:
        return ()
    cards = _Cards(policy)
    places = _rule_places(rules.name)
    found = []
    seen: set[object] = set()
    for fact, finding in graded:
        key = (fact.effect, fact.span, fact.program, fact.targets, fact.tags, fact.detail)
        # That a program is called is a fact for packs that name commands.
        says = finding is not None or fact.effect is not Effect.CALLS
        if says and key not in seen:
            seen.add(key)
            card, handler = cards.origin(fact.program)
            rule = places.get(finding.rule, "") if finding is not None else ""
            found.append(
                ExplainedFact(fact=fact, card=card, handler=handler, finding=finding, rule=rule)
            )
    return tuple(sorted(found, key=lambda each: each.fact.span))


class _Cards:
    """Where the card of a program stands."""

    def __init__(self, policy: Policy) -> None:
        self._own = {name for name, _ in policy.cards}
        self._named: dict[str, tuple[str, str, str]] = {}
        shipped = shipped_cards()
        for source, programs in shipped.items():
            for name, body in (programs or {}).items():
                given = body if isinstance(body, dict) else {}
                while "handler" not in given and "like" in given:
                    given = _body(shipped, str(given["like"]))
                for each in (name, *_words(body)):
                    self._named[each] = (source, str(name), str(given.get("handler", "")))

    def origin(self, program: str) -> tuple[str, str]:
        """The file and line of a program's card, and of the handler that it names."""
        if program in self._own:
            return _OWN, ""
        if program not in self._named:
            return "", ""
        source, name, handler = self._named[program]
        path = os.path.join("programs", "cards", source)
        card = f"{path}:{_line(path, re.escape(name) + ':')}"
        if not handler:
            return card, ""
        module, _, function = handler.partition(".")
        path = os.path.join("programs", f"{module}.py")
        return card, f"{path}:{_line(path, _DEFINES + function)}"


def _body(shipped: dict[str, dict[str, object]], name: str) -> dict[str, object]:
    for programs in shipped.values():
        body = (programs or {}).get(name)
        if isinstance(body, dict):
            return body
    return {}


def _words(body: object) -> list[str]:
    also = body.get("also", "") if isinstance(body, dict) else ""
    return [str(w) for w in also] if isinstance(also, list) else str(also).replace(",", " ").split()


def _line(path: str, pattern: str) -> int:
    """The number of the first line of a file of ours that begins so."""
    begins = re.compile(pattern)
    with open(os.path.join(_JUDGE, path), encoding="utf-8") as file:
        return next((number for number, line in enumerate(file, 1) if begins.match(line)), 1)


def _rule_places(pack: str) -> dict[str, str]:
    """The file and line of each rule of a pack; its own stand before those that it inherits."""
    found: dict[str, str] = {}
    for folder in dict.fromkeys((pack, "default")):
        path = os.path.join("rules", folder)
        for name in sorted(os.listdir(os.path.join(_JUDGE, path))):
            if name.endswith(".yaml"):
                with open(os.path.join(_JUDGE, path, name), encoding="utf-8") as file:
                    for number, line in enumerate(file, 1):
                        if line.startswith("- rule:"):
                            rule = line.partition(":")[2].strip()
                            found.setdefault(rule, f"{path}/{name}:{number}")
    return found
