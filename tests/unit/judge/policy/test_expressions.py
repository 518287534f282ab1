"""Expressions of a block list mean what `re` means by them, in a time that no text can stretch."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redoma.judge.policy.expressions import SHORT_ENOUGH, expression, problem

PIECES = [
    "a",
    "b",
    "ab",
    r"\s+",
    ".*",
    "[^b]+",
    "(a|b)",
    r"\w*",
    "a?",
    "b{2}",
    "^",
    "$",
    r"\|",
    ".",
]


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join),
    st.text(alphabet="ab| \n", max_size=24),
)
def test_a_short_text_is_searched_as_re_would(text: str, subject: str) -> None:
    if problem(text) == "" and "         " not in subject:
        assert expression(text).finds(subject) is bool(re.search(text, subject, re.S))


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        (r"curl.*\|.*sh", "curl|"),
        (r"a.*b.*c.*d", "abc"),
        (r"a[^;]*b[^;]*c", "ab"),
        (r"\s+x", " "),
        (r"eval\s+", "eval"),
        (r"(curl|wget).*\|\s*(ba|z)?sh", "curl|wget| "),
        (r"\w+\.\w+x", "a.a"),
        (r"x\d+y", "x1"),
    ],
)
def test_no_text_makes_a_search_long(text: str, unit: str) -> None:
    assert problem(text) == ""
    subject = (unit * 65536)[:65536]
    found = expression(text)
    start = time.process_time()
    found.finds(subject)
    found.finds(subject[: found.longest])
    assert time.process_time() - start < 1.5


def test_a_long_text_with_every_piece_counts_as_found() -> None:
    text = r"curl[^;]*\|[^;]*sh"
    limit = SHORT_ENOUGH[2]
    assert expression(text).finds("curl x | " + "y" * limit + " sh")
    assert expression(text).finds("curl x ; |" + "y" * limit + " sh")  # too long to tell
    assert not expression(text).finds("curl x ; | sh")
    assert not expression(text).finds("curl x | " + "y" * limit)


@pytest.mark.parametrize(
    "text", [r"(a+)+", r"(a*b*)*", r"(?:.*x)+", r".*.*.*.*a", r"(a).*\1", "(a"]
)
def test_what_could_take_too_long_is_refused(text: str) -> None:
    assert problem(text)


@pytest.mark.parametrize(
    "text",
    [
        r"curl.*\|.*sh",
        r"wget.*\|.*sh",
        r"eval\s+",
        r"sudo\s+rm",
        r":(){ :|:& };:",
        r"> /dev/sd",
        r"mkfs\.",
        r"dd if=.* of=/dev",
    ],
)
def test_the_documents_expressions_can_be_used(text: str) -> None:
    assert problem(text) == ""
