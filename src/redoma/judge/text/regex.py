"""Regular expressions of rules and policies, searched in a time that the text cannot stretch.

Attack: an agent chooses the text. `curl.*\\|.*sh` takes cubic time on `curl|curl|curl|…`, and a
hook that does not answer in time is taken for leave to go on.
Python's engine tries one way after the other. It is quick where there are few ways, so that is
counted first: `tries` is never less than what it may try. Where there are many, the same tree is
read as steps for `redoma.judge.text.matcher`, whose cost does not depend on their number.
"""

from __future__ import annotations

import re
from functools import lru_cache

from redoma.judge.text import matcher
from redoma.judge.text.budget import spend
from redoma.judge.text.matcher import AT, CHARS, EITHER, MANY, REPEAT, Places
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.judge.text.matcher import Fits, Step

MOST_STEPS = 4096
"""Repetitions that are counted are written out; an expression that gets longer is not taken."""
TOO_MANY = 1 << 60
_REPEATS = frozenset(("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"))
_ONE = frozenset(("LITERAL", "NOT_LITERAL", "ANY", "IN"))
_UNBOUNDED = 4_000_000_000
MOST_TRIES = 20_000
"""A fraction of a millisecond; where there may be more, the matcher is asked."""


class TooHard(ValueError):
    """An expression that cannot be read as steps: one that refers to a group, or grows too long."""


def parsed(text: str, flags: int = 0) -> Any:
    """The tree that `re` makes of an expression; raises what `re.compile` raises."""
    from re import _parser  # type: ignore[attr-defined]

    return _parser.parse(text, flags)


def tries(tree: Any, length: int) -> int:
    """The most ways that Python's engine may go at one place of a text of this length."""
    ways = 1
    for operator, argument in tree:
        ways *= _ways(str(operator), argument, length)
        if ways > TOO_MANY:
            return TOO_MANY
    return ways


def _ways(name: str, argument: Any, length: int) -> int:
    if name in _REPEATS:
        least, most, body = argument
        most = min(int(most), length + 1)
        inner = tries(body, length)
        if len(body) == 1 and str(body[0][0]) in _ONE:
            return max(most - int(least), 0) + 1
        # Each round may go each way; rounds that fit nothing are cut short by the engine.
        return TOO_MANY if most > 64 else sum(inner**count for count in range(most + 1))
    if name == "BRANCH":
        return sum(tries(each, length) for each in argument[1])
    if name in ("SUBPATTERN", "ASSERT", "ASSERT_NOT"):
        return tries(argument[-1], length)
    if name == "ATOMIC_GROUP":
        return tries(argument, length)
    if name == "GROUPREF":
        return length + 1  # compared character by character
    if name == "GROUPREF_EXISTS":
        return TOO_MANY
    return 1


def steps_of(tree: Any) -> list[Step]:
    """The tree as steps; `TooHard` where it has none.

    What is possessive or atomic gives back here, so more may be found than `re` finds, never less.
    """
    return _StepReader().steps(tree, tree.state.flags)


