"""Each regular expression of ours takes time linear in a text that was made to cost it most."""

from __future__ import annotations

import inspect
import re
import sys
import time
from typing import Any

import pytest

from tests.pace import slowness
from tests.property.expressions_of import expressions, units

SIZES = (100, 1_000, 6_000)
LIMIT = 0.010
"""Some hundred times what a linear search of the largest takes; a quadratic one takes longer."""
SEARCHES = ("finditer", "findall", "search", "sub", "split")


def searched(where: str) -> bool:
    """Whether an expression is looked for anywhere in a text, or only asked about its beginning."""
    module, _, name = where.split(maxsplit=1)[0].rpartition(".")
    source = inspect.getsource(sys.modules[f"redoma.{module}"])
    if not re.search(rf"\b{name}\.(?:match|fullmatch)\(", source):
        return True
    return any(f"{name}.{each}(" in source for each in SEARCHES)


def cost(pattern: re.Pattern[Any], text: str, *, anywhere: bool) -> float:
    subject: Any = text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text
    started = time.thread_time()
    if anywhere:
        for _ in pattern.finditer(subject):
            pass
    else:
        pattern.match(subject)
        pattern.fullmatch(subject)
    return time.thread_time() - started


def dear(pattern: re.Pattern[Any], unit: str, *, anywhere: bool) -> bool:
    for size in SIZES:
        text = (unit * size)[:size] + "\0"
        if cost(pattern, text, anywhere=anywhere) > LIMIT:
            # Others use the machine too: again, and by the pace of the moment.
            limit = LIMIT * slowness()
            if min(cost(pattern, text, anywhere=anywhere) for _ in range(3)) > limit:
                return True
    return False


@pytest.mark.parametrize("part", range(8))
def test_no_expression_can_be_made_to_take_long(part: int) -> None:
    found = [
        (where, unit)
        for index, (where, pattern) in enumerate(expressions().items())
        if index % 8 == part
        for unit in units(pattern, 80)
        if dear(pattern, unit, anywhere=searched(where))
    ]
    assert found == []
