"""Turns the text of card files into the compact tables that `cards` follows."""

from __future__ import annotations

from redoma.judge.programs.card_actions import ACTIONS
from redoma.model.decision import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from redoma.model.decision import Fact

    Card = dict[str, Any]
    Bodies = dict[str, tuple[str, dict[str, Any]]]

_KEYS = frozenset(
    "also like handler prints takes switches flags words actions operands bare otherwise inner "
    "around rest long stops optional skip copies match not_match".split()
)
_OWN = frozenset(("also", "like", "match", "not_match"))
"""What a card does not take over from the one that it is like."""
_DESCRIBES = frozenset(("flags", "actions", "operands", "bare", "otherwise", "inner", "rest"))
"""Keys that say what a program does; without one of them its handler alone says it."""
_MOST_STEPS = 4
_KINDS = frozenset("loads commands folders settings options words clients".split())
_VARIABLE_KEYS = frozenset("reason kind names of marks unless match not_match".split())
_EFFECTS = {effect.value: effect for effect in Effect}
_FLAG_KINDS = frozenset(
    "value read write delete shell program host send sql code action only hook library "
    "settings".split()
)
_HOOKS = frozenset(("hook", "library", "settings"))
"""Meanings that hold whatever a handler makes of the rest."""
_LOOKS = ("read", "query", "setup")
_OPERANDS = frozenset("data read write delete host execute shell".split())


class CardError(ValueError):
    """A card that says something nobody could follow."""


def compile_cards(documents: dict[str, dict[str, Any]]) -> dict[str, Card]:
    """All programs of all files by name; the same program in two files is an error."""
    bodies = _bodies(documents)
    return _made(bodies, bodies)


def compile_own_cards(
    documents: dict[str, dict[str, Any]], shipped: dict[str, dict[str, Any]]
) -> dict[str, Card]:
    """Cards that a user or a project wrote; they may be `like` each other or like shipped ones.

    Attack: a card that names a handler would choose code to be run; one of a subcommand would
    stand in for a part of another program's card.
    """
    try:
        bodies = _bodies(documents)
        for name, (where, body) in bodies.items():
            if "handler" in body or "prints" in body:
                raise CardError(f"{where}: only cards that ship name a handler")
            if not name or " " in name or name[:1] == "$":
                raise CardError(f"{where}: a program's name has no blanks, and no $ before it")
        return _made(bodies, {**_bodies(shipped), **bodies})
    except (AttributeError, TypeError, ValueError) as error:
        if isinstance(error, CardError):
            raise
        raise CardError(f"{', '.join(documents)}: a value has the wrong shape: {error}") from None


