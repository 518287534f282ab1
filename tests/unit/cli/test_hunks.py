"""Choosing hunks: each answer means what the help says, and silence means no."""

from __future__ import annotations

import pytest

from redoma.cli.apply import KEYS_HELP, Chosen, choose, split
from redoma.cli.prose import Screen
from redoma.jail.overlay.diff import hunks, with_hunks
from redoma.model.change import FileDiff, Hunk, Shows
from tests.unit.cli.changed import created, modified

BEFORE = [b"%d\n" % n for n in range(40)]
AFTER = [b"new first\n", *BEFORE[1:20], b"new middle\n", *BEFORE[21:39], b"new last\n"]
THREE = tuple(hunks(BEFORE, AFTER))


def text(path: str, found: tuple[Hunk, ...] = THREE) -> FileDiff:
    return FileDiff(change=modified(path), shows=Shows.TEXT, hunks=found, encoding="ascii")


def binary(path: str) -> FileDiff:
    return FileDiff(change=modified(path), shows=Shows.BINARY)


def chosen(answers: str, *diffs: FileDiff) -> tuple[Chosen, str]:
    left = list(answers)
    said: list[str] = []

    def ask(question: str, keys: str) -> str:
        said.append(question)
        answer = left.pop(0) if left else ""
        assert answer in keys
        return answer

    found = choose(diffs, Screen(), ask, said.append)
    assert left == []
    return found, "".join(said)


@pytest.mark.parametrize(
    ("answers", "which"), [("yny", (0, 2)), ("nyn", (1,)), ("na", (1, 2)), ("yd", (0,))]
)
def test_the_hunks_that_were_chosen_are_applied(answers: str, which: tuple[int, ...]) -> None:
    diff = text("a")
    assert chosen(answers, diff)[0] == Chosen(hunks=((diff, tuple(THREE[n] for n in which)),))


def test_a_file_whose_every_hunk_is_chosen_is_applied_whole() -> None:
    assert chosen("yyy", text("a"))[0] == Chosen(paths=("a",))


def test_nothing_chosen_is_nothing_applied() -> None:
    assert chosen("nnn" + "n", text("a"), binary("b"))[0].nothing


def test_the_rest_of_one_file_is_not_the_rest_of_all() -> None:
    assert chosen("an", text("a"), binary("b"))[0] == Chosen(paths=("a",))


def test_quitting_keeps_what_was_chosen_and_asks_no_more() -> None:
    first = text("a")
    assert chosen("yq", first, text("b"))[0] == Chosen(hunks=((first, THREE[:1]),))


def test_silence_is_a_no_to_all_that_is_left() -> None:
    assert chosen("", text("a"), binary("b"))[0].nothing


def test_what_has_no_hunks_is_asked_for_whole() -> None:
    new = FileDiff(change=created("n"), shows=Shows.TEXT, hunks=THREE[:1], encoding="ascii")
    found, said = chosen("yn", new, binary("b"))
    assert found == Chosen(paths=("n",))
    assert said.count("Apply this change [y,n,a,d,q,?]?") == 2


def test_all_and_none_of_the_changes_that_follow() -> None:
    assert chosen("a", binary("a"), text("b"), binary("c"))[0] == Chosen(paths=("a", "b", "c"))
    assert chosen("yd", binary("a"), binary("b"), binary("c"))[0] == Chosen(paths=("a",))


def test_help_is_shown_and_the_question_asked_again() -> None:
    found, said = chosen("?y", binary("a"))
    assert found == Chosen(paths=("a",))
    assert KEYS_HELP in said


def test_a_hunk_of_two_places_can_be_split_and_half_chosen() -> None:
    before = [b"a\n", b"b\n", b"c\n", b"d\n", b"e\n"]
    (whole,) = hunks(before, [b"A\n", b"b\n", b"c\n", b"d\n", b"E\n"])
    first, second = split(whole)
    assert (first.header, second.header) == ("@@ -1 +1 @@", "@@ -2,4 +2,4 @@")
    diff = text("a", (whole,))
    assert chosen("sny", diff)[0] == Chosen(hunks=((diff, (second,)),))
    assert split(first) == (first,)


@pytest.mark.parametrize("choice", range(8))
def test_parts_of_a_split_hunk_can_be_applied_in_any_choice(choice: int) -> None:
    before = [b"a\n", b"b\n", b"c\n", b"d\n", b"e\n"]
    (whole,) = hunks(before, [b"new\n", b"a\n", b"b\n", b"C\n", b"d\n"])
    parts = split(whole)
    assert len(parts) == 3
    taken = [part for bit, part in enumerate(parts) if choice & 1 << bit]
    expected = [b"new\n"] * (choice & 1)
    expected += [b"a\n", b"b\n", b"C\n" if choice & 2 else b"c\n", b"d\n"]
    expected += [] if choice & 4 else [b"e\n"]
    assert with_hunks(before, taken) == expected
