"""Reads what looks quoted and is expanded all the same."""

from __future__ import annotations

import re

from redoma.judge.shell import quotes
from redoma.judge.shell.ansi import text_of_quote
from redoma.judge.shell.offsets import Everywhere, relocate
from redoma.judge.shell.pieces import Pieces
from redoma.model.script import Literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.shell.reader import Reader

LIVE = re.compile(r"[$`]")


def single(r: Reader, pieces: Pieces) -> None:
    """`'…'` where bash pairs the quotes but still expands between them.

    Attack: `"${x-'$(id)'}"`, `$(( '$(id)' ))` and `a['$(id)']=` run `id`, although it looks
    quoted.
    """
    start = r.pos
    close = quotes.closing_apostrophe(r, start)
    if close < 0 or not r.deeper():
        return
    pieces.add("'", start, start + 1, quoted=True)
    r.pos = start + 1
    limit = r.confine(close)
    quotes.quoted_text(r, pieces, "")
    r.release(limit, close + 1)
    pieces.add("'", close, close + 1, quoted=True)
    r.depth -= 1


def key(r: Reader, pieces: Pieces) -> None:
    """`'…'` in a subscript: a key of its own where nothing in it could be expanded."""
    close = r.text.find("'", r.pos + 1, r.end)
    if close >= 0 and LIVE.search(r.text, r.pos, close):
        single(r, pieces)
    else:
        quotes.single(r, pieces)


def ansi(r: Reader, pieces: Pieces) -> None:
    """`$'…'` where bash decodes it first and expands the result afterwards.

    Attack: `"${x:-$'\\x24(id)'}"` runs `id`.
    """
    start = r.pos
    text = text_of_quote(r)
    if text is None:
        return
    if not LIVE.search(text) or not r.deeper():
        pieces.add(text, start, r.pos, quoted=True)
        return
    span = (start, r.pos)
    inner = r.within(text)
    inside = Pieces()
    quotes.quoted_text(inner, inside, "")
    parts = inside.done()
    relocate((*parts, *inner.unread), Everywhere(span))
    for part in parts:
        if isinstance(part, Literal):
            pieces.add(part.text, *span, quoted=True)
        else:
            pieces.put(part)
    r.repay(inner)
    r.depth -= 1
