"""Reads the bodies of here-documents, which stand after the line that announced them."""

from __future__ import annotations

import re

from redoma.judge.shell import lexer
from redoma.judge.shell.cursor import Cursor, PendingBody, Pieces
from redoma.judge.shell.rewrites import Offsets, relocate
from redoma.model.script import Literal, Redirect, Word

QUOTE_MARKS = re.compile(r"\\(.)|'([^']*)'|[\"']", re.DOTALL)
LEADING_TABS = re.compile(r"^\t+", re.MULTILINE)


def announce(r: Cursor, operator: str, fd: str, start: int) -> Redirect | None:
    """`<<word` and `<<-word`: the body is owed at the end of the line."""
    written = lexer.word(r)
    if written is None:
        return None
    r.steps -= 3
    begin, finish = written.span
    quoted = any(isinstance(p, Literal) and p.quoted for p in written.parts)
    if all(isinstance(p, Literal) for p in written.parts):
        delimiter = "".join(p.text for p in written.parts if isinstance(p, Literal))
    else:
        # Nothing in a delimiter is expanded: `<<$x` ends at a line that says `$x`.
        source = "" if r.stopped else r.text[begin:finish]
        r.spend(len(source) // 16)
        delimiter = QUOTE_MARKS.sub(lambda found: found[1] or found[2] or "", source)
        quoted = quoted or delimiter != source
    redirect = Redirect(operator, fd, Word((), (finish, finish)), (start, finish), delimiter)
    r.bodies.append(PendingBody(redirect, delimiter, quoted=quoted))
    return redirect


def read_bodies(r: Cursor) -> None:
    """Read every body owed, the reader standing at the start of a line."""
    owed, r.bodies = r.bodies, []
    for body in owed:
        _read_body(r, body)
    # A body holds substitutions, and those may owe bodies: they were read with them.
    r.bodies = []


def _read_body(r: Cursor, body: PendingBody) -> None:
    start = r.pos
    strip = body.redirect.op == "<<-"
    if body.quoted and r.offsets is not None:
        # Backslash-newline is nothing special in a quoted body: look at the text as written.
        text, first = r.original, r.offsets.end(start)
        finish, after, ended = _find_end(r, body, text, first, r.offsets.start(r.end))
        content = text[first:finish]
        finish, after = r.offsets.inside(finish), r.offsets.inside(after)
    else:
        finish, after, ended = _find_end(r, body, r.text, start, r.end)
        content = r.text[start:finish]
    span = (start, max(start, finish))
    if body.quoted:
        if strip:
            content = LEADING_TABS.sub("", content)
        body.redirect.target = Word((Literal(content, quoted=True, span=span),), span)
    elif strip and LEADING_TABS.search(content):
        body.redirect.target = _stripped(r, start, finish)
    else:
        limit = r.confine(finish)
        body.redirect.target = _expanded(r, span)
        r.release(limit, finish)
    if not ended:
        r.fail("a here-document that never ends", *span)
    r.release(r.end, after)


def _find_end(
    r: Cursor, body: PendingBody, text: str, start: int, end: int
) -> tuple[int, int, bool]:
    """Where the body ends, where reading goes on, and whether a line was found that ends it."""
    delimiter = body.delimiter
    strip = body.redirect.op == "<<-"
    line = start
    # A line has no newline in it: such a delimiter ends nothing.
    while line < end and "\n" not in delimiter:
        at = line
        if strip:
            while text.startswith("\t", at, end):
                at += 1
        if text.startswith(delimiter, at, end):
            stop = at + len(delimiter)
            if stop == end:
                return line, stop, True
            if text[stop] == "\n":
                return line, stop + 1, True
            if r.in_substitution and text.find(")", stop, _line_end(text, stop, end)) >= 0:
                # `$(cat <<EOF … EOF)`: bash takes this line for the end of the body.
                return line, stop, True
        r.spend(1)
        if r.stopped:
            return start, start, True
        # Only a line that begins as the delimiter does can end the body.
        following = text.find("\n" if strip else "\n" + delimiter, line, end)
        if following < 0:
            break
        line = following + 1
    return end, end, False


def _line_end(text: str, start: int, end: int) -> int:
    newline = text.find("\n", start, end)
    return newline if newline >= 0 else end


def _expanded(r: Cursor, span: tuple[int, int]) -> Word:
    """The body up to the reader's limit, with its substitutions read."""
    pieces = Pieces()
    if r.deeper():
        lexer.quoted_text(r, pieces, "")
        r.depth -= 1
    return Word(pieces.done(), span)


def _stripped(r: Cursor, start: int, finish: int) -> Word:
    """The body of `<<-` without the tabs at the start of its lines."""
    kept: list[str] = []
    places: list[tuple[int, int]] = [(0, start)]
    here, there = 0, start
    for found in LEADING_TABS.finditer(r.text, start, finish):
        kept.append(r.text[there : found.start()])
        here += found.start() - there
        there = found.end()
        places.append((here, there))
    kept.append(r.text[there:finish])
    inner = r.within("".join(kept))
    inner.in_substitution = False
    word = _expanded(inner, (0, len(inner.text)))
    for offsets in (inner.offsets, Offsets(places)):
        if offsets is not None:
            relocate((word, *inner.unread), offsets)
    word.span = (start, finish)
    r.repay(inner)
    return word
