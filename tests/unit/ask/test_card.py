"""What a person decides by cannot be forged, hidden or moved by what is asked about."""

from __future__ import annotations

import re
import time

import pytest

from redoma.ask.card import Layout, Look, card, command_rows, fold, keys_for
from redoma.ask.hidden import without_secrets
from redoma.ask.terminal_input import Line
from redoma.base.text import cell
from redoma.model.request import Context, Impact, Question
from tests.unit.ask.asked import DELETES, FORCE_PUSH, question
from tests.unit.ask.person import DUMB, UTF8, Person, lines_on_screen

PLAIN = Layout(width=80, most_rows=20)
COLOUR = re.compile("\x1b\\[[0-9;]*m")
HOSTILE = {
    "clears the screen": "ls \x1b[2J\x1b[1;1Hecho fine",
    "moves up and writes over": "rm x \x1b[5A\x1b[2Kecho fine",
    "a title": "ls \x1b]0;approved\x07",
    "an order of one byte": "ls \x9b2J \x84",
    "returns to the start of the line": "rm -rf x\recho fine     ",
    "backspaces": "rm -rf x" + "\b" * 8 + "echo fine",
    "lines of a card": "ls\n\nwhy      it is harmless\n-------\n[a d ?] deny in 60 s: ",
    "reversed": "rm \u202e\u2066cba\u2069 \u202d\u200f\u200e",
    "not there": "r\u200bm\u2060 \ufeff\u3164 x\ufe0f \u2800 \U000e0041 \u034f",
    "piled up": "e" + "\u0301" * 500,
    "other lines": "a\u2028b\u2029c\x85d\x0be\x0cf",
    "no text": "rm \udc80\udcff \ud800",
    "tabs": "rm\t\t-rf\tx",
    "wide": "\u6f22" * 200,
}


def shown(asked: Question, *, columns: int = 80, colour: bool = False) -> list[str]:
    return card(asked, Look(columns=columns, rows=40, colour=colour), lambda text: text)


def columns_of(line: str) -> int:
    return sum(cell(char)[1] for char in COLOUR.sub("", line))


@pytest.mark.parametrize("colour", [False, True], ids=["plain", "colour"])
@pytest.mark.parametrize("columns", [30, 40, 80, 200])
@pytest.mark.parametrize("case", HOSTILE)
def test_nothing_in_a_question_acts_on_the_screen(case: str, columns: int, colour: bool) -> None:
    text = HOSTILE[case]
    lines = shown(
        question(
            command=text,
            spans=((0, len(text)),),
            because=(text,),
            alternative=text,
            safety_level=text,
            workspace=text,
            cwd=text,
            session=text,
            policy=text,
            impact=Impact(files_affected=(text,) * 50, estimated_scope=text),
            context=Context(triggered_by=text, workflow_phase=text, previous_commands=(text,) * 9),
        ),
        columns=columns,
        colour=colour,
    )
    for line in lines:
        assert COLOUR.sub("", line).isprintable()
        assert columns_of(line) <= max(30, columns - 1)
        assert not re.search("[\u0300-\u036f]{3}", line)
    # Only rows of the command stand behind its margin, and no other line looks like one of ours.
    assert lines.count(lines[0]) == 2
    assert len([line for line in lines if line.startswith("why ")]) == 1
    assert len([line for line in lines if line.startswith("  a approve")]) == 1


@pytest.mark.parametrize("environ", [UTF8, DUMB, {**UTF8, "LANG": "C"}], ids=["x", "dumb", "C"])
@pytest.mark.parametrize("case", HOSTILE)
def test_a_real_terminal_gets_no_order_but_ours(case: str, environ: dict[str, str]) -> None:
    person = Person()
    text = HOSTILE[case]
    person.answering(
        question(command=text, spans=((0, 2),), timeout_seconds=0.2, because=(text,)), environ
    )
    answer = person.answered()
    assert answer is not None
    on_screen = lines_on_screen(person.shown)  # fails at any other order or control character
    assert on_screen[1] == on_screen[-3] or "-" * 79 in on_screen
    assert on_screen[-2].startswith("no answer: deny")
    if environ.get("LANG") == "C":
        assert person.shown.isascii()
    person.close()


