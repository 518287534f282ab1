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
REGEX_RUN = re.compile(r"[^ \t\n;&<>()\\'\"$`]+")
GLOB_OPENERS = frozenset("?*+@!")

# What stands between brackets, for each closing bracket: `${x:-…}`, `a[…]`, `@(…)`.
BRACKETED_RUN = {
    "}": re.compile(r"[^}\\'\"$`<>]+"),
    "]": re.compile(r"[^\[\]\\'\"$`<>]+"),
    "}]": re.compile(r"[^\[\]}\\'\"$`<>]+"),
    ")": re.compile(r"[^()\\'\"$`<>]+"),
}


def word(r: Reader, *, globs: bool = False, regex: bool = False) -> Word | None:
    """The word that stands here, blanks before it skipped; None where no word begins.

    `globs` reads extended globs whatever the shell option says, `regex` reads what may follow
    `=~`: both as `[[ … ]]` does.
    """
    if not regex:
        plain = PLAIN_WORD.match(r.text, r.pos, r.end)
        if plain is not None:
            span = plain.span(1)
            r.pos = span[1]
            return Word((Literal(plain[1], quoted=False, span=span),), span)
    if r.blanks() == "#":
        return None
    start = r.pos
    pieces = Pieces()
    unquoted(r, pieces, globs=globs or r.extglob, regex=regex)
    parts = pieces.done()
    return Word(parts, (start, r.pos)) if parts else None


def unquoted(r: Reader, pieces: Pieces, *, globs: bool, regex: bool = False) -> None:
    """Read on to the end of the word, which is a blank, a newline or an operator."""
    text = r.text
    run = REGEX_RUN if regex else RUN
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
            continue
        if char in ("<", ">") and text.startswith("(", r.pos + 1, r.end):
            process(r, pieces)
        elif char == "(" and (
            regex or (globs and found is not None and text[r.pos - 1] in GLOB_OPENERS)
        ):
            group(r, pieces)
        else:
            return


def bracketed(
    r: Reader,
    pieces: Pieces,
    opener: str,
    closer: str,
    *,
    stop: str = "",
    calculated: bool = False,
) -> bool:
    """Read unquoted text that follows `opener` up to its `closer`, where the reader then stands.

    Inner pairs are counted, unless `opener` is empty: `${x:-{}` ends at the first brace. False
    where the text ends first, or the character `stop` comes first. What is `calculated`, as a
    subscript is, gets expanded between single quotes too.
    """
    text = r.text
    run = BRACKETED_RUN[stop + closer]
    open_pairs = 1
    while r.pos < r.end:
        pos = r.pos
        found = run.match(text, pos, r.end)
        if found is not None:
            r.pos = found.end()
            pieces.add(found.group(), pos, r.pos, quoted=False)
            continue
        char = text[pos]
        if char == closer:
            open_pairs -= 1
            if open_pairs == 0 or not opener:
                return True
        elif char == stop:
            return False
        elif char == opener:
            open_pairs += 1
        elif calculated and char == "'":
            quotes.arithmetic_single(r, pieces)
            continue
        elif calculated and text.startswith("$'", pos, r.end):
            quotes.live_ansi(r, pieces)
            continue
        elif quotes.quoting(r, pieces, char):
            continue
        elif text.startswith("(", pos + 1, r.end):
            process(r, pieces)
            continue
        r.pos = pos + 1
        pieces.add(char, pos, r.pos, quoted=False)
    return False


def group(r: Reader, pieces: Pieces) -> None:
    """`(…)` inside a word: of an extended glob, or of a regular expression."""
    start = r.pos
    r.spend(2)
    r.pos += 1
    pieces.add("(", start, r.pos, quoted=False)
    if bracketed(r, pieces, "(", ")"):
        r.pos += 1
        pieces.add(")", r.pos - 1, r.pos, quoted=False)
    else:
        r.fail("no ) to end a pattern", start, r.end)


def subscript(r: Reader, *, stop: str = "") -> Word:
    """`[…]`, without its brackets, which must close before the character `stop`."""
    start = r.pos
    r.pos += 1
    pieces = Pieces()
    closed = bracketed(r, pieces, "[", "]", stop=stop, calculated=True)
    inside = Word(pieces.done(), (start + 1, r.pos))
    if closed:
        r.pos += 1
    elif not stop:
        r.fail("no ] to end a subscript", start, r.end)
    return inside


def process(r: Reader, pieces: Pieces) -> None:
    """`<(…)` and `>(…)`."""
    start = r.pos
    direction = r.text[start]
    r.pos += 2
    script = expansion.script_until(r, expansion.PARENTHESIS, start)
    pieces.put(ProcessSubstitution(direction, script, (start, r.pos)))
