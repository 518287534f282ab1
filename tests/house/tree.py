"""The project's own files, read as data: what there is, what imports what."""

from __future__ import annotations

import ast
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "redoma"

_LEFT_OUT = {
    ".git",
    ".venv",
    ".venv-mcp",
    ".venv-test",
    "__pycache__",
    "node_modules",
    "dist",
    "build",
}


class Import(NamedTuple):
    """A module that a file names in an import, and the line where it does."""

    module: str
    line: int


@cache
def tracked_files() -> tuple[Path, ...]:
    """Every file of the project: what git tracks or would track, or all files without git."""
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0:
        found = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        found = [p for p in ROOT.rglob("*") if not _LEFT_OUT & set(p.relative_to(ROOT).parts)]
    return tuple(sorted(path for path in found if path.is_file()))


def text_files() -> list[tuple[Path, str]]:
    """Every tracked file that is text, with its text."""
    read = []
    for path in tracked_files():
        try:
            read.append((path.relative_to(ROOT), path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue
    return read


@cache
def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def imports_of(path: Path) -> tuple[Import, ...]:
    """Every module that a file imports anywhere, also for type checkers alone."""
    known = modules()
    found = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found += [Import(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(Import(node.module, node.lineno))
            found += [
                Import(f"{node.module}.{alias.name}", node.lineno)
                for alias in node.names
                if f"{node.module}.{alias.name}" in known
            ]
    return tuple(found)


def room_of(module: str) -> str:
    """The folder or file right below the package that a module stands in; `` for the package."""
    return module.split(".")[1] if "." in module else ""


def folder_of(module: str) -> str:
    """The folder of its room that a module stands in; `` for a module at the room's top."""
    parts = module.split(".")
    inside = len(parts) > 2 and (PACKAGE / parts[1] / parts[2]).is_dir()
    return parts[2] if inside else ""
