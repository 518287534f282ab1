"""The arguments of a call in Python's tree, by position or by name."""

from __future__ import annotations

import ast


def first(node: ast.Call) -> ast.expr | None:
    """The first argument, unless it is spread."""
    return argument(node, 0)


def argument(node: ast.Call, index: int) -> ast.expr | None:
    """The argument at a position."""
    if len(node.args) > index and not isinstance(node.args[index], ast.Starred):
        return node.args[index]
    return None


def keyword(node: ast.Call, name: str) -> ast.expr | None:
    """The argument with a name."""
    return next((each.value for each in node.keywords if each.arg == name), None)


def true(node: ast.expr | None) -> bool:
    """Whether it is given and may be true."""
    return node is not None and not (isinstance(node, ast.Constant) and not node.value)


def is_address(node: ast.expr | None) -> bool:
    """Whether it is a pair such as (host, port)."""
    return isinstance(node, ast.Tuple) and len(node.elts) == 2
