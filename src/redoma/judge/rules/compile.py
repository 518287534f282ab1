"""Turns the text of rule files into tables, and proves each rule by its own examples."""

from __future__ import annotations

from redoma.model.decision import Effect, Place, Risk, Verdict
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from redoma.model.decision import Assessment

_KEYS = frozenset(
    "rule effect place tags program command source risk reason alternative match not_match".split()
)
QUIET = -1
"""The risk of an inherited rule that still decides a fact, but says nothing about it."""


class RuleError(ValueError):
    """A rule that cannot be read, or whose own example disproves it."""


def compile_pack(
    name: str,
    head: dict[str, Any],
    files: dict[str, list[dict[str, Any]]],
    inherited: dict[str, list[dict[str, Any]]] | None = None,
) -> dict[str, Any]:
    """Plain data, ready to be kept: for each effect its own rules and the inherited ones.

    Both groups judge a fact and the worse counts. `inherit.except` leaves out effects; what lies
    below `inherit.floor` is kept, since it may shield a fact from a later rule, but is quiet.
    """
    own: dict[str, list[Any]] = {}
    others: dict[str, list[Any]] = {}
    _add(own, files, frozenset(), QUIET)
    if inherited:
        inherit = head["inherit"]
        floor = int(Risk[str(inherit.get("floor", "safe")).upper()])
        _add(others, inherited, frozenset(_words(inherit.get("except", ""))), floor)
    return {
        "name": name,
        "longest": int(head.get("longest", 65536)),
        "levels": {str(k): str(v) for k, v in (head.get("levels") or {}).items()},
        "verdicts": {
            risk.label: int(Verdict[str(head["verdicts"][risk.label]).upper()]) for risk in Risk
        },
        "rules": {
            effect: tuple(tuple(group[effect]) for group in (own, others) if effect in group)
            for effect in own.keys() | others.keys()
        },
    }


def _add(
    rules: dict[str, list[Any]],
    files: dict[str, list[dict[str, Any]]],
    without: frozenset[str],
    floor: int,
) -> None:
    seen: set[str] = set()
    for source, listed in files.items():
        for body in listed or []:
            where = f"{source}: {body.get('rule', '?')}"
            for key in body:
                if key not in _KEYS:
                    raise RuleError(f"{where}: unknown key {key!r}")
            if body["rule"] in seen:
                raise RuleError(Message("{where}: this name is taken", where=where))
            seen.add(body["rule"])
            compiled = _rule(where, body)
            if compiled[1] < floor:
                compiled = (compiled[0], QUIET, *compiled[2:])
            for effect in _words(body.get("effect", "")):
                if effect not in without:
                    rules.setdefault(Effect(effect).value, []).append(compiled)


def _rule(where: str, body: dict[str, Any]) -> tuple[Any, ...]:
    places = _words(body.get("place", ""))
    for place in places:
        Place(place)
    tags = _words(body.get("tags", ""))
    if not body.get("effect"):
        raise RuleError(Message("{where}: needs an effect", where=where))
    commands = body.get("command")
    return (
        str(body["rule"]),
        int(Risk[str(body["risk"]).upper()]),
        frozenset(places) if places else None,
        frozenset(t for t in tags if not t.startswith("!")),
        frozenset(t[1:] for t in tags if t.startswith("!")),
        frozenset(_words(body["program"])) if body.get("program") else None,
        tuple(_words(body["source"])) if body.get("source") else None,
        str(body["reason"]),
        str(body.get("alternative", "")),
        tuple(_command(c) for c in _listed(commands)) if commands else None,
    )


def _command(pattern: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    parts = str(pattern).split()
    return (
        tuple(p for p in parts if not p.startswith("-")),
        tuple(p for p in parts if p.startswith("-")),
    )


def prove(files: dict[str, list[dict[str, Any]]], judge: Callable[[str], Assessment]) -> list[str]:
    """Every example that does not hold, as a sentence."""
    broken: list[str] = []
    for source, listed in files.items():
        for body in listed or []:
            for example in body.get("match") or ():
                if body["rule"] not in {f.rule for f in judge(example).findings}:
                    found = sorted({f.rule for f in judge(example).findings})
                    broken.append(f"{source}: {body['rule']} should match {example!r} ({found})")
            for example in body.get("not_match") or ():
                if body["rule"] in {f.rule for f in judge(example).findings}:
                    broken.append(
                        Message(
                            "{source}: {rule} should not match {example}",
                            source=source,
                            rule=body["rule"],
                            example=repr(example),
                        )
                    )
    return broken


def _words(given: object) -> list[str]:
    if isinstance(given, list | tuple):
        return [str(each) for each in given]
    return str(given or "").replace(",", " ").split()


def _listed(given: object) -> list[str]:
    if isinstance(given, list | tuple):
        return [str(each) for each in given]
    return [each.strip() for each in str(given).split(",") if each.strip()]
