"""Reads `((…))`, `$((…))` and `$[…]`: text with the substitutions inside it."""

from __future__ import annotations

import re

from redoma.judge.shell import expansion, wording
from redoma.judge.shell.pieces import Pieces
from redoma.judge.shell.reader import TOO_LARGE, Reader
from redoma.model.script import Word

RUN = re.compile(r"[^()\[\]\\'\"$`]+")
ESCAPABLE = '$`"\\'


def double_parenthesis(r: Reader) -> Word | None:
    """The expression after `((`, up to and with `))`.

    None, with the reader where it was, if the brackets pair up otherwise: `((a) | b)` is two
    subshells. Each bracket is tried once: what one attempt learns of the brackets inside it is
    remembered, since `((((…` would otherwise be read again at every level.
    """
    start = r.pos
    if r.closes.get(start - 1) is False:
        return None
    unread, pending = len(r.unread), len(r.pending)
    opened = [start - 1]
    if not r.deeper():
        return Word((), (start, start))
    pieces = Pieces()
    while r.pos < r.end:
        char = _text(r, pieces)
        r.steps -= 1
        if char == "(":
            opened.append(r.pos)
        elif char == ")":
            r.closes[opened.pop()] = r.text.startswith("))", r.pos, r.end)
            if not opened:
                break
        if char:
            r.pos += 1
            pieces.add(char, r.pos - 1, r.pos, quoted=True)
    r.depth -= 1
    for unmatched in opened:
        r.closes[unmatched] = False
    if r.stopped or r.closes[start - 1]:
        expression = Word(pieces.done(), (start, r.pos))
        r.pos = min(r.pos + 2, r.end)
        return expression
    r.pos = start
    del r.unread[unread:]
    del r.pending[pending:]
    return None


def bracket_expression(r: Reader) -> Word:
    """The expression after `$[`, up to and with `]`."""
    start = r.pos
    pieces = Pieces()
    open_pairs = 1
    if not r.deeper():
        return Word((), (start, start))
    while r.pos < r.end:
        char = _text(r, pieces)
        r.steps -= 1
        if char in ("[", "]"):
            open_pairs += 1 if char == "[" else -1
            if open_pairs == 0:
                break
        if char:
            r.pos += 1
            pieces.add(char, r.pos - 1, r.pos, quoted=True)
    r.depth -= 1
    expression = Word(pieces.done(), (start, r.pos))
    if open_pairs:
        r.fail("no ] to end an expression", start, r.end)
    else:
        r.pos += 1
    return expression


def _text(r: Reader, pieces: Pieces) -> str:
    """Read on to the next bracket and give it, or "" after something else was read."""
    start = r.pos
    if r.steps < 0:
        r.give_up(TOO_LARGE)
        return ""
    found = RUN.match(r.text, start, r.end)
    if found is not None:
        r.pos = found.end()
        pieces.add(found.group(), start, r.pos, quoted=True)
        return ""
    char = r.text[start]
    if char in "()[]":
        return char
    if char == "$":
        expansion.dollar(r, pieces, quoted=True)
    elif char == "`":
        expansion.backtick(r, pieces, quoted=True)
    elif char == '"':
        wording.double(r, pieces)
    elif char == "'":
        wording.apostrophes(r, pieces)
    else:
        wording.escaped_in_quotes(r, pieces, ESCAPABLE)
    return ""
