"""Reads Python's syntax from any thread."""

from __future__ import annotations

import ast
from _thread import allocate_lock

_one_at_a_time = allocate_lock()
_MOST_TRIES = 20


def parsed(text: str) -> ast.Module:
    """The tree of a text; raises what `ast.parse` raises for one that has none.

    Python 3.11 counts the depth of a tree in one place for all threads: where two read at once, a
    text without any fault can end in a SystemError. The other may be a thread of the caller's.
    """
    with _one_at_a_time:
        for _ in range(_MOST_TRIES - 1):
            try:
                return ast.parse(text)
            except SystemError:
                continue
        return ast.parse(text)
