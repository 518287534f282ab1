"""Names are the field's words, each for one thing; folders build on each other in one direction."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

import pytest

from tests.house.tree import PACKAGE, ROOT, imports_of, modules, tree_of

MODULES = modules()
# Words that only their authors knew, and what stands in their place (docs/vocabulary.md).
RETIRED = {
    "embassy": "netns sockets",
    "turnstile": "head lock",
    "newcomer": "sandbox init",
    "entrant": "call worker",
    "shelf": "card cache",
    "loudest": "strictest",
    "likeness": "canonical argv",
    "deeds": "actions",
    "enclosure": "sandbox",
}
RETIRED_WORD = re.compile(rf"(?<![a-z])({'|'.join(RETIRED)})s?(?![a-z])", re.IGNORECASE)
# Nouns of the field that happen to end so.
NOUNS_IN_ING = {"string", "wiring", "spelling", "redoma.testing"}


def _classes() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for module, path in MODULES.items():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(module)
    return found


def test_no_class_name_exists_twice() -> None:
    assert {name: at for name, at in _classes().items() if len(at) > 1} == {}


def test_modules_are_nouns() -> None:
    strays = {module for module in MODULES if module.endswith("ing")}
    assert {m for m in strays if not {m, m.rpartition(".")[2]} & NOUNS_IN_ING} == set()


@pytest.mark.parametrize("module", MODULES)
def test_no_retired_word_is_used_again(module: str) -> None:
    text = MODULES[module].read_text(encoding="utf-8")
    names = {found.lower() for found in RETIRED_WORD.findall(f"{module}\n{_split(text)}")}
    assert {name: RETIRED[name] for name in names} == {}


def _split(text: str) -> str:
    """The text with `CamelCase` and `snake_case` names taken apart."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", text)


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/**/*.md")), ids=lambda p: p.stem)
def test_no_document_uses_a_retired_word(page: object) -> None:
    assert page is not None
    text = ROOT.joinpath(str(page)).read_text(encoding="utf-8")
    assert {found.lower() for found in RETIRED_WORD.findall(text)} == set()


def test_no_cycle_between_folders() -> None:
    edges: dict[str, set[str]] = defaultdict(set)
    for module, path in MODULES.items():
        folder = _folder(module)
        for imported, _ in imports_of(path):
            if imported in MODULES and _folder(imported) not in (folder, "redoma"):
                edges[folder].add(_folder(imported))
    assert [sorted(group) for group in _cycles(edges)] == []


def _folder(module: str) -> str:
    path = MODULES[module]
    parts = path.parent.relative_to(PACKAGE.parent).parts
    return ".".join(parts)


def _cycles(edges: dict[str, set[str]]) -> list[set[str]]:
    """Groups of folders each of which reaches every other."""
    reached: dict[str, set[str]] = {}
    for start in edges:
        seen: set[str] = set()
        pending = [start]
        while pending:
            for near in edges.get(pending.pop(), ()):
                if near not in seen:
                    seen.add(near)
                    pending.append(near)
        reached[start] = seen
    found = []
    for start, seen in reached.items():
        group = {other for other in seen if start in reached.get(other, ())}
        if len(group) > 1 and group not in found:
            found.append(group)
    return found
