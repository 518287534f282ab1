"""Harmless twins of evasions: the same words as data, the same tricks without harm."""

from __future__ import annotations

import pytest

from redoma.model.decision import Risk
from tests.unit.judge.judged import decision
from tests.unit.judge.tables import table

TWINS = table("twins")


@pytest.mark.parametrize(("command", "most"), TWINS, ids=[repr(c)[:80] for c, _ in TWINS])
def test_a_harmless_twin_stays_harmless(command: str, most: Risk) -> None:
    decided = decision(command)
    assert decided.assessment.risk <= most, decided.because


def test_the_table_holds_what_it_promises() -> None:
    assert len(TWINS) > 150
    assert {most for _, most in TWINS} == {Risk.SAFE, Risk.MODERATE}
