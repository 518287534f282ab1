"""Reads quotes and escapes, and text in which quoting works as between double quotes."""

from __future__ import annotations

import re

from redoma.judge.shell import expansion
from redoma.judge.shell.ansi import decode
from redoma.judge.shell.offsets import Everywhere, relocate
from redoma.judge.shell.pieces import Pieces
from redoma.judge.shell.reader import Reader
from redoma.model.script import Literal

ESCAPES = re.compile(r"(?:\\[^\n])+")
ANSI_BODY = re.compile(r"(?:[^'\\]++|\\.)*+", re.DOTALL)
LIVE = re.compile(r"[$`]")
QUOTED_RUN = {
    '"': re.compile(r"[^\"\\$`]+"),
    "}": re.compile(r"[^}\"'\\$`]+"),
    "": re.compile(r"[^\\$`]+"),
}
# After a backslash, what loses it: in `"…"`, in `"${x-…}"`, in a here-document.
ESCAPABLE = {'"': '$`"\\', "}": '$`"\\}', "": "$`\\"}


def quoting(r: Reader, pieces: Pieces, char: str) -> bool:
    """Read one quote, escape or `$…` of unquoted text, if that is what stands here."""
    if char == "'":
        single(r, pieces)
    elif char == '"':
        double(r, pieces)
    elif char == "\\":
        escapes(r, pieces)
    elif char == "$":
        if r.text.startswith("$'", r.pos, r.end):
            ansi(r, pieces)
        elif r.text.startswith('$"', r.pos, r.end):
            r.pos += 1
            double(r, pieces)
        else:
            expansion.dollar(r, pieces, quoted=False)
    elif char == "`":
        expansion.backtick(r, pieces, quoted=False)
    else:
        return False
    r.spend(1)
    return True


def escapes(r: Reader, pieces: Pieces) -> None:
    """`\\x` outside quotes: the character itself, quoted. A lone backslash at the end stays."""
    found = ESCAPES.match(r.text, r.pos, r.end)
    start = r.pos
    if found is None:
        r.pos += 1
        pieces.add("\\", start, r.pos, quoted=True)
    else:
        r.pos = found.end()
        pieces.add(found.group()[1::2], start, r.pos, quoted=True)


def single(r: Reader, pieces: Pieces) -> None:
    """`'…'`."""
    start = r.pos
    close = _closing_apostrophe(r, start)
    if close >= 0:
        r.pos = close + 1
        pieces.add(r.raw(start + 1, close), start, r.pos, quoted=True)


def live_single(r: Reader, pieces: Pieces) -> None:
    """`'…'` where bash pairs the quotes but still expands between them.

    Attack: `"${x-'$(id)'}"`, `$(( '$(id)' ))` and `a['$(id)']=` run `id`, although it looks
    quoted.
    """
    start = r.pos
    close = _closing_apostrophe(r, start)
    if close < 0 or not r.deeper():
        return
    pieces.add("'", start, start + 1, quoted=True)
    r.pos = start + 1
    limit = r.confine(close)
    quoted_text(r, pieces, "")
    r.release(limit, close + 1)
    pieces.add("'", close, close + 1, quoted=True)
    r.depth -= 1


def arithmetic_single(r: Reader, pieces: Pieces) -> None:
    """`'…'` in a subscript: a key of its own where nothing in it could be expanded."""
    close = r.text.find("'", r.pos + 1, r.end)
    if close >= 0 and LIVE.search(r.text, r.pos, close):
        live_single(r, pieces)
    else:
        single(r, pieces)


def _closing_apostrophe(r: Reader, start: int) -> int:
    close = r.text.find("'", start + 1, r.end)
    if close < 0:
        r.pos = r.end
        r.fail("a single quote that never ends", start, r.end)
    return close


def ansi(r: Reader, pieces: Pieces) -> None:
    """`$'…'`."""
    start = r.pos
    text = _ansi_text(r)
    if text is not None:
        pieces.add(text, start, r.pos, quoted=True)


def live_ansi(r: Reader, pieces: Pieces) -> None:
    """`$'…'` where bash decodes it first and expands the result afterwards.

    Attack: `"${x:-$'\\x24(id)'}"` runs `id`.
    """
    start = r.pos
    text = _ansi_text(r)
    if text is None:
        return
    if not LIVE.search(text) or not r.deeper():
        pieces.add(text, start, r.pos, quoted=True)
        return
    span = (start, r.pos)
    inner = r.within(text)
    inside = Pieces()
    quoted_text(inner, inside, "")
    parts = inside.done()
    relocate((*parts, *inner.unread), Everywhere(span))
    for part in parts:
        if isinstance(part, Literal):
            pieces.add(part.text, *span, quoted=True)
        else:
            pieces.put(part)
    r.repay(inner)
    r.depth -= 1


def _ansi_text(r: Reader) -> str | None:
    start = r.pos
    found = ANSI_BODY.match(r.text, start + 2, r.end)
    close = found.end() if found is not None else r.end
    if not r.text.startswith("'", close, r.end):
        r.pos = r.end
        r.fail("a $' quote that never ends", start, r.end)
        return None
    r.pos = close + 1
    return decode(r.raw(start + 2, close))


def double(r: Reader, pieces: Pieces) -> None:
    """`"…"`."""
    start = r.pos
    mark = pieces.mark()
    r.pos += 1
    if r.text.startswith('"', r.pos, r.end):
        r.pos += 1
        pieces.add("", start, r.pos, quoted=True)
        return
    if not r.deeper():
        return
    if quoted_text(r, pieces, '"'):
        r.pos += 1
    else:
        pieces.drop_text(mark)
        r.fail("a double quote that never ends", start, r.end)
    r.depth -= 1


def quoted_text(r: Reader, pieces: Pieces, closer: str) -> bool:
    """Read text in which only `$`, backticks and backslashes matter, up to `closer`.

    `closer` is `"`, or `}` inside `"${x-…}"`, or "" for the body of a here-document.
    """
    text = r.text
    run = QUOTED_RUN[closer]
    while r.pos < r.end:
        start = r.pos
        found = run.match(text, start, r.end)
        if found is not None:
            r.pos = found.end()
            pieces.add(found.group(), start, r.pos, quoted=True)
            continue
        char = text[start]
        if char == closer:
            return True
        r.spend(1)
        if r.stopped:
            break
        if char == "$" and closer == "}" and text.startswith("$'", start, r.end):
            live_ansi(r, pieces)
        elif char == "$":
            expansion.dollar(r, pieces, quoted=True)
        elif char == "`":
            expansion.backtick(r, pieces, quoted=True, in_double_quotes=closer != "")
        elif char == "\\":
            escaped_in_quotes(r, pieces, ESCAPABLE[closer])
        elif char == '"':
            double(r, pieces)
        else:
            live_single(r, pieces)
    return closer == ""


def escaped_in_quotes(r: Reader, pieces: Pieces, escapable: str) -> None:
    """A backslash inside quotes: it goes before what it can escape and stays before the rest."""
    start = r.pos
    follows = r.text[start + 1] if start + 1 < r.end else ""
    r.pos = start + 1 + len(follows)
    kept = follows if follows and follows in escapable else "\\" + follows
    pieces.add(kept, start, r.pos, quoted=True)
