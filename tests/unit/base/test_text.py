"""Untrusted text on a terminal neither acts nor deceives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redoma.base.text import cell, harmless, shortened


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rm -rf ~", "rm -rf ~"),
        ("\x1b[2Jls", r"\x1b[2Jls"),
        ("a\rb\nc", r"a\rb\nc"),
        ("\x00\x7f\x9b", r"\x00\x7f\x9b"),
        ("user\u202etxt.sh", r"user\u202etxt.sh"),
        ("a\u200bb\ufeff", r"a\u200bb\ufeff"),
        ("a\u00a0b\u3000c", r"a\xa0b\u3000c"),
        ("\u2028\U000e0041", r"\u2028\U000e0041"),
        ("\udcff", r"\xff"),
        ("世界 é", "世界 é"),
    ],
)
def test_what_is_invisible_or_active_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert harmless(text) == shown


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_harmless_text_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    assert all(char == " " or char.isprintable() for char in harmless(text))


@pytest.mark.parametrize(
    ("char", "columns"), [("a", 1), ("世", 2), ("ｗ", 2), ("🦀", 2), ("\u0301", 0), ("\x1b", 4)]
)
def test_a_character_takes_the_columns_that_a_terminal_gives_it(char: str, columns: int) -> None:
    assert cell(char)[1] == columns


def test_a_cut_is_marked_and_stays_within_the_limit() -> None:
    assert shortened("abcdefgh", 8) == "abcdefgh"
    assert shortened("abcdefghi", 8) == "abcde..."
