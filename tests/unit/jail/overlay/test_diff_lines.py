"""Line diffs lead from one text to the other, are short, and never take long."""

from __future__ import annotations

import random
import time

import pytest

from redoma.jail.overlay.diff import hunks, split, with_hunks
from redoma.model.change import Hunk


def followed(before: list[bytes], found: list[Hunk]) -> list[bytes]:
    """What hunks make of the lines they were found for."""
    made: list[bytes] = []
    at = 0
    for hunk in found:
        start = hunk.old_start - 1
        made += before[at:start]
        kept = [line for sign, line in hunk.lines if sign != "+"]
        assert before[start : start + hunk.old_count] == kept
        assert len(made) + 1 == hunk.new_start
        made += [line for sign, line in hunk.lines if sign != "-"]
        at = start + hunk.old_count
    return made + before[at:]


def lines(text: str) -> list[bytes]:
    return [f"{word}\n".encode() for word in text.split()]


def test_one_changed_line_is_one_hunk_with_three_lines_around_it() -> None:
    before = lines("a b c d e f g h i")
    (hunk,) = hunks(before, lines("a b c d E f g h i"))
    assert hunk == Hunk(
        old_start=2,
        old_count=7,
        new_start=2,
        new_count=7,
        lines=(
            *((" ", line) for line in lines("b c d")),
            ("-", b"e\n"),
            ("+", b"E\n"),
            *((" ", line) for line in lines("f g h")),
        ),
    )
    assert hunk.header == "@@ -2,7 +2,7 @@"


def test_changes_far_apart_are_hunks_of_their_own() -> None:
    before = lines(" ".join(map(str, range(40))))
    after = [*before[:5], b"new\n", *before[5:30], *before[31:]]
    found = hunks(before, after)
    assert [hunk.header for hunk in found] == ["@@ -3,6 +3,7 @@", "@@ -28,7 +29,6 @@"]
    assert followed(before, found) == after


@pytest.mark.parametrize(
    ("before", "after", "header"),
    [(b"", b"a\n", "@@ -0,0 +1 @@"), (b"a\n", b"", "@@ -1 +0,0 @@"), (b"a", b"a\n", "@@ -1 +1 @@")],
)
def test_empty_texts_and_missing_newlines_are_counted_as_git_counts(
    before: bytes, after: bytes, header: str
) -> None:
    (hunk,) = hunks(split(before), split(after))
    assert hunk.header == header


def test_equal_texts_have_no_hunks() -> None:
    assert hunks(lines("a b c"), lines("a b c")) == []


def test_only_a_line_feed_ends_a_line() -> None:
    assert split(b"a\r\nb\rc\x0bd\ne") == [b"a\r\n", b"b\rc\x0bd\n", b"e"]


@pytest.mark.parametrize("seed", range(200))
def test_hunks_lead_from_any_text_to_any_other(seed: int) -> None:
    draw = random.Random(seed)
    alphabet = draw.choice((2, 5, 50, 1000))
    before = [b"%d\n" % draw.randrange(alphabet) for _ in range(draw.randrange(60))]
    after = list(before) if draw.random() < 0.7 else []
    for _ in range(draw.randrange(12)):
        at = draw.randrange(len(after) + 1)
        after[at : at + draw.randrange(4)] = [
            b"%d\n" % draw.randrange(alphabet) for _ in range(draw.randrange(4))
        ]
    assert followed(before, hunks(before, after)) == after


def test_a_small_edit_is_found_as_small_among_repeated_lines() -> None:
    before = lines("{ x } " * 50)
    after = before[:75] + lines("y") + before[75:]
    (hunk,) = hunks(before, after)
    assert [line for line in hunk.lines if line[0] != " "] == [("+", b"y\n")]


def test_texts_made_to_take_long_do_not() -> None:
    draw = random.Random(7)
    before = [b"%d\n" % draw.randrange(300) for _ in range(60_000)]
    after = [b"%d\n" % draw.randrange(300) for _ in range(60_000)]
    began = time.process_time()
    found = hunks(before, after)
    assert time.process_time() - began < 5
    assert followed(before, found) == after


@pytest.mark.parametrize("seed", range(100))
def test_any_choice_of_hunks_is_applied_and_the_rest_left_as_it_was(seed: int) -> None:
    draw = random.Random(seed)
    before = [b"%d\n" % n for n in range(80)]
    # Each edit touches lines of its own, so that the outcome of a choice is known beforehand.
    edits = {n: draw.choice(([], [b"new\n"], [b"a\n", b"b\n"])) for n in range(4, 76, 9)}
    edits = {n: new for n, new in edits.items() if draw.random() < 0.8}

    def edited(which: set[int]) -> list[bytes]:
        return [
            out for n, line in enumerate(before) for out in (edits[n] if n in which else [line])
        ]

    found = hunks(before, edited(set(edits)))
    assert len(found) == len(edits)
    taken = {n for n in edits if draw.random() < 0.5}
    chosen = [hunk for hunk, n in zip(found, sorted(edits), strict=True) if n in taken]
    draw.shuffle(chosen)
    assert with_hunks(before, chosen) == edited(taken)


def test_a_hunk_that_does_not_fit_any_more_is_refused() -> None:
    before = lines("a b c d e f g")
    (hunk,) = hunks(before, lines("a b c D e f g"))
    assert with_hunks(lines("a b x d e f g"), [hunk]) is None
    assert with_hunks(before, [hunk, hunk]) is None
