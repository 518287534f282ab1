"""What is registered is there, and what is there is registered."""

from __future__ import annotations

from importlib import import_module

import pytest

from redoma.judge.programs.registry import HANDLERS


@pytest.mark.parametrize("module", sorted(set(HANDLERS.values())))
def test_a_module_handles_the_programs_it_is_registered_for(module: str) -> None:
    handled = import_module(f"redoma.judge.programs.{module}").PROGRAMS
    registered = {name for name, where in HANDLERS.items() if where == module}
    assert registered == set(handled)
