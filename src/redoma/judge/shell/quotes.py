"""Reads quotes and escapes, and text in which quoting works as between double quotes."""

from __future__ import annotations

import re

from redoma.judge.shell import expansion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.shell.pieces import Pieces
    from redoma.judge.shell.reader import Reader

ESCAPES = re.compile(r"(?:\\[^\n])+")
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
            from redoma.judge.shell import ansi

            ansi.quote(r, pieces)
        elif r.text.startswith('$"', r.pos, r.end):
            r.pos += 1
            double(r, pieces)
        else:
            expansion.dollar(r, pieces, quoted=False)
    elif char == "`":
        from redoma.judge.shell import backticks

        backticks.backtick(r, pieces, quoted=False)
    else:
        return False
    r.spend(2)
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
    close = closing_apostrophe(r, start)
    if close >= 0:
        r.pos = close + 1
        pieces.add(r.raw(start + 1, close), start, r.pos, quoted=True)


def closing_apostrophe(r: Reader, start: int) -> int:
    """Where the quote at `start` ends, negative and noted where it does not."""
    close = r.text.find("'", start + 1, r.end)
    if close < 0:
        r.pos = max(r.pos, r.end)
        r.fail("a single quote that never ends", start, r.end)
    return close


def double(r: Reader, pieces: Pieces) -> None:
    """`"…"`."""
    start = r.pos
    mark = pieces.mark()
    r.pos += 1
    if r.text.startswith('"', r.pos, r.end):
        r.pos += 1
        pieces.add("", start, r.pos, quoted=True)
        return
    r.steps -= 1
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
        if char == "'" or (closer == "}" and text.startswith("$'", start, r.end)):
            from redoma.judge.shell import live

            (live.single if char == "'" else live.ansi)(r, pieces)
        elif char == "$":
            expansion.dollar(r, pieces, quoted=True)
        elif char == "`":
            from redoma.judge.shell import backticks

            backticks.backtick(r, pieces, quoted=True, in_double_quotes=closer != "")
        elif char == "\\":
            escaped_in_quotes(r, pieces, ESCAPABLE[closer])
        else:
            double(r, pieces)
    return closer == ""


def escaped_in_quotes(r: Reader, pieces: Pieces, escapable: str) -> None:
    """A backslash inside quotes: it goes before what it can escape and stays before the rest."""
    start = r.pos
    follows = r.text[start + 1] if start + 1 < r.end else ""
    r.pos = start + 1 + len(follows)
    kept = follows if follows and follows in escapable else "\\" + follows
    pieces.add(kept, start, r.pos, quoted=True)
