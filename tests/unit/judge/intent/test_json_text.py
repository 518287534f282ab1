"""JSON is read as `json` reads it, and what is none is an error of ours with a place in the text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redoma.judge.intent.json_text import escaped, read
from redoma.model.intent import PlanSyntax

pytestmark = pytest.mark.requirement("X7")
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.floats(-1e9, 1e9) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.sampled_from([None, 0, 3]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_what_is_json_is_read_as_json_reads_it(value: Any, indent: int | None, ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii)
    assert read(text, "x").value == json.loads(text)


@given(st.text(max_size=60) | st.text('{}[]",:0123456789.eE+-truefalsn\\u \n', max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_is_an_error_with_a_place(text: str) -> None:
    try:
        found = read(text, "x").value
    except PlanSyntax as error:
        assert error.location == "x" or error.location.startswith("x:")
    else:
        assert json.dumps(found) == json.dumps(json.loads(text))


def test_each_value_is_found_where_it_stands() -> None:
    text = '{\n  "a/b": [1,\n    {"~": "x"}]\n}'
    found = read(text, "f")
    places = {"": "f:1:1", "/a~1b": "f:2:10", "/a~1b/0": "f:2:11", "/a~1b/1/~0": "f:3:11"}
    assert {pointer: found.location(pointer) for pointer in places} == places
    assert found.location("/a~1b/1/none/of/it") == "f:3:5"
    assert escaped("a/b~") == "a~1b~0"


def test_a_long_key_above_many_values_is_refused_before_it_fills_the_memory() -> None:
    with pytest.raises(PlanSyntax, match="the keys above this are too long"):
        read('{"' + "k" * 500_000 + '": [' + ",".join(["0"] * 40_000) + "]}", "plan")
