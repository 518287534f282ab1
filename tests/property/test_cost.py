"""No text costs the judge much more than it is long: neither those we thought of nor others."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redoma.pipeline.decisions.check import check
from tests.pace import slowness
from tests.property import costly
from tests.property.fragments import GLUE, PIECES

WARM = ("ls", "python3 -c 'import os'", "psql -c 'DELETE FROM a'", "perl -e 'a'", "awk 1", "vim a")
LIMIT = 1.2
"""Processor seconds at rest; the deadline is 1 s, and nothing may overshoot it by much."""


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """What is loaded and compiled once is no cost of a text."""
    for command in WARM:
        check(command, cwd="/home/user/project", home="/home/user")


def cost(text: str) -> float:
    started = time.thread_time()
    check(text, cwd="/home/user/project", home="/home/user")
    return time.thread_time() - started


def affordable(text: str) -> bool:
    return cost(text) < LIMIT or any(cost(text) < LIMIT * slowness() for _ in range(2))


@pytest.mark.parametrize(
    "group", ["EXPANSIONS", "SHELL", "TEXT_PROGRAMS", "FOREIGN", "PYTHON", "SQL"]
)
def test_the_nastiest_texts_of_any_size_are_answered_in_time(group: str) -> None:
    # Languages we only skim have many families of texts; a quarter of the size shows the same.
    sizes = (300, 16_000) if group == "FOREIGN" else (300, 3_000, costly.MOST)
    slow = [
        (name, size)
        for name, made in getattr(costly, group).items()
        for size in sizes
        if not affordable(made(size))
    ]
    assert slow == []


SHAPES = st.tuples(
    st.sampled_from(["", "echo ", "rm ", "x=aaaa; echo ", "python3 -c '", "sh -c '", "sed '"]),
    st.lists(st.sampled_from([*PIECES, *GLUE]), min_size=1, max_size=4).map("".join),
    st.sampled_from(["", "'", '"', ")", "}", "\n", "; done", "*b"]),
)


@settings(max_examples=60, deadline=None)
@given(SHAPES)
def test_whatever_is_repeated_is_answered_in_time(shape: tuple[str, str, str]) -> None:
    before, unit, after = shape
    assert affordable(before + (unit * 65_000)[:65_000] + after)
