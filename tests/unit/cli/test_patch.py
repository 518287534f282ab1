"""Diffs on a screen: coloured where there are colours, harmless everywhere."""

from __future__ import annotations

from redoma.cli.prose import Screen
from redoma.cli.tree import shown
from redoma.model.change import FileDiff, Hunk, Shows
from tests.unit.cli.changed import created, modified

HUNK = Hunk(
    old_start=1,
    old_count=2,
    new_start=1,
    new_count=2,
    lines=((" ", b"same\n"), ("-", b"old\n"), ("+", b"new")),
)


def on(screen: Screen, *diffs: FileDiff) -> str:
    return "".join(shown(diffs, screen))


def test_a_hunk_is_shown_as_in_a_patch() -> None:
    diff = FileDiff(change=modified("a"), shows=Shows.TEXT, hunks=(HUNK,), encoding="ascii")
    assert on(Screen(), diff) == (
        "~ a\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n\\ No newline at end of file\n"
    )


def test_colour_is_used_where_there_is_some() -> None:
    diff = FileDiff(change=modified("a"), shows=Shows.TEXT, hunks=(HUNK,), encoding="ascii")
    assert "\x1b[31m-old\x1b[0m\n\x1b[32m+new\x1b[0m\n" in on(Screen(colour=True), diff)


def test_text_in_a_file_does_not_act_on_the_terminal() -> None:
    hunk = Hunk(
        old_start=1,
        old_count=0,
        new_start=1,
        new_count=1,
        lines=(("+", b"\x1b]0;title\x07\xe2\x80\xae\xff\r\n"),),
    )
    diff = FileDiff(change=created("a"), shows=Shows.TEXT, hunks=(hunk,), encoding="utf-8")
    assert on(Screen(colour=True), diff).endswith(
        "\x1b[32m+\\x1b]0;title\\x07\\u202e\\xff\\r\x1b[0m\n"
    )


def test_a_very_long_line_is_cut_and_its_length_said() -> None:
    hunk = Hunk(
        old_start=1, old_count=0, new_start=1, new_count=1, lines=(("+", b"x" * 9000 + b"\n"),)
    )
    diff = FileDiff(change=created("a"), shows=Shows.TEXT, hunks=(hunk,), encoding="ascii")
    assert on(Screen(), diff).endswith("x... (9000 bytes)\n")


def test_what_has_no_lines_is_summed_up() -> None:
    binary = FileDiff(change=modified("b", 1_000, 2_000), shows=Shows.BINARY)
    large = FileDiff(change=created("l", 48_000_000), shows=Shows.LARGE, why="too large to show")
    silent = FileDiff(change=modified("s"), shows=Shows.NOTHING)
    assert on(Screen(), binary, large, silent) == (
        "~ b\n  binary: 1.0 kB -> 2.0 kB\n+ l\n  too large to show: 48 MB\n"
    )


def test_a_file_that_changed_since_is_said_to_have() -> None:
    diff = FileDiff(
        change=modified("a"), shows=Shows.TEXT, hunks=(HUNK,), encoding="ascii", stale=True
    )
    assert "has changed since" in on(Screen(), diff)
