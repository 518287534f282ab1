"""Reads a statement with sqlglot: what hides in a WITH, and conditions that are always true."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlglot import exp

    Deed = tuple[str, str]

LONGEST = 8000
_DIALECTS = frozenset(
    "postgres mysql sqlite duckdb tsql clickhouse bigquery athena snowflake trino hive spark "
    "oracle".split()
)


def parsed_deeds(text: str, dialect: str, told: str) -> list[Deed]:
    """Deeds found in the tree; none when the text cannot be parsed, since its words were read."""
    if len(text) > LONGEST:
        return [("unknown", "a statement too long to be parsed")]
    import logging

    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    try:
        trees = sqlglot.parse(text, read=dialect if dialect in _DIALECTS else None)
    except (
        SqlglotError,
        RecursionError,
        ValueError,
        TypeError,
        AttributeError,
        KeyError,
        IndexError,
    ):
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


def _reach(node: exp.Expr) -> str:
    """`rows` for a DELETE or UPDATE that picks rows, `drop` for one that takes them all."""
    from sqlglot import exp

    if node.args.get("limit") is not None:
        return "rows"
    where = node.args.get("where")
    if where is None:
        return "drop"
    return "drop" if _always(where.this, exp) else "rows"


def _always(condition: exp.Expr, exp: object, depth: int = 0) -> bool:
    """Whether a condition lets every row through: TRUE, 1=1, a = a, or such an OR."""
    from sqlglot import exp as e

    if depth > 8:
        return False
    if isinstance(condition, e.Paren):
        return _always(condition.this, exp, depth + 1)
    if isinstance(condition, e.Boolean):
        return bool(condition.this)
    if isinstance(condition, e.Literal):
        return str(condition.this) not in ("0", "")
    if isinstance(condition, e.EQ | e.GTE | e.LTE):
        return bool(condition.this == condition.expression)
    if isinstance(condition, e.Or):
        return _always(condition.this, exp, depth + 1) or _always(
            condition.expression, exp, depth + 1
        )
    if isinstance(condition, e.And):
        return _always(condition.this, exp, depth + 1) and _always(
            condition.expression, exp, depth + 1
        )
    return False
