"""What is listed as harmless is there, and none of it is a module or makes one reachable."""

from __future__ import annotations

import importlib
import sys
import types

import pytest

from redoma.judge.languages.component.allowed import (
    DANGEROUS,
    FORBIDDEN_NAMES,
    MODULES,
    REFLECTING,
    SAFE_BUILTINS,
)

pytestmark = pytest.mark.requirement("C2")

# Names that came to their modules after Python 3.11, the oldest that runs components.
NEWER = {"itertools.batched", "math.sumprod", "typing.override"}


@pytest.mark.parametrize("module", MODULES)
def test_every_listed_name_exists_and_is_no_module(module: str) -> None:
    found = importlib.import_module(module)
    missing = {f"{module}.{name}" for name in MODULES[module] if not hasattr(found, name)}
    assert missing <= NEWER
    values = {name: getattr(found, name) for name in MODULES[module] if hasattr(found, name)}
    assert [n for n, value in values.items() if isinstance(value, types.ModuleType)] == []


@pytest.mark.parametrize("module", MODULES)
def test_no_public_attribute_of_what_is_listed_is_a_module(module: str) -> None:
    found = importlib.import_module(module)
    reached = [
        f"{name}.{attribute}"
        for name in MODULES[module]
        for attribute in dir(getattr(found, name, None))
        if not attribute.startswith("__")
        and isinstance(getattr(getattr(found, name, None), attribute, None), types.ModuleType)
    ]
    assert reached == []


def test_nothing_is_both_harmless_and_dangerous() -> None:
    assert {module.partition(".")[0] for module in MODULES} & DANGEROUS.keys() == set()
    assert SAFE_BUILTINS & (FORBIDDEN_NAMES.keys() | REFLECTING.keys() | {"type"}) == set()


def test_every_builtin_of_this_python_is_judged_one_way() -> None:
    known = SAFE_BUILTINS | FORBIDDEN_NAMES.keys() | REFLECTING.keys() | {"type"}
    builtins = {name for name in dir(sys.modules["builtins"]) if not name.startswith("_")}
    assert builtins - known <= {"_IncompleteInputError", "PythonFinalizationError"}
