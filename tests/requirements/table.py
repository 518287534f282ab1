"""The table: each requirement, how many tests name it, and what became of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tests.requirements.marked import HELD, Marked

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Row(NamedTuple):
    """One requirement: its tests, and one word for all of them."""

    id: str
    tests: tuple[str, ...]
    said: str
    good: bool


def rows(
    known: Iterable[str], tests: list[Marked], outcomes: Mapping[str, set[str]] | None
) -> list[Row]:
    """A row for each requirement; without outcomes, only whether there are tests."""
    made = []
    for name in known:
        held = tuple(str(test) for test in tests if name in test.ids)
        said, good = _said(name, held, outcomes)
        made.append(Row(name, held, said, good))
    return made


def _said(
    name: str, held: tuple[str, ...], outcomes: Mapping[str, set[str]] | None
) -> tuple[str, bool]:
    if not held:
        needed = name.startswith(HELD)
        return ("no test" if needed else "later"), not needed
    if outcomes is None:
        return "", True
    became: set[str] = set().union(*(outcomes.get(test, {FAILED}) for test in held))
    if FAILED in became:
        return "FAIL", False
    # What is only skipped here is held by nothing here.
    return ("pass", True) if PASSED in became else ("skipped", not name.startswith(HELD))


def shown(made: list[Row], sentences: Mapping[str, str], *, names: bool) -> str:
    """The table as text; with `names`, each test below its requirement."""
    lines = [f"{'id':4} {'tests':>5}  {'':7}  requirement"]
    for row in made:
        lines.append(f"{row.id:4} {len(row.tests):5}  {row.said:7}  {sentences[row.id]}")
        if names:
            lines += [f"{'':12}{test}" for test in row.tests]
    bad = [row.id for row in made if not row.good]
    lines.append(f"not held: {', '.join(bad)}" if bad else "every requirement is held")
    return "\n".join(lines)