def compile_variables(documents: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """The entries of variables by their names, `$NAME`; those with a `*` in a list of their own."""
    found: dict[str, Any] = {}
    patterns: list[tuple[str, str, Card]] = []
    for source, entries in documents.items():
        for body in entries:
            where = f"{source}: {body.get('names', '')[:40]}"
            if body.keys() - _VARIABLE_KEYS or body.get("kind") not in _KINDS:
                raise CardError(f"{where}: unknown kind or key")
            if not body.get("reason") or (body["kind"] == "options") != bool(body.get("marks")):
                raise CardError(f"{where}: a reason, and marks for options")
            entry = {
                "kind": body["kind"],
                "of": frozenset(_words(body.get("of", ""))),
                "marks": tuple(body.get("marks", ())),
                "unless": tuple(body.get("unless", ())),
            }
            for name in _words(body["names"]):
                start, star, end = name.partition("*")
                if f"${name}" in found:
                    raise CardError(f"{where}: {name} stands there already")
                if star:
                    patterns.append((start, end, entry))
                else:
                    found[f"${name}"] = entry
    return {**found, "$*": tuple(patterns)}


class CardExample:
    """A command on a card, and what it does or does not do: an action, or the name of an effect."""

    __slots__ = ("command", "does", "wanted", "where")

    def __init__(self, where: str, command: str, does: str, *, wanted: bool) -> None:
        self.where, self.command, self.does, self.wanted = where, command, does, wanted

    def holds(self, facts: Sequence[Fact]) -> bool:
        """Whether the facts of its command are as the card says."""
        effect, tags = ACTIONS.get(self.does) or (_EFFECTS[self.does], ())
        found = any(fact.effect is effect and fact.tags.issuperset(tags) for fact in facts)
        return found == self.wanted


def examples(documents: dict[str, dict[str, Any]]) -> list[CardExample]:
    """The `match` and `not_match` of all cards."""
    found: list[CardExample] = []
    for source, programs in documents.items():
        for name, body in (programs or {}).items():
            if isinstance(body, dict):
                found += _examples(f"{source}: {name}", body)
    return found


def _examples(where: str, body: dict[str, Any]) -> list[CardExample]:
    found = []
    for key in ("match", "not_match"):
        for does, commands in (body.get(key) or {}).items():
            if does not in ACTIONS and does not in _EFFECTS:
                raise CardError(f"{where}: {key}: unknown action {does!r}")
            listed = commands if isinstance(commands, list) else [commands]
            found += [CardExample(where, str(c), does, wanted=key == "match") for c in listed]
    return found


def _bodies(documents: dict[str, dict[str, Any]]) -> Bodies:
    bodies: Bodies = {}
    for source, programs in documents.items():
        for name, given in (programs or {}).items():
            body = {"otherwise": given} if isinstance(given, str) else given or {}
            # What stands beside `git push` are other subcommands of git.
            program = str(name).rpartition(" ")[0]
            others = [f"{program} {each}".lstrip() for each in _words(body.get("also", ""))]
            for each in (str(name), *others):
                if each in bodies:
                    raise CardError(f"{source}: {each} has a card already")
                bodies[each] = (f"{source}: {name}", body)
    return bodies


def _made(bodies: Bodies, known: Bodies) -> dict[str, Card]:
    made: dict[int, Card] = {}
    for where, body in bodies.values():
        if id(body) not in made:
            made[id(body)] = _compiled(where, _whole(where, body, known))
    return {name: made[id(body)] for name, (_, body) in bodies.items()}


def _whole(where: str, body: dict[str, Any], bodies: Bodies) -> dict[str, Any]:
    """A card with what it takes over from the one that it is `like`."""
    steps = 0
    while "like" in body:
        steps += 1
        other = bodies.get(str(body["like"]))
        if other is None or steps > _MOST_STEPS:
            raise CardError(f"{where}: like {body['like']!r}, which has no card of its own")
        inherited = {key: value for key, value in other[1].items() if key not in _OWN - {"like"}}
        body = {**inherited, **{key: value for key, value in body.items() if key != "like"}}
    return body


def _compiled(where: str, body: dict[str, Any]) -> Card:
    for key in body:
        if key not in _KEYS:
            raise CardError(f"{where}: unknown key {key!r}")
    _examples(where, body)
    card = _options(where, body)
    for key in ("handler", "prints"):
        if key in body:
            module, dot, function = str(body[key]).partition(".")
            if not (dot and module.isidentifier() and function.isidentifier()):
                raise CardError(f"{where}: {key}: module.function, not {body[key]!r}")
            card[key] = str(body[key])
    if "handler" in body and _DESCRIBES.isdisjoint(body):
        card["alone"] = True
    if "words" in body:
        card["words"] = {name: frozenset(_phrases(each)) for name, each in body["words"].items()}
    if "rest" in body:
        card["rest"] = frozenset(_words(body["rest"]))
    if "actions" in body:
        card["actions"] = _actions(where, body["actions"] or {})
    operands = body.get("operands", "data")
    if operands not in _OPERANDS:
        raise CardError(f"{where}: unknown operands {operands!r}")
    if operands != "data":
        card["operands"] = operands
    for key in ("bare", "otherwise", "around"):
        if key in body:
            if body[key] not in ACTIONS:
                raise CardError(f"{where}: {key}: unknown action {body[key]!r}")
            card[key] = body[key]
    card.update({key: int(body[key]) for key in ("inner", "skip") if key in body})
    card.update({key: True for key in ("long", "stops", "copies") if body.get(key)})
    return card


def _options(where: str, body: dict[str, Any]) -> Card:
    flags: dict[str, str] = {}
    takes = set(_words(body.get("takes", "")))
    switches = set(_words(body.get("switches", "")))
    for names, means in (body.get("flags") or {}).items():
        kind, _, detail = str(means).partition(" ")
        if kind not in _FLAG_KINDS or (kind in ("action", "only") and detail not in ACTIONS):
            raise CardError(f"{where}: {names}: unknown meaning {means!r}")
        for name in str(names).split():
            flags[name] = str(means)
            (switches if kind in ("action", "only") else takes).add(name)
    card: Card = {}
    if takes:
        card["takes"] = frozenset(takes)
    if switches or takes:
        card["known"] = frozenset(switches | takes)
    hooks = {name: means for name, means in flags.items() if means.split()[0] in _HOOKS}
    if hooks:
        card["hooks"] = hooks
    if flags:
        card["flags"] = flags
    if "optional" in body:
        card["optional"] = frozenset(_words(body["optional"]))
    return card


def _actions(where: str, actions: dict[str, Any]) -> tuple[tuple[Any, ...], ...]:
    out: list[tuple[tuple[str, ...], tuple[str, ...], str]] = []
    for action, patterns in actions.items():
        if action not in ACTIONS:
            raise CardError(f"{where}: unknown action {action!r}")
        listed = patterns.split(",") if isinstance(patterns, str) else list(patterns)
        for pattern in listed:
            parts = str(pattern).split()
            if not parts:
                continue
            if any(quote in pattern for quote in "\"'"):
                raise CardError(f"{where}: {pattern.strip()}: a pattern has no quotes")
            words = tuple(p for p in parts if p == "-" or not p.startswith("-"))
            flags = tuple(p for p in parts if p != "-" and p.startswith("-"))
            out.append((words, flags, action))
    return (*out, *_groups(out))


def _groups(
    patterns: list[tuple[tuple[str, ...], tuple[str, ...], str]],
) -> list[tuple[tuple[str, ...], tuple[str, ...], str]]:
    """What a group that prints when bare does with a word that nobody listed is not known.

    Attack: `config` looks, and `config rm` was forgotten.
    """
    changing: dict[tuple[str, ...], int] = {}
    for words, _, action in patterns:
        if action not in _LOOKS and len(words) > 1 and "*" not in words[-1]:
            changing[words[:-1]] = changing.get(words[:-1], 0) + 1
    return [
        ((*words, "*"), (), "unknown")
        for words, flags, action in patterns
        if action in _LOOKS and not flags and changing.get(words, 0) > 1
    ]


def _words(given: object) -> list[str]:
    """Words of a text; those of a list may have blanks in them (`docker run`)."""
    if isinstance(given, list | tuple):
        return [str(each) for each in given]
    return str(given or "").replace(",", " ").split()


def _phrases(given: object) -> list[str]:
    """Words of a text; those of a list may have blanks in them (`tool run`)."""
    return [str(each) for each in given] if isinstance(given, list) else str(given).split()
