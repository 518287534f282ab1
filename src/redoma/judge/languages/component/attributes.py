"""The attributes that a component reads and sets."""

from __future__ import annotations

import ast

from redoma.judge.languages.component import uses
from redoma.judge.languages.component.modules import DANGEROUS, MODULES
from redoma.judge.languages.component.names import DESCRIBING, METHODS, is_dunder, leads_inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.languages.component.scopes import Scope
    from redoma.judge.languages.component.walk import Walk

FORMATTING = ("format", "format_map")


def look(walk: Walk, node: ast.Attribute, scope: Scope) -> None:
    """Looks at `value.name`, wherever it stands."""
    if _of_a_module(walk, node):
        return
    if node.attr in DESCRIBING and isinstance(node.ctx, ast.Load):
        _described(walk, node.value, scope)
        return
    if node.attr in METHODS and isinstance(node.ctx, ast.Load):
        # Attack: `stream.__init__(path)` opens a file with an object that is already there.
        if not _is_base(walk, node.value):
            walk.refuse(node, f"{node.attr} is only fine after super() or a class of the component")
    elif node.attr in FORMATTING and isinstance(node.ctx, ast.Load):
        walk.refuse(node, f"{node.attr} is only fine where it is called on a text written out")
    else:
        named(walk, node, node.attr)
    walk.later([node.value], scope)


def named(walk: Walk, node: ast.AST, name: str) -> None:
    """Looks at the name of an attribute that is read, set, or asked for in another way."""
    if leads_inside(name) or is_dunder(name):
        walk.refuse(node, f"{name} leads from an object to what lies behind it")
    elif walk.also and name in DANGEROUS:
        walk.refuse(node, f"{name} {DANGEROUS[name]}")


def _of_a_module(walk: Walk, node: ast.Attribute) -> bool:
    """Whether it is an attribute of a module; then it is one that is listed, or refused."""
    module = walk.names.module(node.value)
    if not module:
        return False
    if not isinstance(node.ctx, ast.Load):
        walk.refuse(node, f"the module {module} would be changed for all its users")
        return True
    whole = f"{module}.{node.attr}"
    if whole in MODULES:
        walk.refuse(node, f"the module {whole} is used as a value")
    elif module in MODULES:
        if node.attr in MODULES[module]:
            uses.member_as_value(walk, node, whole)
        else:
            walk.refuse(node, f"{whole} is not known as harmless")
    elif any(whole.startswith(f"{each}.") for each in walk.also):
        if node.attr.startswith("_"):
            walk.refuse(node, f"{whole} is a private part of {module}")
        else:
            named(walk, node, node.attr)
    else:
        walk.refuse(node, f"{whole} is not known as harmless")
    return True


def _described(walk: Walk, value: ast.expr, scope: Scope) -> None:
    """`type(x).__name__` and `x.__class__.__name__` are texts, and nothing leads on from them."""
    if isinstance(value, ast.Attribute) and value.attr == "__class__":
        walk.later([value.value], scope)
    else:
        uses.harmless_place(walk, value, scope)


def _is_base(walk: Walk, value: ast.expr) -> bool:
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id == "super" and "super" not in walk.names.counts
    return (
        isinstance(value, ast.Name)
        and value.id in walk.names.classes
        and walk.names.counts.get(value.id) == 1
    )