def test_the_risky_parts_of_a_command_of_a_megabyte_are_always_shown() -> None:
    hidden = "rm -rf /srv/data"
    text = "echo " + "A" * 500_000 + f"; {hidden}; echo " + "B" * 400_000 + "; git push --force"
    first, last = text.index(hidden), len(text) - len("--force")
    started = time.perf_counter()
    rows = command_rows(text, ((first, first + len(hidden)), (last, len(text))), PLAIN)
    assert time.perf_counter() - started < 1
    assert len(rows) < 25
    row = next(index for index, line in enumerate(rows) if hidden in line)
    at = rows[row].index(hidden)
    assert rows[row + 1] == " " * at + "^" * len(hidden)
    assert rows[-2].endswith("git push --force")
    assert rows[-1].endswith(" ^^^^^^^")
    told = sum(int(found) for found in re.findall(r"\.\.\. (\d+) characters", "\n".join(rows)))
    whole = sum(len(row) - 3 for row in rows if row[:3] in (" | ", " : "))
    assert told + whole == len(text)


def test_a_risky_part_of_a_megabyte_shows_both_its_ends() -> None:
    text = "START" + "x" * 1_000_000 + "END; ls"
    rows = "\n".join(command_rows(text, ((0, len(text) - 4),), PLAIN))
    assert "START" in rows
    assert "END; ls" in rows
    assert "characters not shown" in rows


def test_more_risky_parts_than_fit_are_counted() -> None:
    text = "rm x; " * 50_000
    spans = tuple((at, at + 4) for at in range(0, len(text), 6))
    rows = command_rows(text, spans[::1000], PLAIN)
    assert rows[-1] == "   ... and 38 more risky parts ..."


def test_lines_without_end_do_not_push_the_card_away() -> None:
    rows = command_rows("\n" * 100_000 + "rm x", ((100_000, 100_004),), PLAIN)
    assert len(rows) < 25
    assert any("rm x" in row for row in rows)


def test_a_command_of_several_lines_keeps_them() -> None:
    assert command_rows("cd x &&\n  rm -r y", ((10, 17),), PLAIN) == [
        " | cd x &&",
        " |   rm -r y",
        "     ^^^^^^^",
    ]


def test_a_row_that_goes_on_says_so() -> None:
    rows = command_rows("x" * 40, ((35, 38),), Layout(width=30, most_rows=20))
    assert rows == [" | " + "x" * 26, " : " + "x" * 14, " " * 12 + "^^^"]


def test_marks_are_underlined_where_there_is_colour() -> None:
    rows = command_rows("rm -r y", ((6, 7),), Layout(width=80, most_rows=9, underline=True))
    assert rows == [" | rm -r \x1b[1;4;31my\x1b[0m"]


def test_a_card_for_eighty_columns() -> None:
    assert shown(DELETES) == [
        "-" * 79,
        "redoma: may this run?  DANGEROUS",
        "",
        " | rm -rf build dist",
        "          ^^^^^",
        "",
        "why      deletes the tree build",
        "touches  deletes; several files",
        "files    build",
        "         dist",
        "effect   CANNOT be undone; no network that we know of",
        "in       /srv/project",
        "asked    by claude-code, in phase release",
        "before   git status",
        "policy   default: confirm_dangerous",
        "",
        "  a approve, once                 m modify the command",
        "  d deny                          e always approve exactly this",
        "  p preview: a dry run",
        "-" * 79,
    ]


def test_only_answers_that_can_be_kept_are_offered() -> None:
    assert "".join(key.key for key in keys_for(FORCE_PUSH)) == "adpmsex"
    assert "".join(key.key for key in keys_for(DELETES)) == "adpme"
    assert "".join(key.key for key in keys_for(question(argvs=()))) == "adpm"


