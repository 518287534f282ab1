"""The signature and the mark that a component carries as values, not as words somewhere in it."""

from __future__ import annotations

import ast

SIGNATURE = "modulo_autopoiesis_data_"
MARK = "_generated_in_sandbox"


def missing_marks(tree: ast.Module) -> list[tuple[ast.AST | None, str]]:
    """What the component lacks, each with where it stands if it is there and wrong."""
    signed = False
    marks: list[tuple[ast.AST, bool]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            signed |= _is_signature(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            value = node.value.value if isinstance(node.value, ast.Constant) else None
            for name in filter(None, map(_name, targets)):
                signed |= _is_signature(name) or _is_signature(value)
                if name == MARK:
                    marks.append((node, value is True))
    found: list[tuple[ast.AST | None, str]] = []
    if not signed:
        found.append((None, f"the security signature {SIGNATURE}… is missing"))
    if not marks:
        found.append((None, f"the mark {MARK} = True is missing"))
    found += [(node, f"the mark {MARK} is not True") for node, true in marks if not true]
    return found


def _name(target: ast.expr) -> str:
    if isinstance(target, ast.Name):
        return target.id
    return target.attr if isinstance(target, ast.Attribute) else ""


def _is_signature(value: object) -> bool:
    rest = value[len(SIGNATURE) :] if isinstance(value, str) else ""
    return isinstance(value, str) and value.startswith(SIGNATURE) and rest.isidentifier()
