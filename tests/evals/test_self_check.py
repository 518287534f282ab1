"""Inspect's own checks of a sandbox provider, every one of them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator

import pytest
from inspect_ai.util._sandbox import self_check

from redoma import Cell
from redoma.integrations.inspect_evals import RedomaSandboxEnvironment

pytestmark = [pytest.mark.both_users, pytest.mark.filterwarnings("ignore")]
CHECKS = {
    name: check
    for name, check in vars(self_check).items()
    if name.startswith("test_") and inspect.iscoroutinefunction(check)
}


@pytest.fixture(scope="module")
def cell() -> Iterator[Cell]:
    with Cell() as made:
        yield made


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_of_inspects_own_passes(name: str, cell: Cell) -> None:
    asyncio.run(CHECKS[name](RedomaSandboxEnvironment(cell)))


def test_there_are_forty_four_of_them() -> None:
    assert len(CHECKS) == 44
