"""Reads the bodies of here-documents, which stand after the line that announced them."""

from __future__ import annotations

import re

from redoma.judge.shell import quotes, wording
from redoma.judge.shell.offsets import Offsets, relocate
from redoma.judge.shell.pieces import Pieces
from redoma.judge.shell.reader import PendingBody, Reader
from redoma.model.script import Literal, Redirect, Word

QUOTE_MARKS = re.compile(r"\\(.)|'([^']*)'|[\"']", re.DOTALL)
LEADING_TABS = re.compile(r"^\t+", re.MULTILINE)


def announce(r: Reader, operator: str, fd: str, start: int) -> Redirect | None:
    """`<<word` and `<<-word`: the body is owed at the end of the line."""
    written = wording.word(r)
    if written is None:
        return None
    r.steps -= 3
    begin, finish = written.span
    quoted = any(isinstance(p, Literal) and p.quoted for p in written.parts)
    if all(isinstance(p, Literal) for p in written.parts):
        delimiter = "".join(p.text for p in written.parts if isinstance(p, Literal))
    else:
        # Nothing in a delimiter is expanded: `<<$x` ends at a line that says `$x`.
        source = r.text[begin:finish]
        delimiter = QUOTE_MARKS.sub(lambda found: found[1] or found[2] or "", source)
        quoted = quoted or delimiter != source
    redirect = Redirect(operator, fd, Word((), (finish, finish)), (start, finish), delimiter)
    r.bodies.append(PendingBody(redirect, delimiter, quoted=quoted))
    return redirect


def read_bodies(r: Reader) -> None:
    """Read every body owed, the reader standing at the start of a line."""
    owed, r.bodies = r.bodies, []
    for body in owed:
        _read_body(r, body)
    # A body holds substitutions, and those may owe bodies: they were read with them.
    r.bodies = []


def _read_body(r: Reader, body: PendingBody) -> None:
    start = r.pos
    strip = body.redirect.op == "<<-"
    if body.quoted and r.offsets is not None:
        # Backslash-newline is nothing special in a quoted body: look at the text as written.
        text = r.original
        first, last = r.offsets.end(start), r.offsets.start(r.end)
        finish, after = _find_end(r, body, text, first, last)
        after_pos = r.offsets.inside(after)
        span = (start, max(start, r.offsets.inside(finish)))
    else:
        text, first = r.text, start
        finish, after_pos = _find_end(r, body, text, start, r.end)
        span = (start, finish)
    if body.quoted:
        content = text[first:finish]
        if strip:
            content = LEADING_TABS.sub("", content)
        literal = Literal(content, quoted=True, span=span)
        body.redirect.target = Word((literal,), span)
    elif strip and LEADING_TABS.search(text, first, finish):
        body.redirect.target = _stripped(r, first, finish)
    else:
        limit = r.confine(finish)
        body.redirect.target = _expanded(r, span)
        r.release(limit, finish)
    r.release(r.end, after_pos)


def _find_end(r: Reader, body: PendingBody, text: str, start: int, end: int) -> tuple[int, int]:
    """Where the body ends and where reading goes on; noted as unread if no line ends it."""
    delimiter = body.delimiter
    strip = body.redirect.op == "<<-"
    line = start
    while line < end:
        at = line
        if strip:
            while text.startswith("\t", at, end):
                at += 1
        if text.startswith(delimiter, at, end):
            stop = at + len(delimiter)
            if stop == end:
                return line, stop
            if text[stop] == "\n":
                return line, stop + 1
            if r.in_substitution and text.find(")", stop, _line_end(text, stop, end)) >= 0:
                # `$(cat <<EOF … EOF)`: bash takes this line for the end of the body.
                return line, stop
        r.spend(1)
        if r.stopped:
            return start, start
        # Only a line that begins as the delimiter does can end the body.
        following = text.find("\n" if strip else "\n" + delimiter, line, end)
        if following < 0:
            break
        line = following + 1
    r.fail("a here-document that never ends", start, end)
    return end, end


def _line_end(text: str, start: int, end: int) -> int:
    newline = text.find("\n", start, end)
    return newline if newline >= 0 else end


def _expanded(r: Reader, span: tuple[int, int]) -> Word:
    """The body up to the reader's limit, with its substitutions read."""
    pieces = Pieces()
    if r.deeper():
        quotes.quoted_text(r, pieces, "")
        r.depth -= 1
    return Word(pieces.done(), span)


def _stripped(r: Reader, start: int, finish: int) -> Word:
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
