"""Expressions of a block list mean what `re` means by them, in a time that no text can stretch."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redoma.judge.text.regex import expression, problem
from tests.pace import slowness

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
    "(a+)+",
    "(?=a)",
    "(?!b)",
    "(?<=a)",
    r"\b",
    "(?i:A)",
    "(ab|a)*?",
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
    found.finds(subject[:1024])
    assert time.process_time() - start < 0.2 * slowness()


@pytest.mark.parametrize("between", [1, 1_000, 60_000])
def test_a_text_of_any_length_is_searched_exactly(between: int) -> None:
    text = r"curl[^;]*\|[^;]*sh"
    assert expression(text).finds("curl x | " + "y" * between + " sh")
    assert not expression(text).finds("curl x ; |" + "y" * between + " sh")
    assert not expression(text).finds("curl x ; | sh")
    assert not expression(text).finds("curl x | " + "y" * between)


@pytest.mark.parametrize("text", [r"(a+)+b", r"(a*b*)*c", r"(?:.*x)+y", r".*.*.*.*z", r"(a|a)*b"])
def test_repetitions_of_repetitions_take_no_longer(text: str) -> None:
    assert problem(text) == ""
    start = time.process_time()
    assert not expression(text).finds("a" * 60_000)
    assert time.process_time() - start < 0.2 * slowness()


@pytest.mark.parametrize("text", [r"(a).*\1", "(a", r"(?:a{1,900}){1,900}", r"(a)?(?(1)b|c)"])
def test_what_cannot_be_searched_in_time_is_refused(text: str) -> None:
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
