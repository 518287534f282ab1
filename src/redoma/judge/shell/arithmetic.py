"""Reads `((…))`, `$((…))` and `$[…]`: text with the substitutions inside it."""

from __future__ import annotations

import re

from redoma.judge.shell import backticks, brackets, expansion, live, quotes
from redoma.judge.shell.pieces import Pieces
from redoma.judge.shell.reader import Reader
from redoma.model.script import Word

RUN = re.compile(r"[^()\[\]\\'\"$`]+")
ESCAPABLE = '$`"\\'


def double_parenthesis(r: Reader) -> Word | None:
    """The expression after the `((` of a command, up to and with `))`.

    None, with the reader where it was, if the brackets pair up otherwise: `((a) | b)` is two
    subshells.
    """
    close = brackets.closing(r, r.pos - 1, calculated=True)
    if close < 0 or not r.text.startswith("))", close, r.end):
        return None
    return _expression(r, close)


def substitution(r: Reader) -> tuple[Word | None, int]:
    """The expression after `$((`, up to and with `))`; else None, and where `$(` closes."""
    close = brackets.closing(r, r.pos - 2, calculated=True)
    if r.pos < close and r.text[close - 1] == ")" and brackets.balanced(r, r.pos, close - 1):
        return _expression(r, close - 1), close
    return None, close


def bracket_expression(r: Reader) -> Word:
    """The expression after `$[`, up to and with `]`."""
    start = r.pos
    close = brackets.closing(r, start - 1, calculated=True)
    expression = _expression(r, close if close >= 0 else r.end)
    if close < 0:
        r.fail("no ] to end an expression", start, r.end)
    elif not r.stopped:
        r.pos = close + 1
    return expression


def _expression(r: Reader, close: int) -> Word:
    """What stands between here and `close`; the reader then stands behind two brackets there."""
    start = r.pos
    pieces = Pieces()
    if not r.deeper():
        return Word((), (start, start))
    limit = r.confine(close)
    while r.pos < r.end:
        _text(r, pieces)
    r.release(limit, min(close + 2, limit))
    r.depth -= 1
    return Word(pieces.done(), (start, max(start, close)))


def _text(r: Reader, pieces: Pieces) -> None:
    """Read one run of text, one bracket, or one thing that is quoted or expanded."""
    start = r.pos
    r.spend(1)
    if r.stopped:
        return
    found = RUN.match(r.text, start, r.end)
    char = r.text[start]
    if found is not None:
        r.pos = found.end()
        pieces.add(found.group(), start, r.pos, quoted=True)
    elif char in "()[]":
        r.pos = start + 1
        pieces.add(char, start, r.pos, quoted=True)
    elif r.text.startswith("$'", start, r.end):
        live.ansi(r, pieces)
    elif char == "$":
        expansion.dollar(r, pieces, quoted=True)
    elif char == "`":
        backticks.backtick(r, pieces, quoted=True)
    elif char == '"':
        quotes.double(r, pieces)
    elif char == "'":
        live.single(r, pieces)
    else:
        quotes.escaped_in_quotes(r, pieces, ESCAPABLE)
