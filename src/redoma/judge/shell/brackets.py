"""Reads what stands in brackets: `((…))`, `$[…]`, `${…}`, `a[…]`, `@(…)`.

Bash pairs brackets before it knows what they mean: by counting, quotes skipped.

`((`, `$[`, extended globs and groups of a regular expression are found this way, and only then
read. The count does not see `${…}`. Attack: `((${x:-)} ; rm -r y ))` looks like arithmetic to
whoever skips the braces, and runs `rm` in bash, where the count ends at the first bracket.
"""

from __future__ import annotations

import re

from redoma.judge.shell import lexer, rewrites
from redoma.judge.shell.cursor import Cursor, Pieces
from redoma.model.script import Parameter, Word

COUNTED_RUN = {
    "(": re.compile(r"[^()'\"`\\$]+"),
    "[": re.compile(r"[^\[\]'\"`\\$]+"),
}
CLOSERS = {"(": ")", "[": "]"}
COUNTED = re.compile(r"\\.|'[^']*'|\"(?:[^\"\\]++|\\.)*+\"|[()]", re.DOTALL)
NEVER = -1
# What needs no thought before each closing bracket.
BRACKETED_RUN = {
    "}": re.compile(r"[^}\\'\"$`<>]+"),
    "]": re.compile(r"[^\[\]\\'\"$`<>]+"),
    "}]": re.compile(r"[^\[\]}\\'\"$`<>]+"),
    "": re.compile(r"[^\\'\"$`<>]+"),
}
ARITHMETIC_RUN = re.compile(r"[^()\[\]\\'\"$`]+")
ARITHMETIC_ESCAPABLE = '$`"\\'
# `${#x}`, `${#@}` are lengths, `${#}` and `${#-x}` are about `$#`; `${!x}` and `${!}` likewise.
LENGTH = re.compile(r"#([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-](?=\}))")
INDIRECT = re.compile(r"!([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-](?=\})|[@*#](?=[^}]))")
PARAMETER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?!-]|\$(?![({\['\"])")
PARAMETER_OPERATOR = re.compile(r":[-=?+]|##|%%|//|/#|/%|\^\^|,,|~~|[-=?+#%/^,~@:*]")
# Operators whose argument is a pattern: quotes in it quote even inside double quotes.
PATTERN_OPERATORS = frozenset(("#", "##", "%", "%%", "/", "//", "/#", "/%", "^", "^^", ",", ",,"))


def closing(r: Cursor, position: int, *, calculated: bool) -> int:
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
        _count_step(r, opened, calculated=calculated)
    r.depth -= 1
    r.spend(2)
    if r.stopped:
        return NEVER
    for unmatched in opened:
        r.closes[unmatched, r.end, calculated] = NEVER
    r.pos = back
    return r.closes[position, r.end, calculated]


def _count_step(r: Cursor, opened: list[int], *, calculated: bool) -> None:
    bracket = r.text[opened[0]]
    found = COUNTED_RUN[bracket].match(r.text, r.pos, r.end)
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
        body = rewrites.BACKTICK_BODY.match(r.text, start + 1, r.end)
        r.pos = body.end() if body is not None else r.end
    elif char == "\\":
        r.pos += 1
    elif r.text.startswith("$'", start, r.end):
        body = rewrites.ANSI_BODY.match(r.text, start + 2, r.end)
        r.pos = body.end() if body is not None else r.end
    r.pos = min(r.pos + 1, r.end)


def _end_of_expansion(r: Cursor) -> int:
    """Where the `"…"` or `$(…)` that begins here ends: what cannot be found by counting."""
    start, before = r.pos, r.noted()
    known = r.closes.get((start, r.end, True))
    if known is None:
        if r.text[start] == '"':
            lexer.double_quote(r, Pieces())
        else:
            lexer.dollar(r, Pieces(), quoted=True)
        known = r.pos
        r.forget(before)
        r.closes[start, r.end, True] = known
    return known


def balanced(r: Cursor, start: int, end: int) -> bool:
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


def text_until(
    r: Cursor,
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
    run = BRACKETED_RUN[stop + closer]
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
            rewrites.subscript_key(r, pieces)
            continue
        elif calculated and text.startswith("$'", pos, r.end):
            rewrites.live_ansi(r, pieces)
            continue
        elif lexer.quoting(r, pieces, char):
            continue
        elif text.startswith("(", pos + 1, r.end) and text[pos - 1] not in "<>":
            lexer.process(r, pieces)
            continue
        r.pos = pos + 1
        pieces.add(char, pos, r.pos, quoted=False)
    return False


def group(r: Cursor, pieces: Pieces) -> None:
    """`(…)` inside a word: of an extended glob, or of a regular expression."""
    start = r.pos
    r.spend(2)
    if r.stopped:
        return
    r.pos += 1
    pieces.add("(", start, r.pos, quoted=False)
    close = closing(r, start, calculated=False)
    limit = r.confine(close if close >= 0 else r.end)
    text_until(r, pieces, "", "")
    r.release(limit, r.end)
    if close >= 0:
        r.release(limit, close + 1)
        pieces.add(")", close, close + 1, quoted=False)
    else:
        r.fail("no ) to end a pattern", start, r.end)


def subscript(r: Cursor, *, stop: str = "") -> Word:
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


def double_parenthesis(r: Cursor) -> Word | None:
    """The expression after the `((` of a command, up to and with `))`.

    None, with the reader where it was, if the brackets pair up otherwise: `((a) | b)` is two
    subshells.
    """
    close = closing(r, r.pos - 1, calculated=True)
    if close < 0 or not r.text.startswith("))", close, r.end):
        return None
    return _expression(r, close)


def arithmetic_substitution(r: Cursor) -> tuple[Word | None, int]:
    """The expression after `$((`, up to and with `))`; else None, and where `$(` closes."""
    close = closing(r, r.pos - 2, calculated=True)
    if r.pos < close and r.text[close - 1] == ")" and balanced(r, r.pos, close - 1):
        return _expression(r, close - 1), close
    return None, close


def bracket_expression(r: Cursor) -> Word:
    """The expression after `$[`, up to and with `]`."""
    start = r.pos
    close = closing(r, start - 1, calculated=True)
    expression = _expression(r, close if close >= 0 else r.end)
    if close < 0:
        r.fail("no ] to end an expression", start, r.end)
    elif not r.stopped:
        r.pos = close + 1
    return expression


def _expression(r: Cursor, close: int) -> Word:
    """What stands between here and `close`; the reader then stands behind two brackets there."""
    start = r.pos
    pieces = Pieces()
    if not r.deeper():
        return Word((), (start, start))
    limit = r.confine(close)
    while r.pos < r.end:
        _arithmetic_text(r, pieces)
    r.release(limit, min(close + 2, limit))
    r.depth -= 1
    return Word(pieces.done(), (start, max(start, close)))


def _arithmetic_text(r: Cursor, pieces: Pieces) -> None:
    """Read one run of text, one bracket, or one thing that is quoted or expanded."""
    start = r.pos
    r.spend(1)
    if r.stopped:
        return
    found = ARITHMETIC_RUN.match(r.text, start, r.end)
    char = r.text[start]
    if found is not None:
        r.pos = found.end()
        pieces.add(found.group(), start, r.pos, quoted=True)
    elif char in "()[]":
        r.pos = start + 1
        pieces.add(char, start, r.pos, quoted=True)
    elif r.text.startswith("$'", start, r.end):
        rewrites.live_ansi(r, pieces)
    elif char == "$":
        lexer.dollar(r, pieces, quoted=True)
    elif char == "`":
        rewrites.backtick(r, pieces, quoted=True)
    elif char == '"':
        lexer.double_quote(r, pieces)
    elif char == "'":
        rewrites.live_single(r, pieces)
    else:
        lexer.escaped_in_quotes(r, pieces, ARITHMETIC_ESCAPABLE)


def parameter(r: Cursor, *, quoted: bool) -> Parameter:
    """`${…}` from its `$`; where bash would say "bad substitution", a parameter without a name.

    The nameless one keeps what was read between the braces as its subscript and argument.
    """
    start = r.pos
    r.spend(2)
    r.pos = start + 2
    if not r.deeper():
        return Parameter("", (start, r.pos), quoted=quoted)
    prefix, name = _name(r)
    index = argument = None
    operator = ""
    good = name != ""
    if good and r.text.startswith("[", r.pos, r.end) and (name[0] == "_" or name[0].isalpha()):
        # The first brace ends it all, even before the `]`: `${x[1}` is a bad substitution.
        index = subscript(r, stop="}")
        good = r.pos > index.span[1]
    if not r.text.startswith("}", r.pos, r.end):
        found = PARAMETER_OPERATOR.match(r.text, r.pos, r.end)
        good = good and found is not None and (found.group() != "*" or prefix == "!")
        if good and found is not None:
            operator = found.group()
            r.pos = found.end()
        argument = _argument(r, operator, quoted=quoted)
    r.depth -= 1
    if r.text.startswith("}", r.pos, r.end):
        r.pos += 1
    else:
        r.fail("no } to end a parameter", start, r.end)
    return Parameter(
        name if good else "",
        (start, r.pos),
        quoted=quoted,
        prefix=prefix if good else "",
        subscript=index,
        op=operator,
        argument=argument,
    )


def _name(r: Cursor) -> tuple[str, str]:
    for pattern in (LENGTH, INDIRECT):
        found = pattern.match(r.text, r.pos, r.end)
        if found is not None:
            r.pos = found.end()
            return found.group()[0], found[1]
    found = PARAMETER_NAME.match(r.text, r.pos, r.end)
    if found is None:
        return "", ""
    r.pos = found.end()
    return "", found.group()


def _argument(r: Cursor, operator: str, *, quoted: bool) -> Word:
    start = r.pos
    pieces = Pieces()
    if quoted and operator not in PATTERN_OPERATORS:
        lexer.quoted_text(r, pieces, "}")
    else:
        text_until(r, pieces, "", "}", calculated=operator == ":")
    return Word(pieces.done(), (start, r.pos))
