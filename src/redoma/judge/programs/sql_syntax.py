"""Cuts SQL into statements and words, and reads one with sqlglot for what hides in it."""

from __future__ import annotations

import re
from functools import lru_cache

from redoma.judge.interpret.arg import UNKNOWN
from redoma.judge.text.budget import Uncounted, spend

TYPE_CHECKING = False
if TYPE_CHECKING:
    Token = tuple[str, str]
    Statement = list[Token]
    from sqlglot import exp
    from sqlglot.parser import Parser

    Action = tuple[str, str]

WORD = "w"
STRING = "s"
QUOTED = "q"
SIGN = "o"
META = "m"
_WORD = re.compile(r"[A-Za-z_@\u0080-\uffff][A-Za-z0-9_@$#\u0080-\uffff]*|[0-9][A-Za-z0-9_.]*|\0+")
_DOLLAR = re.compile(r"\$[A-Za-z_0-9]*\$")
_SPACE = re.compile(r"\s+")
LONGEST = 32768


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


LONGEST_PARSED = 8000
MOVE = 256
DEEPEST = 12
_DIALECTS = frozenset(
    "postgres mysql sqlite duckdb tsql clickhouse bigquery athena snowflake trino hive spark "
    "oracle".split()
)


def parsed_actions(text: str, dialect: str, told: str) -> list[Action]:
    """Actions found in the tree; none when the text cannot be parsed, since its words were read."""
    if len(text) > LONGEST_PARSED:
        return _unread(text)
    with Uncounted():
        import logging

        import sqlglot
        from sqlglot import exp
        from sqlglot.errors import SqlglotError

        logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
        asked = sqlglot.Dialect.get_or_raise(dialect if dialect in _DIALECTS else None)
        parser = _counted(asked.parser_class)(dialect=asked)
    try:
        trees = parser.parse(asked.tokenize(text), text)
    except RecursionError:
        return _unread(text)
    except (SqlglotError, ValueError, TypeError, AttributeError, KeyError, IndexError):
        return []
    out: list[Action] = []
    for tree in trees:
        if tree is None:
            continue
        for node in tree.walk():
            if isinstance(node, exp.Delete | exp.Update):
                out.append((_reach(node), told))
            elif isinstance(node, exp.Insert | exp.Merge):
                out.append(("rows", told))
            elif isinstance(node, exp.Drop) and not isinstance(node.parent, exp.Alter):
                kind = str(node.args.get("kind") or "").upper()
                out.append(
                    ("drop" if kind in ("TABLE", "DATABASE", "SCHEMA", "") else "alter", told)
                )
            elif isinstance(node, exp.TruncateTable):
                out.append(("drop", told))
    return out


@lru_cache(maxsize=32)
def _counted(base: type[Parser]) -> type[Parser]:
    """A parser whose every move is paid for.

    Attack: `FROM a JOIN b JOIN c JOIN d …` without ON: the parser tries each two ways.
    """

    class Counted(base):  # type: ignore[misc,valid-type]
        def _advance(self, times: int = 1) -> None:
            spend(MOVE)
            super()._advance(times)

    return Counted


def _unread(text: str) -> list[Action]:
    """Too long or too deep to parse: what may take every row is not taken for harmless."""
    takes_rows = text.split(None, 1)[0].upper() in ("DELETE", "UPDATE", "WITH")
    return [("alter", "a statement too long to be followed")] if takes_rows else []


def _reach(node: exp.Expr) -> str:
    """`rows` for a DELETE or UPDATE that picks rows, `drop` for one that takes them all."""
    if node.args.get("limit") is not None:
        return "rows"
    where = node.args.get("where")
    return "drop" if where is None or _always(where.this) else "rows"


def _always(condition: exp.Expr, depth: int = 0) -> bool:
    """Whether a condition lets every row through: TRUE, 1=1, a = a, LIKE '%', or such an OR."""
    from sqlglot import exp

    if depth > DEEPEST:
        return True
    left, right = condition.args.get("this"), condition.args.get("expression")
    if isinstance(condition, exp.Paren):
        return _always(condition.this, depth + 1)
    if isinstance(condition, exp.Boolean):
        return bool(condition.this)
    if isinstance(condition, exp.Literal):
        return str(condition.this) not in ("0", "")
    if isinstance(condition, exp.Or):
        return _always(condition.this, depth + 1) or _always(condition.expression, depth + 1)
    if isinstance(condition, exp.And):
        return _always(condition.this, depth + 1) and _always(condition.expression, depth + 1)
    if isinstance(condition, exp.Not):
        return isinstance(left, exp.Boolean | exp.Literal) and not _always(left, depth + 1)
    if isinstance(condition, exp.Like | exp.ILike):
        return isinstance(right, exp.Literal) and str(right.this) == "%"
    if isinstance(condition, exp.Predicate):
        constant = isinstance(left, exp.Literal) and isinstance(right, exp.Literal)
        same = left == right and isinstance(condition, exp.EQ | exp.GTE | exp.LTE | exp.NullSafeEQ)
        return constant or same
    return False
