"""What a component imports: listed modules, and listed names of them."""

from __future__ import annotations

import ast

from redoma.judge.languages.component.modules import DANGEROUS, MODULES, PACKAGES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.languages.component.scopes import Scope
    from redoma.judge.languages.component.walk import Walk


def look(walk: Walk, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
    """Refuses what is not listed, and what would be a module under another guise."""
    for alias in node.names:
        name = alias.asname or alias.name.partition(".")[0]
        walk.binds(node, name, scope)
        if name in walk.names.contradictory:
            walk.refuse(node, f"{name} is imported here and is something else elsewhere")
    if scope.in_class:
        # Attack: `class A: import json` makes the module an attribute, where it is a value.
        walk.refuse(node, "what a class imports would be one of its attributes")
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name not in MODULES and not _given(walk, alias.name):
                walk.refuse(node, _not_listed(alias.name))
        return
    if node.level:
        walk.refuse(node, "a component has nothing beside it to import")
        return
    module = node.module or ""
    if any(alias.name == "*" for alias in node.names):
        walk.refuse(node, f"from {module} import * brings names that nobody sees")
        return
    if _given(walk, module):
        return
    if module not in MODULES and module not in PACKAGES:
        walk.refuse(node, _not_listed(module))
        return
    for alias in node.names:
        whole = f"{module}.{alias.name}"
        if alias.name not in MODULES.get(module, ()) and whole not in MODULES:
            walk.refuse(node, f"{whole} is not known as harmless")


def _given(walk: Walk, module: str) -> bool:
    """Whether whoever runs the component has said that it may have this module."""
    return any(module == each or module.startswith(f"{each}.") for each in walk.also)


def _not_listed(module: str) -> str:
    why = DANGEROUS.get(module.partition(".")[0])
    if why:
        return f"the module {module} {why}"
    return f"the module {module} is not known as harmless"
