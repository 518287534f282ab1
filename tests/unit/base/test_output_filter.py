"""Nothing in a terminal's output acts on those who watch it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redoma.base.output_filter import OutputFilter

QUESTIONS = {
    "device attributes": b"\x1b[c",
    "secondary attributes": b"\x1b[>0c",
    "cursor position": b"\x1b[6n",
    "status": b"\x1b[?6n",
    "mode": b"\x1b[?2004$p",
    "version": b"\x1b[>q",
    "keyboard": b"\x1b[?u",
    "size of the window": b"\x1b[18t",
    "title": b"\x1b[21t",
    "identity": b"\x1bZ",
    "enquiry": b"\x05",
    "setting": b"\x1bP$qm\x1b\\",
    "capability": b"\x1bP+q544e\x1b\\",
    "colour": b"\x1b]11;?\x07",
    "palette": b"\x1b]4;1;?\x1b\\",
    "clipboard": b"\x1b]52;c;?\x07",
    "in eight bits": "\x9b6n".encode(),
    "a control inside": b"\x1b[6\nn",
    "clipboard in eight bits": "\x9d52;c;aGk=\x9c".encode(),
}
ACTS = {
    "clipboard set": b"\x1b]52;c;aGVsbG8=\x07",
    "link to a program": b"\x1b]8;;javascript:alert(1)\x1b\\here\x1b]8;;\x1b\\",
    "link to a file": b"\x1b]8;;file:///etc/passwd\x07here\x1b]8;;\x07",
    "notification": b"\x1b]9;hello\x07",
    "place": b"\x1b]7;file://host/etc\x07",
    "image": b"\x1b]1337;File=inline=1:AAAA\x07",
    "graphics": b"\x1b_Ga=q;AAAA\x1b\\",
    "shell's own": b"\x1b]633;E;rm;nonce\x07",
    "title": b"\x1b]2;mine\x07",
}
DRAWS = (
    b"plain\r\n",
    b"\x1b[31;1mred\x1b[0m",
    b"\x1b[38;2;1;2;3mtrue\x1b[m",
    b"\x1b[2J\x1b[H\x1b[10;20H\x1b[K",
    b"\x1b[?1049h\x1b[?25l\x1b[?2004h",
    b"\x1b7\x1b8\x1b(B\x1b)0\x1bM\x1b=\x1b>",
    b"\x1b[4 q\x1b[!p\x1b[5;10r",
    b"\x1b]8;id=1;https://example.com/a?b=c\x1b\\here\x1b]8;;\x1b\\",
    "ação 🦊 日本".encode(),
)


def through(data: bytes, *cuts: int) -> bytes:
    reader, shown, last = OutputFilter(), b"", 0
    for cut in (*sorted(cuts), len(data)):
        shown += reader.feed(data[last:cut]).shown
        last = max(last, cut)
    return shown


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_watcher_is_asked_anything(name: str) -> None:
    assert through(b"a" + QUESTIONS[name] + b"b") == b"ab"


@pytest.mark.parametrize("name", ACTS)
def test_nothing_acts_on_a_watcher(name: str) -> None:
    shown = through(b"a" + ACTS[name] + b"b")
    assert re.sub(rb"\x1b\]8;;(\x07|\x1b\\)", b"", shown) in (b"ab", b"ahereb")


@pytest.mark.parametrize("data", DRAWS)
def test_what_draws_passes_unchanged(data: bytes) -> None:
    assert through(data + b".") == data + b"."


@given(
    st.lists(
        st.sampled_from((*QUESTIONS.values(), *ACTS.values(), *DRAWS)), min_size=1, max_size=6
    ),
    st.lists(st.integers(0, 200), max_size=8),
)
def test_it_does_not_matter_in_what_pieces_output_comes(
    parts: list[bytes], cuts: list[int]
) -> None:
    data = b"".join(parts) + b"."
    assert through(data, *(cut for cut in cuts if cut < len(data))) == through(data)


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=4))
def test_no_bytes_at_all_become_a_question(data: bytes, cuts: list[int]) -> None:
    shown = through(data, *(cut for cut in cuts if cut < len(data)))
    assert OutputFilter().feed(shown + b"\x18.").shown.endswith(b".")
    for asked in (rb"\x1b\[[0-9;?>=]*[cn]", rb"\x1bP", rb"\x1b\]52", rb"\x05", rb"\x1bZ"):
        assert not re.search(asked, shown)


def test_a_question_that_what_is_taken_out_would_leave_is_taken_out_too() -> None:
    assert b"\x1b[6n" not in through(b"\x1b\x1b]52;c;x\x07[6n")
    assert b"\x1b]52" not in through(b"\x1b]\x1b]9;x\x0752;c;?\x07")


def test_a_text_without_an_end_takes_no_memory_and_is_not_shown() -> None:
    reader = OutputFilter()
    shown = reader.feed(b"a\x1b]52;c;").shown
    for _ in range(200):
        shown += reader.feed(b"A" * 8192).shown
        assert len(reader._rest) < 512 << 10
    assert shown + reader.feed(b"\x07b").shown == b"ab"


def test_what_was_shown_ends_between_characters() -> None:
    reader = OutputFilter()
    whole = "€".encode()
    assert reader.feed(b"a" + whole[:2]).shown == b"a"
    assert reader.feed(whole[2:]).shown == whole