def redact(text: str) -> str:
    return re.sub("s3cret\\w*", "[REDACTED]", text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("login s3cret1 && rm x", {"rm x": "rm x"}),
        ("s3cret1 rm x", {"rm": "rm", "s3cret1 rm": "[REDACTED] rm"}),
        ("a s3cret1 b s3cret22 c", {"s3cret1": "[REDACTED]", "b s3": "b [REDACTED]", " c": " c"}),
        ("[REDACTED] s3cret rm", {"rm": "rm", "[RED": "[REDACTED]"}),
        ("rm s3cret", {"rm": "rm", "ret": "[REDACTED]"}),
    ],
)
def test_marks_stay_on_their_part_when_secrets_are_taken_out(
    text: str, parts: dict[str, str]
) -> None:
    for part, expected in parts.items():
        start = text.index(part)
        left, spans = without_secrets(text, ((start, start + len(part)),), redact)
        assert "s3cret" not in left
        assert [left[a:b] for a, b in spans] == [expected]


def test_where_the_marks_cannot_be_moved_everything_is_marked() -> None:
    assert without_secrets("rm -r x", ((6, 7),), str.upper) == ("RM -R X", ((0, 7),))


def test_text_is_folded_between_words_and_within_those_too_long() -> None:
    assert fold("one two three", 7) == ["one two", "three"]
    assert fold("a" * 10, 4) == ["aaaa", "aaaa", "aa"]
    assert fold("\u6f22\u6f22\u6f22", 4) == ["\u6f22\u6f22", "\u6f22"]
    assert fold("", 4) == [""]


def test_a_line_is_changed_in_place() -> None:
    line = Line("rm x")
    for typed in (
        b"\x7f",
        b"build",
        b"\x01",
        b"\x1b[C",
        b"\x1b[3~",
        b"m -r",
        b"\x05",
        b"!",
        b"\x08",
    ):
        line.typed(typed)
    assert (line.text, line.done) == ("rm -r build", False)
    line.typed(b"\x17")
    assert line.text == "rm -r "
    line.typed("\u00e9".encode()[:1])
    line.typed("\u00e9".encode()[1:])
    assert line.text == "rm -r \u00e9"
    line.typed(b"\x15")
    assert line.text == ""
    line.typed(b"\r")
    assert (line.done, line.cancelled) == (True, False)


def test_pasted_line_ends_do_not_finish_the_line_and_orders_are_not_kept() -> None:
    line = Line("")
    line.typed(b"a\r\nb\rc\x1b[2J\x00")
    assert (line.text, line.done) == ("a\nb\nc[2J", False)


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_a_line_to_change_fits_the_screen_and_shows_its_cursor(columns: int) -> None:
    line = Line("\x1b\u202e" + "word " * 100)
    for typed in (b"", b"\x01", b"\x1b[C", b"\x1b[C"):
        line.typed(typed)
        text, cursor = line.shown(columns)
        assert text.isprintable()
        assert len(text) < columns
        assert cursor < columns


@pytest.mark.parametrize("rows", [30, 24, 20])
@pytest.mark.parametrize("columns", [60, 80])
def test_the_command_stays_above_the_prompt_on_a_small_screen(rows: int, columns: int) -> None:
    asked = question(
        command="git push origin main",
        spans=((0, 20),),
        because=tuple(f"reason number {number} of many" for number in range(8)),
        alternative="push a branch of your own and open a pull request",
        impact=Impact(files_affected=tuple(f"file{number}" for number in range(20))),
        context=Context(triggered_by="agent", previous_commands=("make", "make test", "ls")),
    )
    lines = card(asked, Look(columns=columns, rows=rows), str)
    # The terminal shows the last rows, and the prompt is one of them.
    shown = lines[-(rows - 1) :]
    assert any("git push origin main" in line for line in shown)
    assert any("a approve" in line for line in shown)


def test_a_card_does_not_contradict_itself_about_the_network() -> None:
    closed = question(command="curl x", impact=Impact(network_access=True, network_closed=True))
    text = "\n".join(card(closed, Look(), str))
    assert "closed to it" in text
    assert "reaches the network" not in text
