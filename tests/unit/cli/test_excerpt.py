"""The carets stand under the part that they are about, whatever the text is made of."""

from __future__ import annotations

from unicodedata import east_asian_width

from hypothesis import given
from hypothesis import strategies as st

from redoma.cli.prose import Note, excerpt, wrap


def shown(text: str, *spans: tuple[int, int], width: int = 100) -> list[str]:
    return excerpt(text, [Note(span, f"note {at}") for at, span in enumerate(spans)], width)


def test_the_command_is_shown_once_with_a_caret_line_for_each_part() -> None:
    assert shown("cd / && rm -rf *", (8, 16), (0, 4)) == [
        "  cd / && rm -rf *",
        "          ^^^^^^^^ note 0",
        "  ^^^^ note 1",
    ]


def test_wide_letters_count_two_columns_and_marks_none() -> None:
    assert shown("echo 世界 e\u0301; rm x", (12, 16)) == [
        "  echo 世界 e\u0301; rm x",
        "               ^^^^ note 0",
    ]


def test_escapes_and_tabs_move_the_carets_by_what_they_show() -> None:
    assert shown("\x1b[31m\trm x", (6, 10)) == [
        r"  \x1b[31m    rm x",
        "              ^^^^ note 0",
    ]


def test_of_several_lines_those_that_matter_are_shown_with_their_numbers() -> None:
    text = "\n".join(["cd /tmp", *["true"] * 8, "rm -rf x"])
    assert shown(text, (0, 7), (len(text) - 8, len(text))) == [
        "   1 | cd /tmp",
        "     | ^^^^^^^ note 0",
        "  10 | rm -rf x",
        "     | ^^^^^^^^ note 1",
    ]


def test_a_part_of_several_lines_is_marked_on_its_first() -> None:
    assert shown("cat <<E\nbody\nE\n", (0, 14)) == [
        "  1 | cat <<E",
        "    | ^^^^^^^ (goes on below) note 0",
    ]


def test_a_long_line_is_shown_through_a_window_around_each_part() -> None:
    text = "echo " + "a" * 300 + "; rm -rf ~ ;" + "b" * 300
    assert shown(text, (307, 315), (0, 4), width=60) == [
        "  ..." + "a" * 22 + "; rm -rf ~ ;" + "b" * 18 + "...",
        "  " + " " * 27 + "^^^^^^^^ note 0",
        "  echo " + "a" * 47 + "...",
        "  ^^^^ note 1",
    ]


def test_a_part_without_length_and_a_part_past_the_end_still_get_a_caret() -> None:
    assert shown("ls", (1, 1)) == ["  ls", "   ^ note 0"]
    assert shown("ls", (7, 9)) == ["  ls", "    ^ note 0"]


def test_a_label_that_does_not_fit_beside_the_carets_stands_below_them() -> None:
    note = Note((0, 30), "a reason of many words, too long", below=("instead: b",))
    assert excerpt("x" * 30, [note], 48) == [
        "  " + "x" * 30,
        "  " + "^" * 30,
        "  a reason of many words, too long",
        "  instead: b",
    ]


def test_a_line_is_broken_between_words() -> None:
    assert wrap("one two three", 8) == ["one two", "  three"]
    assert wrap("unbreakable", 4) == ["unbreakable"]


def columns(text: str) -> int:
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


VISIBLE = st.text(alphabet="ab 世ｗ'$;\t\x1b\u202e", min_size=1, max_size=300)


@given(text=VISIBLE, ends=st.tuples(st.integers(0, 300), st.integers(0, 300)))
def test_no_line_acts_on_a_terminal_and_carets_end_within_their_line(
    text: str, ends: tuple[int, int]
) -> None:
    start, end = sorted(min(at, len(text)) for at in ends)
    command, carets, *_ = shown(text, (start, end), width=60)
    assert command.isprintable()
    assert carets.isprintable()
    reach = len(carets[: carets.rindex("^") + 1])
    assert reach <= max(columns(command), 2) + 1
    assert columns(command) <= 62
