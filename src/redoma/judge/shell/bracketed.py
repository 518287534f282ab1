"""Reads unquoted text between brackets: `${x:-…}`, `a[…]`, `@(…)`."""

from __future__ import annotations

import re

from redoma.judge.shell import brackets, live, quotes, wording
from redoma.judge.shell.pieces import Pieces
from redoma.judge.shell.reader import Reader
from redoma.model.script import Word

# What needs no thought before each closing bracket.
RUN = {
    "}": re.compile(r"[^}\\'\"$`<>]+"),
    "]": re.compile(r"[^\[\]\\'\"$`<>]+"),
    "}]": re.compile(r"[^\[\]}\\'\"$`<>]+"),
    "": re.compile(r"[^\\'\"$`<>]+"),
}


def text_until(
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
    run = RUN[stop + closer]
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
            live.key(r, pieces)
            continue
        elif calculated and text.startswith("$'", pos, r.end):
            live.ansi(r, pieces)
            continue
        elif quotes.quoting(r, pieces, char):
            continue
        elif text.startswith("(", pos + 1, r.end) and text[pos - 1] not in "<>":
            wording.process(r, pieces)
            continue
        r.pos = pos + 1
        pieces.add(char, pos, r.pos, quoted=False)
    return False


def group(r: Reader, pieces: Pieces) -> None:
    """`(…)` inside a word: of an extended glob, or of a regular expression."""
    start = r.pos
    r.spend(2)
    if r.stopped:
        return
    r.pos += 1
    pieces.add("(", start, r.pos, quoted=False)
    close = brackets.closing(r, start, calculated=False)
    limit = r.confine(close if close >= 0 else r.end)
    text_until(r, pieces, "", "")
    r.release(limit, r.end)
    if close >= 0:
        r.release(limit, close + 1)
        pieces.add(")", close, close + 1, quoted=False)
    else:
        r.fail("no ) to end a pattern", start, r.end)


def subscript(r: Reader, *, stop: str = "") -> Word:
    """`[…]`, without its brackets, which must close before the character `stop`."""
    start = r.pos
    r.pos += 1
    pieces = Pieces()
    closed = text_until(r, pieces, "[", "]", stop=stop, calculated=True)
    inside = Word(pieces.done(), (start + 1, r.pos))
    if closed:
        r.pos += 1
    elif not stop:
        r.fail("no ] to end a subscript", start, r.end)
    return inside
