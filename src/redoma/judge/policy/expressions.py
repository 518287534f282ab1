"""Regular expressions of a block list, searched in a time that the text cannot stretch.

Attack: an agent chooses the text. `curl.*\\|.*sh` takes cubic time on `curl|curl|curl|…`, and a
hook that does not answer in time is taken for leave to go on. So an expression is cut where it
repeats something wide (`.*`, `[^|]+`, `\\w*`), and its pieces are looked for one after the other,
which takes linear time: where they are not all there, the expression cannot fit. Where they are,
the expression itself is asked, if the text is short enough for that; a longer one counts as found.
"""

from __future__ import annotations

import re
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# How long a text may be for an expression with so many wide repetitions.
SHORT_ENOUGH = {0: 65536, 1: 8192, 2: 1024, 3: 128}
_REPEATS = frozenset(("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"))
_NARROW = frozenset(("LITERAL", "CATEGORY_SPACE", "CATEGORY_DIGIT"))
_BLANKS = re.compile(r"\s{9,}")
UNBOUNDED = 64


class Expression:
    """An expression with the pieces that have to be there for it to fit."""

    __slots__ = ("exact", "longest", "pieces")

    def __init__(self, text: str) -> None:
        self.exact = re.compile(text, re.S)
        tree = _parsed(text)
        self.longest = SHORT_ENOUGH.get(wide_repeats(tree), 0)
        self.pieces = _pieces(tree)

    def finds(self, text: str) -> bool:
        """Whether it fits somewhere in the text, or could in one too long to tell."""
        text = _BLANKS.sub(lambda found: found[0][:8], text)
        at = 0
        for piece, width in self.pieces:
            found = piece.search(text, at)
            if found is None:
                return False
            # The next piece starts no earlier than the shortest way this one could end.
            at = found.start() + width
        return len(text) > self.longest or self.exact.search(text) is not None


@lru_cache(maxsize=1024)
def expression(text: str) -> Expression:
    """The expression, made once."""
    return Expression(text)


def problem(text: str) -> str:
    """Why an expression cannot be used, or nothing."""
    try:
        tree = _parsed(text)
        expression(text)
    except (re.error, RecursionError, OverflowError) as error:
        return f"is no regular expression: {error}"
    if _repeats_inside(tree, inside=False):
        return "repeats a repetition, which can take for ever"
    if wide_repeats(tree) not in SHORT_ENOUGH:
        return "repeats too much, which can take too long: three of `.*` or the like are the most"
    if _has(tree, ("GROUPREF", "GROUPREF_EXISTS")):
        return "refers to a group, which can take too long"
    return ""


def _parsed(text: str) -> Any:
    from re import _parser  # type: ignore[attr-defined]

    return _parser.parse(text, re.S)


def _pieces(tree: Any) -> list[tuple[re.Pattern[str], int]]:
    """What stands between wide repetitions, each with the least number of characters it takes."""
    from re import _compiler, _parser  # type: ignore[attr-defined]

    made: list[tuple[re.Pattern[str], int]] = []
    items: list[Any] = []
    for item in [*tree, None]:
        if item is not None and not wide_repeats([item]):
            items.append(item)
        elif items:
            piece = _parser.SubPattern(tree.state, items)
            made.append((_compiler.compile(piece, re.S), piece.getwidth()[0]))
            items = []
    return made


def wide_repeats(tree: Any) -> int:
    """How often a tree repeats something that fits nearly everything, without a bound."""
    count = 0
    for operator, argument in tree:
        name = str(operator)
        if name in _REPEATS:
            _, most, body = argument
            wide = most > UNBOUNDED and not all(map(_narrow, body))
            count += 1 if wide else wide_repeats(body)
        else:
            count += sum(map(wide_repeats, _inner(name, argument)))
    return count


def _narrow(item: tuple[Any, Any]) -> bool:
    operator, argument = str(item[0]), item[1]
    if operator == "IN":
        return len(argument) == 1 and _narrow(argument[0])
    return operator in _NARROW or (operator == "CATEGORY" and str(argument) in _NARROW)


def _repeats_inside(tree: Any, *, inside: bool) -> bool:
    for operator, argument in tree:
        name = str(operator)
        if name in _REPEATS:
            _, most, body = argument
            unbounded = most > UNBOUNDED
            if (inside and unbounded) or _repeats_inside(body, inside=inside or unbounded):
                return True
        elif any(_repeats_inside(each, inside=inside) for each in _inner(name, argument)):
            return True
    return False


def _has(tree: Any, names: tuple[str, ...]) -> bool:
    for operator, argument in tree:
        name = str(operator)
        inner = [argument[2]] if name in _REPEATS else _inner(name, argument)
        if name in names or any(_has(each, names) for each in inner):
            return True
    return False


def _inner(name: str, argument: Any) -> list[Any]:
    """The trees inside of an element that is no repetition."""
    if name == "BRANCH":
        return list(argument[1])
    if name == "ATOMIC_GROUP":
        return [argument]
    if name in ("SUBPATTERN", "ASSERT", "ASSERT_NOT"):
        return [argument[-1]]
    return []
