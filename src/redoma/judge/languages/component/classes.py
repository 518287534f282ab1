"""The classes that a component defines, and what they are made from."""

from __future__ import annotations

import ast

from redoma.judge.languages.component import attributes, uses
from redoma.judge.languages.component.modules import ENUMS, ONLY_AS_BASE, ONLY_AS_DECORATOR
from redoma.judge.languages.component.names import SAFE_BUILTINS, leads_inside
from redoma.judge.languages.component.scopes import inside_class
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.languages.component.scopes import Scope
    from redoma.judge.languages.component.walk import Walk


def look(walk: Walk, node: ast.ClassDef, scope: Scope) -> None:
    """Looks at a definition: what it is made by, what it derives from, and what stands in it."""
    walk.binds(node, node.name, scope)
    walk.later(getattr(node, "type_params", ()), scope)
    for decorator in node.decorator_list:
        if not _is_dataclass(walk, decorator):
            walk.later([decorator], scope)
        elif isinstance(decorator, ast.Call):
            walk.later([*decorator.args, *decorator.keywords], scope)
    for keyword in node.keywords:
        if keyword.arg in ("metaclass", None):
            if keyword.arg is None or walk.names.member(keyword.value) != "abc.ABCMeta":
                walk.refuse(keyword, "only ABCMeta is fine as a metaclass, and said by name")
        else:
            walk.later([keyword], scope)
    walk.later([base for base in node.bases if walk.names.member(base) not in ONLY_AS_BASE], scope)
    enumerates = any(walk.names.member(base) in ENUMS for base in node.bases)
    if enumerates and not _has_a_member(walk, node):
        # Attack: an enumeration without members is called to make another, from names in a text.
        walk.refuse(node, f"the enumeration {node.name} needs a member with a plain value")
    _body(walk, node, inside_class(node, scope))


def _body(walk: Walk, node: ast.ClassDef, inside: Scope) -> None:
    fields = fields_of(walk, node)
    inside = replace(inside, fields=frozenset(fields))
    # What is made by anything else first could be kept as it is before `dataclass` reads it.
    consumed = bool(node.decorator_list) and _is_dataclass(walk, node.decorator_list[-1])
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and uses.is_field(walk, statement.value):
            assert isinstance(statement.value, ast.Call)
            if not consumed or not isinstance(statement.target, ast.Name):
                walk.refuse(statement, "field() is only fine in a class that is made a dataclass")
            walk.later([statement.target], inside)
            walk.annotation(statement.annotation, inside)
            walk.later([*statement.value.args, *statement.value.keywords], inside)
        else:
            walk.later([statement], inside)


def fields_of(walk: Walk, node: ast.ClassDef) -> list[str]:
    """The names whose value in the body of the class is a `Field`.

    Attack: whoever keeps one and calls it `__annotations__` has `replace` read that attribute.
    """
    return [
        statement.target.id
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and uses.is_field(walk, statement.value)
    ]


def has_places(walk: Walk, node: ast.expr) -> bool:
    """Whether a pattern may read a class's attributes by their place.

    Attack: `ABC.register(str)` makes a text an instance, and a field `format` its method.
    """
    if not isinstance(node, ast.Name):
        return False
    if node.id in SAFE_BUILTINS and node.id not in walk.names.counts:
        return True
    found = walk.names.classes.get(node.id)
    if found is None or walk.names.counts.get(node.id) != 1 or found.bases or found.keywords:
        return False
    named = {
        statement.target.id
        for statement in found.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }
    return not any(leads_inside(name) or name in attributes.FORMATTING for name in named)


def _is_dataclass(walk: Walk, node: ast.expr) -> bool:
    made_by = node.func if isinstance(node, ast.Call) else node
    return walk.names.member(made_by) in ONLY_AS_DECORATOR


def _has_a_member(walk: Walk, node: ast.ClassDef) -> bool:
    for statement in node.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            value = statement.value
            automatic = isinstance(value, ast.Call) and walk.names.member(value.func) == "enum.auto"
            plain = isinstance(value, ast.Constant | ast.Tuple) or automatic
            if plain and not statement.targets[0].id.startswith("_"):
                return True
    return False
