"""JSON is edited as text: what its owner wrote stays to the last blank."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redoma.hook.json_text import append, drop

PATH = ("hooks", "PreToolUse")
OURS = {"matcher": "Bash", "hooks": [{"command": "é"}]}


def test_what_is_missing_is_made_in_the_files_own_style() -> None:
    before = '{\n\t"model": "opus",\n\t"odd":   [1,2,\n  1.50]\n}\n'
    assert append(before, PATH, {"a": 1}) == (
        '{\n\t"model": "opus",\n\t"odd":   [1,2,\n  1.50],\n'
        '\t"hooks": {\n\t\t"PreToolUse": [\n\t\t\t{\n\t\t\t\t"a": 1\n\t\t\t}\n\t\t]\n\t}\n}\n'
    )


def test_an_item_goes_after_those_that_are_there() -> None:
    before = '{\n  "hooks": {\n    "PreToolUse": [\n      {}\n    ]\n  }\n}'
    assert append(before, PATH, {"a": 1}) == (
        '{\n  "hooks": {\n    "PreToolUse": [\n      {},\n      {\n        "a": 1\n      }\n'
        "    ]\n  }\n}"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "hooks": {\n    "PreToolUse": [\n      1\n    ]\n  }\n}'),
        ('{"a":1}', '{"a":1, "hooks": {"PreToolUse": [1]}}'),
        ('{"hooks":{"PreToolUse":[]}}', '{"hooks":{"PreToolUse":[1]}}'),
        ('{"hooks":{"PreToolUse":[0]}}', '{"hooks":{"PreToolUse":[0, 1]}}'),
        (
            '{\r\n  "a": 1\r\n}\r\n',
            '{\r\n  "a": 1,\r\n  "hooks": {\r\n    "PreToolUse": [\r\n      1\r\n    ]\r\n'
            "  }\r\n}\r\n",
        ),
        ('{\n  "hooks": {}\n}', '{\n  "hooks": {\n    "PreToolUse": [\n      1\n    ]\n  }\n}'),
    ],
    ids=["empty", "one line", "empty list", "inline list", "carriage returns", "empty object"],
)
def test_every_style_is_kept(before: str, after: str) -> None:
    assert append(before, PATH, 1) == after


def test_dropping_takes_the_comma_that_goes_with_the_item() -> None:
    text = '{"a": [1, 2, 3], "b": {"c": 4}}'
    assert drop(text, ("a", 0)) == '{"a": [2, 3], "b": {"c": 4}}'
    assert drop(text, ("a", 1)) == '{"a": [1, 3], "b": {"c": 4}}'
    assert drop(text, ("a", 2)) == '{"a": [1, 2], "b": {"c": 4}}'
    assert drop(text, ("b", "c")) == '{"a": [1, 2, 3], "b": {}}'
    assert drop(text, ("b",)) == '{"a": [1, 2, 3]}'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)
SETTINGS = st.fixed_dictionaries(
    {"a": JSON},
    optional={
        "hooks": st.fixed_dictionaries({}, optional={"PreToolUse": st.lists(JSON), "Stop": JSON}),
        "z": JSON,
    },
)


@given(settings=SETTINGS, indent=st.sampled_from([None, 1, 2, 4, "\t"]), ascii=st.booleans())
def test_only_the_new_item_is_new(
    settings: dict[str, object], indent: int | str | None, ascii: bool
) -> None:
    before = json.dumps(settings, indent=indent, ensure_ascii=ascii)
    after = append(before, PATH, OURS)
    wanted = json.loads(before)
    wanted.setdefault("hooks", {}).setdefault("PreToolUse", []).append(OURS)
    assert json.loads(after) == wanted
    same = next(
        (at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new),
        len(before),
    )
    assert after.endswith(before[same:])  # one piece was put in, nothing else was touched


@given(settings=SETTINGS, indent=st.sampled_from([None, 2, "\t"]))
def test_what_was_appended_can_be_dropped(
    settings: dict[str, object], indent: int | str | None
) -> None:
    before = json.dumps(settings, indent=indent)
    added = append(before, PATH, OURS)
    last = len(json.loads(added)["hooks"]["PreToolUse"]) - 1
    wanted = json.loads(before)
    wanted.setdefault("hooks", {}).setdefault("PreToolUse", [])
    assert json.loads(drop(added, (*PATH, last))) == wanted
