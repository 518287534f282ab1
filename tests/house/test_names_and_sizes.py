"""Files are small and named for what they are, and nothing in them is left for later."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.house.tree import PACKAGE, ROOT, modules, text_files, tree_of

FORBIDDEN_NAMES = {"util", "utils", "helper", "helpers", "manager", "common", "misc", "base_utils"}
LONGEST_SOURCE = 400
LEFT_FOR_LATER = re.compile(r"\b(TODO|FIXME|XXX)\b|raise NotImplementedError")
# Where the project is made, and by what means, is no part of it.
STRAYS = {
    "a path of the machine it was written on": re.compile(
        r"/work/(main|shared|jail)\b|/root/\.pyenv|/home/(?!redoma-test|\$)\w+/redoma\b"
    ),
    "a word about how it was written": re.compile(
        r"\bsub-?agents?\b|\bco-authored-by\b|\bbefore-stop\b|\bissue ?[#\d]\d*\.txt\b", re.I
    ),
}
PACKAGE_HOSTS = re.compile(r"pypi\.org|pythonhosted\.org|registry\.npmjs\.org|crates\.io", re.I)
SOURCES = sorted(PACKAGE.rglob("*.py"))
THIS_FILE = Path(__file__).resolve().relative_to(ROOT)


def test_no_module_is_named_for_nothing() -> None:
    parts = {(module, part) for module in modules() for part in module.split(".")}
    assert {module for module, part in parts if part in FORBIDDEN_NAMES} == set()


def test_no_source_file_outgrows_its_name() -> None:
    lengths = {str(p.relative_to(ROOT)): len(p.read_text().splitlines()) for p in SOURCES}
    assert {name: n for name, n in lengths.items() if n > LONGEST_SOURCE} == {}


def test_every_module_and_class_and_what_one_file_offers_another_says_what_it_promises() -> None:
    offered = {
        (node.module, alias.name)
        for path in modules().values()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    silent = []
    for module, path in modules().items():
        tree = tree_of(path)
        if tree.body and not ast.get_docstring(tree):
            silent.append(module)
        for node in tree.body:
            promises = isinstance(node, ast.ClassDef) or (
                isinstance(node, ast.FunctionDef) and (module, node.name) in offered
            )
            if promises and not node.name.startswith("_") and not ast.get_docstring(node):
                silent.append(f"{module}.{node.name}")
    assert silent == []


def test_nothing_is_left_for_later() -> None:
    found = [
        f"{path}:{number}"
        for path, text in text_files()
        if path != THIS_FILE and "vendor" not in path.parts
        for number, line in enumerate(text.splitlines(), 1)
        if LEFT_FOR_LATER.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("kind", STRAYS)
def test_the_project_speaks_only_of_itself(kind: str) -> None:
    found = [
        f"{path}:{number}: {line.strip()[:80]}"
        for path, text in text_files()
        if path != THIS_FILE
        for number, line in enumerate(text.splitlines(), 1)
        if STRAYS[kind].search(line)
    ]
    assert found == []


def test_no_package_host_is_written_into_the_set_up() -> None:
    set_up = {"bin", "requirements", ".ci"}
    found = [
        str(path)
        for path, text in text_files()
        if (path.parts[0] in set_up or len(path.parts) == 1) and PACKAGE_HOSTS.search(text)
    ]
    assert found == []


def test_the_licence_is_the_whole_apache_licence() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
