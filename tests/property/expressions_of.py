"""Every regular expression of the code, with texts made of it to cost it most."""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import re
import time
from collections.abc import Iterator
from re import _parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

import redoma

ROOMS = ("judge", "vault", "dialects.terminal", "pipeline", "model", "base", "hook")


def modules() -> Iterator[ModuleType]:
    """Every module of the rooms that read what a caller wrote."""
    for room in ROOMS:
        top = importlib.import_module(f"redoma.{room}")
        yield top
        for found in pkgutil.walk_packages(top.__path__, f"redoma.{room}."):
            yield importlib.import_module(found.name)


def expressions() -> dict[str, re.Pattern[Any]]:
    """Each expression that stands in a module, in a list or in a table of one, by where it is."""
    found: dict[tuple[object, int], tuple[str, re.Pattern[Any]]] = {}
    for module in modules():
        for name, value in vars(module).items():
            # Filled in use, and asked only at places that another one found: `tests/unit/vault`
            # holds the whole of it to its pace.
            if (module.__name__, name) == ("redoma.vault.names", "_patterns"):
                continue
            for each in _inside(value, 0):
                key = (each.pattern, each.flags)
                found.setdefault(key, (f"{module.__name__.removeprefix('redoma.')}.{name}", each))
    return {f"{where} {index}": one for index, (where, one) in enumerate(found.values())}


def _inside(value: object, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif type(value).__name__ == "_Waiting":
        yield re.compile(value._text, value._flags)  # type: ignore[attr-defined]
    elif depth < 3 and isinstance(value, dict):
        for each in value.values():
            yield from _inside(each, depth + 1)
    elif depth < 3 and isinstance(value, tuple | list | set | frozenset):
        for each in value:
            yield from _inside(each, depth + 1)
    elif depth < 2 and type(value).__module__.startswith("redoma"):
        for slot in getattr(type(value), "__slots__", ()):
            yield from _inside(getattr(value, slot, None), depth + 1)


def units(pattern: re.Pattern[Any], most: int) -> list[str]:
    """Short texts that the expression is made of, alone and in twos."""
    text = pattern.pattern
    if isinstance(text, bytes):
        text = text.decode("latin-1")
    tree = _parser.parse(text, pattern.flags & ~re.DEBUG & ~re.LOCALE)
    atoms: dict[str, None] = {}
    _gather(tree, atoms)
    words = [a for a in atoms if a]
    singles = list(dict.fromkeys([*words, " ", "a", "\n", "\\", '"', "'"]))
    pairs = ["".join(p) for p in itertools.product(singles[:14], repeat=2)]
    return list(dict.fromkeys([*singles, _least(tree)[:64] or "a", *pairs]))[:most]


def _gather(tree: Any, atoms: dict[str, None]) -> None:
    run = ""
    for operator, argument in tree:
        name = str(operator)
        if name == "LITERAL":
            run += chr(argument)
            continue
        if run:
            atoms.setdefault(run)
            atoms.setdefault(run[0])
        run = ""
        for inner in _trees(name, argument):
            _gather(inner, atoms)
        sample = _least([(operator, argument)])
        atoms.setdefault(sample[:16])
    if run:
        atoms.setdefault(run)
        atoms.setdefault(run[0])


def _trees(name: str, argument: Any) -> list[Any]:
    if "REPEAT" in name:
        return [argument[2]]
    if name == "BRANCH":
        return list(argument[1])
    if name in ("SUBPATTERN", "ASSERT", "ASSERT_NOT"):
        return [argument[-1]]
    return [argument] if name == "ATOMIC_GROUP" else []


_SAMPLES = "a0 _-./:@=$\"'\\(){}[]<>|;&\n\t#%!~+*?,^`xX"


def _least(tree: Any) -> str:
    """A short text that the tree fits, more or less."""
    made = ""
    for operator, argument in tree:
        name = str(operator)
        if name == "LITERAL":
            made += chr(argument)
        elif name in ("IN", "NOT_LITERAL", "ANY"):
            made += _fitting(operator, argument)
        elif "REPEAT" in name:
            made += _least(argument[2]) * max(min(int(argument[0]), 8), 1)
        elif name == "BRANCH":
            made += _least(argument[1][0])
        elif name in ("SUBPATTERN",):
            made += _least(argument[-1])
        elif name == "ATOMIC_GROUP":
            made += _least(argument)
    return made


def _fitting(operator: Any, argument: Any) -> str:
    from re import _compiler  # type: ignore[attr-defined]

    state = _parser.State()
    state.str = ""
    one = _compiler.compile(_parser.SubPattern(state, [(operator, argument)]), 0)
    return next((char for char in _SAMPLES if one.match(char)), "a")


def cost(pattern: re.Pattern[Any], text: str) -> float:
    """Processor seconds for looking for everything in a text."""
    subject: Any = text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text
    started = time.thread_time()
    for _ in pattern.finditer(subject):
        pass
    return time.thread_time() - started


PACKAGE = redoma.__name__
