"""Reads words: plain runs, quotes, escapes, extended globs, and `$…` by way of `expansion`."""

from __future__ import annotations

import re

from redoma.judge.shell import expansion, quotes
from redoma.judge.shell.pieces import Pieces
from redoma.judge.shell.reader import Reader
from redoma.model.script import Literal, ProcessSubstitution, Word

# A whole word that needs no thought: no quoting, no `$`, and it ends where the match ends.
PLAIN_WORD = re.compile(r"[ \t]*([^ \t\n;&|<>()\\'\"$`#][^ \t\n;&|<>()\\'\"$`]*)(?=[ \t\n;&|)]|\Z)")
# A whole word in one pair of quotes with nothing to expand in it.
QUOTED_WORD = re.compile(r"[ \t]*(?:'([^']*)'|\"([^\"\\$`]*)\")(?=[ \t\n;&|)]|\Z)")

RUN = re.compile(r"[^ \t\n;&|<>()\\'\"$`]+")
GLOB_OPENERS = frozenset("?*+@!")


def word(r: Reader) -> Word | None:
    """The word that stands here, blanks before it skipped; None where no word begins."""
    plain = PLAIN_WORD.match(r.text, r.pos, r.end)
    if plain is not None:
        span = plain.span(1)
        r.pos = span[1]
        return Word((Literal(plain[1], quoted=False, span=span),), span)
    if r.blanks() == "#":
        return None
    start = r.pos
    pieces = Pieces()
    unquoted(r, pieces, globs=r.extglob)
    parts = pieces.done()
    return Word(parts, (start, r.pos)) if parts else None


def unquoted(
    r: Reader, pieces: Pieces, *, globs: bool, run: re.Pattern[str] = RUN, groups: bool = False
) -> None:
    """Read on to the end of the word, which is a blank, a newline or an operator.

    Where there are `globs`, `@(` and its like open a pattern; where there are `groups`, as in a
    regular expression, every bracket does.
    """
    text = r.text
    expanded = False  # `$@(a)`: the `@` that was expanded opens a glob as well
    while r.pos < r.end:
        pos = r.pos
        found = run.match(text, pos, r.end)
        if found is not None:
            r.pos = found.end()
            pieces.add(found.group(), pos, r.pos, quoted=False)
            if r.pos >= r.end:
                return
        char = text[r.pos]
        if quotes.quoting(r, pieces, char):
            expanded = char == "$"
            continue
        if char in ("<", ">") and text.startswith("(", r.pos + 1, r.end):
            process(r, pieces)
        elif char == "(" and (
            groups or (globs and (found or expanded) and text[r.pos - 1] in GLOB_OPENERS)
        ):
            from redoma.judge.shell import bracketed

            bracketed.group(r, pieces)
        else:
            return


def process(r: Reader, pieces: Pieces) -> None:
    """`<(…)` and `>(…)`."""
    start = r.pos
    direction = r.text[start]
    r.pos += 2
    script = expansion.script_until(r, expansion.PARENTHESIS, start)
    pieces.put(ProcessSubstitution(direction, script, (start, r.pos)))
