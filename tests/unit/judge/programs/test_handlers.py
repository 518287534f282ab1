"""What a card names is there, and what is there is named by a card."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests.unit.judge.programs.card_files import bodies

HANDLERS = sorted(
    {body[key] for body in bodies().values() for key in ("handler", "prints") if key in body}
)


@pytest.mark.parametrize("handler", HANDLERS)
def test_the_handler_that_a_card_names_exists(handler: str) -> None:
    module, _, function = handler.partition(".")
    assert callable(getattr(import_module(f"redoma.judge.programs.{module}"), function))
