"""Engines and levels are declared once: nobody else lists them by name."""

from __future__ import annotations

import ast

import pytest

from redoma.base.levels import LEVELS
from redoma.jail.engines.registry import DECLARED, NAMES, declared, engine_name
from redoma.model.errors import UsageError
from tests.house.tree import modules, tree_of

LISTS = (ast.Tuple, ast.List, ast.Set, ast.Dict)


def named_together(names: tuple[str, ...]) -> list[str]:
    """The modules that have two or more of these names in one literal."""
    found = []
    for module, path in modules().items():
        for node in ast.walk(tree_of(path)):
            parts = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", ())
            if isinstance(node, LISTS):
                said = {part.value for part in parts if isinstance(part, ast.Constant)}
                if len(said & set(names)) > 1:
                    found.append(f"{module}, line {node.lineno}")
    return found


def test_no_module_lists_engines_by_name() -> None:
    assert named_together(NAMES) == []


def test_no_module_lists_levels_by_name() -> None:
    assert named_together(LEVELS) == []


def test_names_and_aliases_are_unique() -> None:
    known = [name for each in DECLARED for name in (each.name, *each.aliases)]
    assert sorted(set(known)) == sorted(known)


def test_an_unknown_engine_is_named_with_those_that_there_are() -> None:
    assert engine_name("chroot") == "chroot"
    with pytest.raises(UsageError) as caught:
        declared("chroot")
    assert all(name in caught.value.hint for name in NAMES)
