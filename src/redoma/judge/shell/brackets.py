"""Pairs brackets as bash does before it knows what they mean: by counting, quotes skipped.

`((`, `$[`, extended globs and groups of a regular expression are found this way, and only then
read. The count does not see `${…}`. Attack: `((${x:-)} ; rm -r y ))` looks like arithmetic to
whoever skips the braces, and runs `rm` in bash, where the count ends at the first bracket.
"""

from __future__ import annotations

import re

from redoma.judge.shell import ansi, backticks, expansion, quotes
from redoma.judge.shell.pieces import Pieces
from redoma.judge.shell.reader import Reader

RUN = {
    "(": re.compile(r"[^()'\"`\\$]+"),
    "[": re.compile(r"[^\[\]'\"`\\$]+"),
}
CLOSERS = {"(": ")", "[": "]"}
COUNTED = re.compile(r"\\.|'[^']*'|\"(?:[^\"\\]++|\\.)*+\"|[()]", re.DOTALL)
NEVER = -1


def closing(r: Reader, position: int, *, calculated: bool) -> int:
    """Where the bracket at `position` closes, negative for nowhere; the reader stays.

    In what is `calculated`, `$(…)` is skipped as well. What one count learns of the brackets
    inside is remembered: `((((…` is counted once.
    """
    known = r.closes.get((position, r.end, calculated))
    if known is not None:
        return known
    if not r.deeper():
        return NEVER
    back = r.pos
    opened = [position]
    r.pos = position + 1
    while opened and r.pos < r.end:
        _step(r, opened, calculated=calculated)
    r.depth -= 1
    r.spend(2)
    if r.stopped:
        return NEVER
    for unmatched in opened:
        r.closes[unmatched, r.end, calculated] = NEVER
    r.pos = back
    return r.closes[position, r.end, calculated]


def _step(r: Reader, opened: list[int], *, calculated: bool) -> None:
    bracket = r.text[opened[0]]
    found = RUN[bracket].match(r.text, r.pos, r.end)
    if found is not None:
        r.pos = found.end()
        return
    start = r.pos
    char = r.text[start]
    r.spend(1)
    if r.stopped:
        return
    if char == '"' or (calculated and r.text.startswith("$(", start, r.end)):
        r.pos = _end_of_expansion(r)
        return
    if char == bracket:
        opened.append(start)
    elif char == CLOSERS[bracket]:
        r.closes[opened.pop(), r.end, calculated] = start
    elif char == "'":
        close = r.text.find("'", start + 1, r.end)
        r.pos = close if close >= 0 else r.end
    elif char == "`":
        body = backticks.BODY.match(r.text, start + 1, r.end)
        r.pos = body.end() if body is not None else r.end
    elif char == "\\":
        r.pos += 1
    elif r.text.startswith("$'", start, r.end):
        body = ansi.BODY.match(r.text, start + 2, r.end)
        r.pos = body.end() if body is not None else r.end
    r.pos = min(r.pos + 1, r.end)


def _end_of_expansion(r: Reader) -> int:
    """Where the `"…"` or `$(…)` that begins here ends: what cannot be found by counting."""
    start, before = r.pos, r.noted()
    known = r.closes.get((start, r.end, True))
    if known is None:
        if r.text[start] == '"':
            quotes.double(r, Pieces())
        else:
            expansion.dollar(r, Pieces(), quoted=True)
        known = r.pos
        r.forget(before)
        r.closes[start, r.end, True] = known
    return known


def balanced(r: Reader, start: int, end: int) -> bool:
    """Whether the brackets between two positions pair up, nothing but quotes skipped."""
    depth = 0
    for found in COUNTED.finditer(r.text, start, end):
        r.steps -= 1
        mark = found.group()
        if mark == "(":
            depth += 1
        elif mark == ")":
            depth -= 1
            if depth < 0:
                return False
    return depth == 0
