"""Reads `((…))`, `$((…))` and `$[…]`: text with the substitutions inside it."""

from __future__ import annotations

import re

from redoma.judge.shell import expansion, quotes
from redoma.judge.shell.pieces import Pieces
from redoma.judge.shell.reader import TOO_LARGE, Reader
from redoma.model.script import Word

RUN = re.compile(r"[^()\[\]\\'\"$`]+")
NEVER = -1
ESCAPABLE = '$`"\\'


def double_parenthesis(r: Reader) -> Word | None:
    """The expression after `((`, up to and with `))`.

    None, with the reader where it was, if the brackets pair up otherwise: `((a) | b)` is two
    subshells. Each bracket is tried once: what one attempt learns of the brackets inside it is
    remembered, since `((((…` would otherwise be read again at every level.
    """
    start = r.pos
    known = r.closes.get(start - 1)
    if known is not None and (known < 0 or not r.text.startswith("))", known, r.end)):
        return None
    before = len(r.unread), len(r.pending)
    pieces = Pieces()
    if not r.deeper():
        return Word((), (start, start))
    _read_to_bracket(r, pieces, [start - 1])
    r.depth -= 1
    if r.stopped or r.text.startswith("))", r.pos, r.end):
        expression = Word(pieces.done(), (start, r.pos))
        r.pos = min(r.pos + 2, r.end)
        return expression
    _go_back(r, start, before)
    return None


def closing_parenthesis(r: Reader, position: int) -> int:
    """Where the bracket at `position` closes when it is read as arithmetic, else a negative."""
    known = r.closes.get(position)
    if known is None:
        start = r.pos
        before = len(r.unread), len(r.pending)
        if not r.deeper():
            return -1
        r.pos = position + 1
        _read_to_bracket(r, Pieces(), [position])
        r.depth -= 1
        if r.stopped:
            return -1
        _go_back(r, start, before)
        known = r.closes[position]
    return known


def _read_to_bracket(r: Reader, pieces: Pieces, opened: list[int]) -> None:
    """Read on to the bracket that closes the first of `opened`; note how all inside pair up."""
    while r.pos < r.end:
        char = _text(r, pieces)
        r.steps -= 1
        if char == "(":
            opened.append(r.pos)
        elif char == ")":
            r.closes[opened.pop()] = r.pos
            if not opened:
                return
        if char:
            r.pos += 1
            pieces.add(char, r.pos - 1, r.pos, quoted=True)
    for unmatched in opened:
        r.closes[unmatched] = NEVER


def _go_back(r: Reader, position: int, before: tuple[int, int]) -> None:
    """Forget what an attempt has read."""
    r.pos = position
    del r.unread[before[0] :]
    del r.pending[before[1] :]


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
    if r.text.startswith("$'", start, r.end):
        quotes.live_ansi(r, pieces)
    elif char == "$":
        expansion.dollar(r, pieces, quoted=True)
    elif char == "`":
        expansion.backtick(r, pieces, quoted=True)
    elif char == '"':
        quotes.double(r, pieces)
    elif char == "'":
        quotes.live_single(r, pieces)
    else:
        quotes.escaped_in_quotes(r, pieces, ESCAPABLE)
    return ""
