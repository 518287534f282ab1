"""Turns the text of card files into the compact tables that `cards` follows."""

from __future__ import annotations

from redoma.judge.programs.deeds import DEEDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Card = dict[str, Any]

_KEYS = frozenset(
    "also takes switches flags deeds operands bare otherwise inner around long stops optional "
    "skip copies".split()
)
_ACTIONS = frozenset("value read write delete shell program host send sql code deed only".split())
_OPERANDS = frozenset("data read write delete host execute".split())


class CardError(ValueError):
    """A card that says something nobody could follow."""


def compile_cards(documents: dict[str, dict[str, Any]]) -> dict[str, Card]:
    """All programs of all files by name; the same program in two files is an error."""
    cards: dict[str, Card] = {}
    for source, programs in documents.items():
        for name, body in (programs or {}).items():
            card = _compiled(f"{source}: {name}", body or {})
            others = body.get("also", "") if isinstance(body, dict) else ""
            for each in (str(name), *_words(others)):
                if each in cards:
                    raise CardError(f"{source}: {each} has a card already")
                cards[each] = card
    return cards


def _compiled(where: str, body: dict[str, Any] | str) -> Card:
    if isinstance(body, str):
        body = {"otherwise": body}
    for key in body:
        if key not in _KEYS:
            raise CardError(f"{where}: unknown key {key!r}")
    card = _options(where, body)
    if "deeds" in body:
        card["deeds"] = _deeds(where, body["deeds"] or {})
    operands = body.get("operands", "data")
    if operands not in _OPERANDS:
        raise CardError(f"{where}: unknown operands {operands!r}")
    if operands != "data":
        card["operands"] = operands
    for key in ("bare", "otherwise", "around"):
        if key in body:
            if body[key] not in DEEDS:
                raise CardError(f"{where}: {key}: unknown deed {body[key]!r}")
            card[key] = body[key]
    card.update({key: int(body[key]) for key in ("inner", "skip") if key in body})
    card.update({key: True for key in ("long", "stops", "copies") if body.get(key)})
    return card


def _options(where: str, body: dict[str, Any]) -> Card:
    flags: dict[str, str] = {}
    takes = set(_words(body.get("takes", "")))
    switches = set(_words(body.get("switches", "")))
    for names, action in (body.get("flags") or {}).items():
        kind, _, detail = str(action).partition(" ")
        if kind not in _ACTIONS or (kind in ("deed", "only") and detail not in DEEDS):
            raise CardError(f"{where}: {names}: unknown action {action!r}")
        for name in str(names).split():
            flags[name] = str(action)
            (switches if kind in ("deed", "only") else takes).add(name)
    card: Card = {}
    if takes:
        card["takes"] = frozenset(takes)
    if switches or takes:
        card["known"] = frozenset(switches | takes)
    if flags:
        card["flags"] = flags
    if "optional" in body:
        card["optional"] = frozenset(_words(body["optional"]))
    return card


def _deeds(where: str, deeds: dict[str, Any]) -> tuple[tuple[Any, ...], ...]:
    out: list[tuple[tuple[str, ...], tuple[str, ...], str]] = []
    for deed, patterns in deeds.items():
        if deed not in DEEDS:
            raise CardError(f"{where}: unknown deed {deed!r}")
        listed = patterns.split(",") if isinstance(patterns, str) else list(patterns)
        for pattern in listed:
            parts = str(pattern).split()
            if not parts:
                continue
            if any(quote in pattern for quote in "\"'"):
                raise CardError(f"{where}: {pattern.strip()}: a pattern has no quotes")
            words = tuple(p for p in parts if p == "-" or not p.startswith("-"))
            flags = tuple(p for p in parts if p != "-" and p.startswith("-"))
            out.append((words, flags, deed))
    return tuple(out)


def _words(given: object) -> list[str]:
    if isinstance(given, list | tuple):
        return [str(each) for each in given]
    return str(given or "").replace(",", " ").split()
