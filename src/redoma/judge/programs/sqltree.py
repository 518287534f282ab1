"""Reads a statement with sqlglot: what hides in a WITH, and conditions that are always true."""

from __future__ import annotations

from functools import lru_cache

from redoma.judge.text.budget import Uncounted, spend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.parser import Parser

    Deed = tuple[str, str]

LONGEST = 8000
MOVE = 256
DEEPEST = 12
_DIALECTS = frozenset(
    "postgres mysql sqlite duckdb tsql clickhouse bigquery athena snowflake trino hive spark "
    "oracle".split()
)


def parsed_deeds(text: str, dialect: str, told: str) -> list[Deed]:
    """Deeds found in the tree; none when the text cannot be parsed, since its words were read."""
    if len(text) > LONGEST:
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
    out: list[Deed] = []
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


def _unread(text: str) -> list[Deed]:
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