class _StepReader:
    """Reads a tree, and counts what it makes."""

    def __init__(self) -> None:
        self._made = 0

    def steps(self, tree: Any, flags: int) -> list[Step]:
        out: list[Step] = []
        for operator, argument in tree:
            self._made += 1
            if self._made > MOST_STEPS:
                raise TooHard("is too long")
            out += self._step(str(operator), argument, flags)
        return out

    def _step(self, name: str, argument: Any, flags: int) -> list[Step]:
        if name in _ONE:
            return [(CHARS, _one(name, argument, flags))]
        if name in _REPEATS:
            least, most, body = argument
            before = self._made
            inner = self.steps(body, flags)
            return self._repeat(int(least), int(most), inner, self._made - before)
        if name == "BRANCH":
            return [(EITHER, [self.steps(each, flags) for each in argument[1]])]
        if name == "SUBPATTERN":
            _, added, removed, inner = argument
            return self.steps(inner, (flags | added) & ~removed)
        if name == "ATOMIC_GROUP":
            return self.steps(argument, flags)
        if name in ("ASSERT", "ASSERT_NOT"):
            way = "AHEAD" if argument[0] > 0 else "BEHIND"
            kind = getattr(matcher, way if name == "ASSERT" else f"NOT_{way}")
            return [(kind, self.steps(argument[1], flags))]
        if name == "AT":
            return [(AT, _at(str(argument), flags))]
        raise TooHard("refers to a group, which can take too long")

    def _repeat(self, least: int, most: int, inner: list[Step], size: int) -> list[Step]:
        unbounded = most > _UNBOUNDED
        self._made += (least if unbounded else most) * max(size, 1)
        if self._made > MOST_STEPS:
            raise TooHard("repeats too much")
        if unbounded and len(inner) == 1 and inner[0][0] == CHARS:
            return [*inner * least, (MANY, inner[0][1])]
        return [(REPEAT, least, None if unbounded else most, inner)]


def _one(name: str, argument: Any, flags: int) -> Fits:
    """Whether one character fits; asked of the engine itself, which knows every class there is."""
    from re import _compiler, _constants, _parser  # type: ignore[attr-defined]

    state = _parser.State()
    state.str = ""
    operator = getattr(_constants, name)
    pattern = _parser.SubPattern(state, [(operator, argument)])
    compiled: re.Pattern[str] = _compiler.compile(pattern, flags & ~re.DEBUG)

    def fits(char: str) -> bool:
        return compiled.match(char) is not None

    return fits


def _at(name: str, flags: int) -> Any:
    lines = bool(flags & re.MULTILINE)
    if name in ("AT_BOUNDARY", "AT_NON_BOUNDARY"):
        outside = name == "AT_NON_BOUNDARY"
        ascii_only = bool(flags & re.ASCII)

        def edges(places: Places) -> int:
            words = places.where(_is_ascii_word if ascii_only else _is_word)
            found = (words ^ (words << 1)) & places.every
            return places.every & ~found if outside else found

        return edges
    if name == "AT_BEGINNING_STRING" or (name == "AT_BEGINNING" and not lines):
        return _beginning
    if name == "AT_END_STRING":
        return _end
    if name == "AT_BEGINNING":
        return lambda places: 1 | (places.where(_is_newline) << 1)
    if name == "AT_END":
        return (lambda places: _end(places) | places.where(_is_newline)) if lines else _last_line
    raise TooHard("is anchored in a way that cannot be read")


def _beginning(_: Places) -> int:
    return 1


def _end(places: Places) -> int:
    return 1 << places.size


def _last_line(places: Places) -> int:
    before = 1 << (places.size - 1) if places.text.endswith("\n") else 0
    return _end(places) | before


def _is_newline(char: str) -> bool:
    return char == "\n"


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _is_ascii_word(char: str) -> bool:
    return char.isascii() and _is_word(char)


class Expression:
    """An expression that can be asked about texts of any length."""

    __slots__ = ("_exact", "_steps", "_tree")

    def __init__(self, text: str) -> None:
        self._exact = re.compile(text, re.S)
        self._tree = parsed(text, re.S)
        self._steps = steps_of(self._tree)

    def finds(self, text: str) -> bool:
        """Whether it fits somewhere in the text."""
        length = len(text) + 1
        if length * length * tries(self._tree, length) <= MOST_TRIES:
            spend(8 + length)
            return self._exact.search(text) is not None
        places = Places(text)
        return bool(places.ends(self._steps, places.every))


@lru_cache(maxsize=1024)
def expression(text: str) -> Expression:
    """The expression, made once."""
    return Expression(text)


def problem(text: str) -> str:
    """Why an expression cannot be used, or nothing."""
    try:
        expression(text)
    except TooHard as error:
        return str(error)
    except (re.error, RecursionError, OverflowError) as error:
        return Message("is no regular expression: {error}", error=error)
    return ""
