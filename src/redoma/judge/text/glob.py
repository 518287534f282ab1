"""Shell patterns: words that braces stand for, names and texts that a glob fits."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from redoma.judge.text.matcher import ANY, CHARS, EITHER, MANY, NOT, REPEAT, Places, first, last

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.text.matcher import Fits, Step

MOST_WORDS = 256
MOST_TRIES = 64
LONGEST_GROUP = 2048
_RANGE = re.compile(
    r"(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(-?\d{1,9}))?|([a-zA-Z])\.\.([a-zA-Z])(?:\.\.(-?\d{1,9}))?"
)
LONGEST = 512
LONGEST_MADE = 65536
DEEPEST = 16
_GROUPS = {"?": (0, 1), "*": (0, None), "+": (1, None), "@": (1, 1)}
_EVERYTHING = (MANY, None)
_KINDS: dict[str, Fits] = {
    "alpha": str.isalpha,
    "digit": str.isdigit,
    "alnum": str.isalnum,
    "space": str.isspace,
    "blank": " \t".__contains__,
    "lower": str.islower,
    "upper": str.isupper,
    "punct": "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~".__contains__,
    "xdigit": "0123456789abcdefABCDEF".__contains__,
    "word": lambda char: char.isalnum() or char == "_",
    "cntrl": lambda char: char < " " or char == "\x7f",
    "print": str.isprintable,
    "graph": lambda char: char.isprintable() and char != " ",
}


def expand_braces(text: str) -> list[str] | None:
    """Every word that bash makes of `text`, or None when they are too many to follow."""
    if _too_braced(text):
        return None
    done: list[str] = []
    waiting = [(text, 0)]
    while waiting:
        if len(done) + len(waiting) > MOST_WORDS:
            return None
        word, start = waiting.pop()
        found = _first_group(word, start)
        if found is None:
            done.append(word)
            continue
        opening, closing, items = found
        head, tail = word[:opening], word[closing + 1 :]
        if len(items) > MOST_WORDS:
            return None
        waiting.extend((head + item + tail, opening) for item in reversed(items))
    return done


def _too_braced(text: str) -> bool:
    """Whether following the braces would take longer than a judgement may."""
    return text.count("{") > MOST_TRIES


def _first_group(word: str, start: int) -> tuple[int, int, list[str]] | None:
    opening = word.find("{", start)
    for _ in range(MOST_TRIES):
        if opening == -1:
            break
        if opening and word[opening - 1] == "$":
            opening = word.find("{", opening + 1)
            continue
        closing, commas = _matching(word, opening)
        if closing is not None:
            inside = word[opening + 1 : closing]
            if commas:
                cuts = [opening, *commas, closing]
                items = [word[a + 1 : b] for a, b in pairwise(cuts)]
                return opening, closing, items
            ranged = _range(inside)
            if ranged is not None:
                return opening, closing, ranged
        opening = word.find("{", opening + 1)
    return None


def _matching(word: str, opening: int) -> tuple[int | None, list[int]]:
    depth = 0
    commas: list[int] = []
    for index in range(opening, min(len(word), opening + LONGEST_GROUP)):
        char = word[index]
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return index, commas
        elif char == "," and depth == 1:
            commas.append(index)
    return None, []


def _range(inside: str) -> list[str] | None:
    match = _RANGE.fullmatch(inside)
    if match is None:
        return None
    if match[1] is not None:
        first, last = int(match[1]), int(match[2])
        step = abs(int(match[3] or 1)) or 1
        if abs(last - first) // step > MOST_WORDS:
            return ["\0"]
        numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
        return [str(number) for number in numbers]
    first, last = ord(match[4]), ord(match[5])
    step = abs(int(match[6] or 1)) or 1
    codes = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    return [chr(code) for code in codes]


class Glob:
    """A pattern that can be asked about texts; each question costs no more than both are long."""

    __slots__ = ("_fixed", "_steps")

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps
        # How long everything is that it fits, where that is always the same.
        self._fixed = len(steps) if all(step[0] in (CHARS, ANY) for step in steps) else None

    def fits(self, text: str) -> bool:
        """Whether it stands for the whole text."""
        if self._fixed is not None and self._fixed != len(text):
            return False
        places = Places(text)
        return bool(places.ends(self._steps, 1) >> places.size)

    def prefix(self, text: str, *, longest: bool) -> int | None:
        """Where the longest or shortest beginning ends that it stands for."""
        ends = Places(text[: self._fixed]).ends(self._steps, 1)
        return (last(ends) if longest else first(ends)) if ends else None

    def suffix(self, text: str, *, longest: bool) -> int | None:
        """Where the longest or shortest end begins that it stands for."""
        places = Places(text)
        begins = places.begins(self._steps, 1 << places.size)
        return (first(begins) if longest else last(begins)) if begins else None

    def replaced(self, text: str, replacement: str, *, every: bool) -> str | None:
        """The text with its longest matches replaced, left to right; None if that is too long."""
        places = Places(text)
        begins = places.begins(self._steps, places.every)
        if text:
            begins &= places.every >> 1  # at the end of a text bash looks for nothing more
        out: list[str] = []
        at = made = 0
        while begins:
            start = first(begins)
            if self._fixed is not None:
                end = start + self._fixed
            else:
                end = last(places.ends(self._steps, 1 << start))
            out += text[at:start], replacement
            made += start - at + len(replacement)
            at = end
            if made > LONGEST_MADE:
                return None
            if not every:
                break
            # After nothing, the next character is passed over.
            begins &= -1 << (end if end > start else end + 1)
        out.append(text[at:])
        return "".join(out)


@lru_cache(maxsize=256)
def glob(pattern: str, *, extended: bool = False) -> Glob | None:
    """A pattern, `extended` with `@(a|b)` and its like; None for one that is too long or deep."""
    if len(pattern) > LONGEST:
        return None
    steps, _ = _Parser(pattern, extended=extended).steps(0, 0, "")
    return None if steps is None else Glob(steps)


class _Parser:
    """Reads a pattern from left to right."""

    __slots__ = ("_extended", "_text")

    def __init__(self, text: str, *, extended: bool) -> None:
        self._text = text
        self._extended = extended

    def steps(self, at: int, depth: int, ending: str) -> tuple[list[Step] | None, int]:
        """The steps up to one of the characters that end them, and where that stands."""
        text, out = self._text, list[tuple[object, ...]]()
        if depth > DEEPEST:
            return None, at
        while at < len(text) and text[at] not in ending:
            char = text[at]
            if self._extended and char in "?*+@!" and text[at + 1 : at + 2] == "(":
                ways, after = self._ways(at + 2, depth)
                if ways is None:
                    return None, at
                if after:
                    one = (EITHER, ways)
                    out.append((NOT, ways) if char == "!" else (REPEAT, *_GROUPS[char], [one]))
                    at = after
                    continue
            if char == "*":
                if not out or out[-1] != _EVERYTHING:
                    out.append(_EVERYTHING)
                at += 1
                continue
            if char == "?":
                out.append((ANY,))
            elif char == "[":
                step, at = self._bracket(at)
                out.append(step)
                continue
            else:
                if char == "\\" and at + 1 < len(text):
                    at += 1
                out.append((CHARS, _same(text[at])))
            at += 1
        return out, at

    def _ways(self, at: int, depth: int) -> tuple[list[list[Step]] | None, int]:
        """The alternatives up to the `)`, and where it goes on; 0 where there is no `)`."""
        ways: list[list[Step]] = []
        while True:
            way, at = self.steps(at, depth + 1, "|)")
            if way is None:
                return None, 0
            ways.append(way)
            if at >= len(self._text):
                return [], 0
            at += 1
            if self._text[at - 1] == ")":
                return ways, at

    def _bracket(self, at: int) -> tuple[Step, int]:
        """`[a-z]`; a bracket that nothing closes is itself."""
        text = self._text
        index = at + 1
        negated = text[index : index + 1] in ("!", "^")
        index += negated
        named, ranges, kinds = list[str](), list[tuple[str, str]](), list[str]()
        start = index
        while index < len(text) and (text[index] != "]" or index == start):
            if text.startswith(("[:", "[.", "[="), index):
                end = text.find(text[index + 1] + "]", index + 2)
                if end != -1:
                    (kinds if text[index + 1] == ":" else named).append(text[index + 2 : end])
                    index = end + 2
                    continue
            char, index = self._one(index)
            if text[index : index + 1] == "-" and text[index + 1 : index + 2] not in ("", "]"):
                other, index = self._one(index + 1)
                ranges.append((char, other))
            else:
                named.append(char)
        if index >= len(text):
            return (CHARS, _same("[")), at + 1
        singles = frozenset(named)

        def fits(char: str) -> bool:
            inside = (
                char in singles
                or any(low <= char <= high for low, high in ranges)
                or any(_KINDS.get(kind, _no)(char) for kind in kinds)
            )
            return inside is not negated

        return (CHARS, fits), index + 1

    def _one(self, index: int) -> tuple[str, int]:
        """The character that stands in a bracket, behind a backslash if need be."""
        if self._text[index] == "\\" and index + 1 < len(self._text):
            index += 1
        return self._text[index], index + 1


def _no(_: str) -> bool:
    return False


@lru_cache(maxsize=1024)
def _same(char: str) -> Fits:
    return char.__eq__


def has_glob(text: str) -> bool:
    """Whether a path would be completed by the file system."""
    return "*" in text or "?" in text or "[" in text
