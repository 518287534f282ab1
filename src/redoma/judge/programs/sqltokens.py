"""Cuts SQL into words, strings and signs, statement by statement; comments fall away."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import UNKNOWN

WORD = "w"
STRING = "s"
QUOTED = "q"
SIGN = "o"
META = "m"

_WORD = re.compile(r"[A-Za-z_@\u0080-\uffff][A-Za-z0-9_@$#\u0080-\uffff]*|[0-9][A-Za-z0-9_.]*|\0+")
_DOLLAR = re.compile(r"\$[A-Za-z_0-9]*\$")
_SPACE = re.compile(r"\s+")
LONGEST = 32768

TYPE_CHECKING = False
if TYPE_CHECKING:
    Token = tuple[str, str]
    Statement = list[Token]


def statements(text: str, dialect: str, *, escapes: bool) -> list[Statement]:
    """The statements of a text; `escapes` says that a backslash guards a quote in a string.

    Whether it does differs by server and setting, so callers that see a backslash try both.
    """
    text = text[:LONGEST]
    out: list[Statement] = []
    current: Statement = []
    position = 0
    end = len(text)
    while position < end:
        space = _SPACE.match(text, position)
        if space:
            position = space.end()
            continue
        char = text[position]
        skipped = _comment(text, position, dialect)
        if skipped:
            position = skipped
            continue
        if char == ";":
            out.append(current)
            current = []
            position += 1
            continue
        if char == "\\" and dialect in ("postgres", "mysql"):
            # The client's own command, to the end of the line, wherever it stands.
            stop = _line_end(text, position)
            current.append((META, text[position:stop]))
            position = stop
            continue
        position = _token(text, position, current, escapes=escapes)
    out.append(current)
    return [statement for statement in out if statement]


def _token(text: str, position: int, current: Statement, *, escapes: bool) -> int:
    char = text[position]
    if char in "'\"`":
        before = current[-1] if current else ("", "")
        guarded = escapes or (char == "'" and before == (WORD, "E"))
        stop = _quote_end(text, position, char, escapes=guarded)
        current.append((STRING if char == "'" else QUOTED, text[position + 1 : stop - 1]))
        return stop
    if char == "$":
        opened = _DOLLAR.match(text, position)
        if opened:
            close = text.find(opened.group(), opened.end())
            inner = text[opened.end() : close if close >= 0 else len(text)]
            current.append((STRING, inner))
            return len(text) if close < 0 else close + len(opened.group())
    word = _WORD.match(text, position)
    if word:
        current.append((WORD, word.group().upper()))
        return word.end()
    current.append((SIGN, char))
    return position + 1


def _quote_end(text: str, position: int, quote: str, *, escapes: bool) -> int:
    index = position + 1
    while index < len(text):
        char = text[index]
        if char == "\\" and escapes:
            index += 2
            continue
        if char == quote:
            return index + 1
        index += 1
    return len(text) + 1


def _comment(text: str, position: int, dialect: str) -> int:
    """Where a comment that begins here ends, or 0; what a server would run is not a comment."""
    two = text[position : position + 2]
    if two == "--":
        after = text[position + 2 : position + 3]
        if dialect != "mysql" or after in ("", " ", "\t", "\n", "\r"):
            return _line_end(text, position)
    elif two == "/*":
        if text[position + 2 : position + 3] == "!" or text[position + 2 : position + 4] == "M!":
            # MySQL runs what stands in /*! … */.
            return position + 3
        close = text.find("*/", position + 2)
        return len(text) if close < 0 else close + 2
    elif two == "*/":
        return position + 2
    elif text[position] == "#" and dialect == "mysql":
        return _line_end(text, position)
    return 0


def _line_end(text: str, position: int) -> int:
    stop = text.find("\n", position)
    return len(text) if stop < 0 else stop


def words_of(statement: Statement) -> list[str]:
    """Only the words, in capitals, with `(`, `)` and `,` kept for shape."""
    return [t for kind, t in statement if kind == WORD or (kind == SIGN and t in "(),=.")]


def has_unknown(statement: Statement) -> bool:
    """Whether part of it is only known when it runs."""
    return any(UNKNOWN in text for _, text in statement)
