"""Brace expansion: `{a,b}` and `{1..9}`, with a bound on how many words may come of it."""

from __future__ import annotations

import re
from itertools import pairwise

MOST_WORDS = 256
MOST_TRIES = 64
LONGEST_GROUP = 2048
_RANGE = re.compile(
    r"(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(-?\d{1,9}))?|([a-zA-Z])\.\.([a-zA-Z])(?:\.\.(-?\d{1,9}))?"
)


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
