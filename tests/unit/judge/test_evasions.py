"""Ways to say a harmful thing so that it looks like something else; each must still be seen."""

from __future__ import annotations

import pytest

from redoma.model.decision import Risk
from tests.unit.judge.judged import decision
from tests.unit.judge.tables import table

TABLES = (
    "words",
    "spellings",
    "carriers",
    "flows",
    "disguises",
    "values",
    "runners",
    "shells",
    "beyond",
    "shell",
    "later",
    "variables",
)
EVASIONS = [row for name in TABLES for row in table(name)]


@pytest.mark.parametrize(("command", "least"), EVASIONS, ids=[repr(c)[:80] for c, _ in EVASIONS])
def test_a_disguised_command_is_judged_by_what_it_does(command: str, least: Risk) -> None:
    decided = decision(command)
    assert decided.assessment.risk >= least, decided.because


def test_the_tables_hold_what_they_promise() -> None:
    assert len(EVASIONS) > 1000
    assert {least for _, least in EVASIONS} == {Risk.DANGEROUS, Risk.FORBIDDEN}
