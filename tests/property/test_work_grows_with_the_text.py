"""Twice the text is at most about twice the work: counted in calls, so that load does not matter."""

from __future__ import annotations

import sys
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redoma.judge.text.budget import MOST_WORK, Budget, Judging
from redoma.model.decision import Risk
from redoma.pipeline.decisions.check import check
from tests.property import costly
from tests.property.fragments import GLUE, PIECES

SMALL = 400
MOST = 3.0
"""Four would be quadratic; a little more than two is what starting anew costs."""
GROUPS = ("EXPANSIONS", "SHELL", "TEXT_PROGRAMS", "FOREIGN")


def work(text: str) -> int:
    """Calls of functions, ours and the interpreter's, and the work that the judge counts itself."""
    calls = 0

    def seen(_frame: FrameType, event: str, _given: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    budget = Budget(work=10 * MOST_WORK)
    with Judging(budget):
        sys.setprofile(seen)
        try:
            check(text, cwd="/home/user/project", home="/home/user")
        finally:
            sys.setprofile(None)
    return calls + (10 * MOST_WORK - budget.left) // 64


def grows(small: str, large: str) -> float:
    check(small, cwd="/home/user/project", home="/home/user")
    check(large, cwd="/home/user/project", home="/home/user")
    return work(large) / max(work(small), 1)


def refused(text: str) -> bool:
    found = check(text, cwd="/home/user/project", home="/home/user")
    return found.assessment.risk is Risk.FORBIDDEN


@pytest.mark.parametrize("group", GROUPS)
def test_twice_the_nastiest_text_is_not_four_times_the_work(group: str) -> None:
    steep = {}
    for name, made in getattr(costly, group).items():
        ratio = grows(made(SMALL), made(2 * SMALL))
        # One that is steep while it is short may be so by its start; it is asked again, larger.
        if ratio > MOST and not refused(made(8 * SMALL)):
            again = grows(made(4 * SMALL), made(8 * SMALL))
            if again > MOST:
                steep[name] = round(again, 1)
    assert steep == {}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([*PIECES, *GLUE]), min_size=1, max_size=4).map("".join))
def test_whatever_is_repeated_costs_what_it_is_long(unit: str) -> None:
    small, large = (unit * 500)[:500], (unit * 1000)[:1000]
    assert grows(small, large) <= MOST or grows(large, large * 2) <= MOST or refused(large * 2)
