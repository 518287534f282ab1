"""One row has one spelling, and no two rows share it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redoma.audit.chain import DEEPEST, json_text, row_bytes, storable

# Texts that try to look like the border between two columns.
TEXT = st.text(alphabet=st.sampled_from("a0 1\n\x00é"), max_size=4)
ROW = st.tuples(st.integers(1, 99), st.integers(0, 99), *[TEXT] * 7)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(ROW, ROW)
def test_two_rows_never_have_the_same_spelling(
    one: tuple[object, ...], other: tuple[object, ...]
) -> None:
    assert (row_bytes(one) == row_bytes(other)) == (one == other)


@given(ROW, st.integers(1, 7))
def test_moving_the_border_between_two_columns_changes_the_spelling(
    row: tuple[object, ...], border: int
) -> None:
    texts = [str(each) for each in row[2:]]
    left, right = texts[border - 1], texts[border % 7]
    moved = [*texts]
    moved[border - 1], moved[border % 7] = left + right[:1], right[1:]
    if moved != texts:
        assert row_bytes((*row[:2], *moved)) != row_bytes(row)


@pytest.mark.parametrize(
    "row",
    [
        ("1", 2, *"abcdefg"),
        (1, 2.5, *"abcdefg"),
        (1, None, *"abcdefg"),
        (1, 2, b"a", *"bcdefg"),
        (1, 2, None, *"bcdefg"),
        (1, 2, "\udcff", *"bcdefg"),
    ],
)
def test_another_type_has_no_spelling(row: tuple[object, ...]) -> None:
    with pytest.raises((TypeError, ValueError)):
        row_bytes(row)


@given(JSON)
def test_details_can_be_read_back(value: object) -> None:
    said = json_text(value, str)
    assert said.isascii()
    assert "\n" not in said
    assert json.loads(said) == value


def test_what_json_has_no_spelling_for_is_null_or_an_error() -> None:
    assert json_text([float("nan"), float("inf"), -float("inf")], str) == "[null,null,null]"
    for bad in (object(), b"bytes", {1: "a number as a name"}, {"a": {2}}):
        with pytest.raises(TypeError):
            json_text(bad, str)
    deep: object = "x"
    for _ in range(DEEPEST + 1):
        deep = [deep]
    with pytest.raises(ValueError, match="deeper"):
        json_text(deep, str)


@given(st.text(alphabet=st.characters()))
def test_any_text_can_be_stored(text: str) -> None:
    stored = storable(text)
    assert "\0" not in stored
    assert stored.encode("utf-8").decode("utf-8") == stored
    assert storable(stored) == stored
