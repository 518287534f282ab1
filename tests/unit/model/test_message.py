"""A message is its English, and carries what another language needs to say it."""

from __future__ import annotations

import copy
import json
import pickle
import sqlite3

import pytest

from redoma.model.errors import UsageError
from redoma.model.message import Message

TOLD = Message("cannot read {path}: {why}", path="/a", why="gone")


def test_a_message_is_its_english() -> None:
    assert TOLD == "cannot read /a: gone"
    assert hash(TOLD) == hash("cannot read /a: gone")
    assert json.dumps([TOLD]) == '["cannot read /a: gone"]'
    assert sqlite3.connect(":memory:").execute("SELECT ?", (TOLD,)).fetchone() == (TOLD,)


def test_a_message_knows_its_template_and_its_values() -> None:
    assert (TOLD.id, TOLD.values) == ("cannot read {path}: {why}", {"path": "/a", "why": "gone"})
    assert Message("denied").id == "denied"
    assert Message("denied").values == {}
    assert Message(TOLD) is TOLD


def test_a_copy_of_a_message_is_the_same_message() -> None:
    for same in (copy.copy(TOLD), copy.deepcopy(TOLD), pickle.loads(pickle.dumps(TOLD))):
        assert (same, same.id, same.values) == (TOLD, TOLD.id, TOLD.values)


@pytest.mark.parametrize("value", ["{path}", "{", "{{}}", "{0}", "%s", "\\1", "a\nb", ""])
def test_what_stands_in_a_value_is_never_read_as_a_hole(value: str) -> None:
    assert Message("[{path}]", path=value) == f"[{value}]"


def test_the_words_of_an_error_are_the_message_that_it_was_made_with() -> None:
    said = str(UsageError(TOLD))
    assert isinstance(said, Message)
    assert said.id == TOLD.id


def test_an_error_in_a_hole_is_its_message_and_keeps_no_frame_alive() -> None:
    told = Message("it failed: {error}", error=UsageError(TOLD))
    inner = told.values["error"]
    assert isinstance(inner, Message)
    assert inner.id == TOLD.id


@pytest.mark.parametrize(("count", "said"), [(0, "0 paths"), (1, "1 path"), (2, "2 paths")])
def test_what_is_counted_agrees_with_its_count(count: int, said: str) -> None:
    assert Message.counted("{count} path", "{count} paths", count) == said


def test_joined_messages_stay_messages() -> None:
    both = Message.joined("; ", ["denied", TOLD])
    assert both == "denied; cannot read /a: gone"
    assert isinstance(both, Message)
    assert both.values == {"part0": "denied", "part1": TOLD}
    assert Message.joined("; ", [TOLD]) is TOLD
    assert Message.joined("; ", []) == ""


def test_a_changed_message_is_still_one_where_its_values_can_be_changed_likewise() -> None:
    masked = TOLD.changed(lambda text: text.replace("/a", "***"))
    assert isinstance(masked, Message)
    assert (masked, masked.values["path"]) == ("cannot read ***: gone", "***")


def test_a_secret_that_only_the_whole_betrays_is_in_no_value_either() -> None:
    told = Message("password: {given}", given="hunter2")
    masked = told.changed(lambda text: text.replace("password: hunter2", "password: ***"))
    assert masked == "password: ***"
    assert not isinstance(masked, Message)
