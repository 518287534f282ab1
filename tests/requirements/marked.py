"""Finds the tests that name a requirement, by reading them: nothing is imported or collected."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("requirements.txt")
# What these begin with has to be held by a test; the rest may still be to come.
HELD = ("T", "C", "X", "K")


class Marked(NamedTuple):
    """A test function, and the requirements that it, its class or its file names."""

    path: str
    name: str
    ids: frozenset[str]

    def __str__(self) -> str:
        return f"{self.path}::{self.name}"


def requirements(table: Path = TABLE) -> dict[str, str]:
    """Every requirement with its sentence, in order."""
    lines = [line for line in table.read_text(encoding="utf-8").splitlines() if line]
    pairs = [line.split(maxsplit=1) for line in lines if not line.startswith("#")]
    return {pair[0]: pair[1] for pair in pairs}


def marked(tests: Path = ROOT / "tests") -> list[Marked]:
    """Every test that names a requirement."""
    found: list[Marked] = []
    for path in sorted(tests.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "mark.requirement" not in text:
            continue
        tree = ast.parse(text)
        where = str(path.relative_to(tests.parent))
        found += _in_body(tree.body, where, "", _of_file(tree))
    return found


def _in_body(body: list[ast.stmt], where: str, above: str, known: frozenset[str]) -> list[Marked]:
    found: list[Marked] = []
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            found += _in_body(node.body, where, f"{above}{node.name}::", known | _of(node))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            ids = known | _of(node)
            if node.name.startswith("test_") and ids:
                found.append(Marked(where, f"{above}{node.name}", ids))
    return found


def _of_file(tree: ast.Module) -> frozenset[str]:
    for node in tree.body:
        names = [t.id for t in getattr(node, "targets", ()) if isinstance(t, ast.Name)]
        if isinstance(node, ast.Assign) and names == ["pytestmark"]:
            return _ids(node.value)
    return frozenset()


def _of(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    return frozenset().union(*(_ids(each) for each in node.decorator_list))


def _ids(node: ast.AST) -> frozenset[str]:
    """The ids in `pytest.mark.requirement(…)`, wherever in an expression it stands."""
    return frozenset(
        argument.value
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "requirement"
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    )
