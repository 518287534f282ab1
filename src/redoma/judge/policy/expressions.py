"""Regular expressions of a block list, searched in a time that the text cannot stretch.

Attack: an agent chooses the text. `curl.*\\|.*sh` takes cubic time on `curl|curl|curl|…`, and a
hook that does not answer in time is taken for leave to go on. So Python's own engine is asked only
where there are few ways to try, and the matcher otherwise, for which their number does not count.
"""

from __future__ import annotations

import re
from functools import lru_cache

from redoma.judge.text.budget import spend
from redoma.judge.text.matcher import Places
from redoma.judge.text.regex import TooHard, parsed, steps_of, tries

MOST_TRIES = 20_000
"""A fraction of a millisecond; where there may be more, the matcher is asked."""


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
        return f"is no regular expression: {error}"
    return ""
