"""What agents do all day in a project reaches no person."""

from __future__ import annotations

import pytest

from redoma.model.decision import Risk, Verdict
from tests.unit.judge.judged import decision
from tests.unit.judge.tables import table

ORDINARY = table("ordinary")


@pytest.mark.parametrize(("command", "most"), ORDINARY, ids=[repr(c)[:80] for c, _ in ORDINARY])
def test_ordinary_work_disturbs_nobody(command: str, most: Risk) -> None:
    decided = decision(command)
    assert decided.assessment.risk <= most, decided.because
    assert decided.verdict <= Verdict.LOG, decided.because


def test_the_table_holds_what_it_promises() -> None:
    assert len(ORDINARY) > 200
    assert {most for _, most in ORDINARY} == {Risk.ELEVATED}
