"""Rows of a table on the reader's own screen: columns line up, and nothing is wider than it.

What does not fit goes on below, between words, under the column that it belongs to. Where nobody
looks at a screen a row is one line, as programs read it.
"""

from __future__ import annotations

import os

from redoma.base.text import cell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

# With less room than this beside the columns before it, the last one begins on a line of its own.
_LEAST = 24
_LABEL = 14


def columns_of(stream: TextIO) -> int | None:
    """How wide the reader's screen is; None where what is written is no screen."""
    try:
        return max(40, os.get_terminal_size(stream.fileno()).columns)
    except (OSError, ValueError):
        return None


def row(first: str, last: str, width: int | None, *, least: int = _LEAST) -> list[str]:
    """A row whose last column is text: one line where it fits, or text under its own column."""
    if width is None:
        return [f"{first}  {last}".rstrip()]
    indent = measure(first) + 2
    if indent > width:
        heads = filled(first, width)
        return [*heads, *(f"    {part}" for part in filled(last, width - 4))] if last else heads
    if width - indent < least and measure(last) > width - indent:
        return [first.rstrip(), *(f"    {part}" for part in filled(last, width - 4))]
    head, *more = filled(last, width - indent)
    return [f"{first}  {head}".rstrip(), *(f"{'':<{indent}}{part}" for part in more)]


def field(title: str, text: str, width: int | None) -> list[str]:
    """A titled line, its text under itself."""
    return row(f"{title:<{_LABEL}}", text, width)


def filled(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` columns, broken between words.

    A word that is longer than a line is broken where the line ends: nothing runs over the edge.
    """
    lines = [""]
    for word in text.split(" "):
        while True:
            joined = f"{lines[-1]} {word}" if lines[-1] else word
            if measure(joined) <= width:
                lines[-1] = joined
                break
            if lines[-1]:
                lines.append("")
                continue
            cut = _fits(word, width)
            lines[-1], word = word[:cut], word[cut:]  # noqa: PLW2901 — the rest of it
            lines.append("")
    return lines if lines[-1] or len(lines) == 1 else lines[:-1]


def _fits(word: str, width: int) -> int:
    """How many characters of a word fit; one at least."""
    used = 0
    for at, char in enumerate(word):
        used += cell(char)[1]
        if used > width:
            return max(1, at)
    return len(word)


def measure(text: str) -> int:
    """How many columns a text takes."""
    return len(text) if text.isascii() else sum(cell(char)[1] for char in text)
