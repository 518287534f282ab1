"""A screen that grows shows nothing that scrolled away, where guests are to see it."""

from __future__ import annotations

import pytest

from redoma.sessions.screen import RecentOutput, TerminalScreen, screen

MUCH = b"secret\r\n" + b"".join(b"%d\r\n" % number for number in range(60)) + b"last"


def shown(kind: type[RecentOutput | TerminalScreen], before: bytes, after: bytes) -> bytes:
    made = kind(80, 24, lambda _: None) if kind is TerminalScreen else RecentOutput(80, 24)
    made.feed(MUCH + before)
    made.resize(80, 200, history=False)
    made.feed(after)
    return made.drawn(history=False)


@pytest.mark.parametrize("mode", [b"", b"1049", b"1047", b"47"])
def test_a_larger_screen_is_not_filled_from_above(mode: bytes) -> None:
    if not screen(80, 24, lambda _: None).exact:
        pytest.skip("SKIPPED: pyghostty is not here")
    before = b"\x1b[?%sh" % mode if mode else b""
    after = b"\x1b[?%sl" % mode if mode else b""
    drawn = shown(TerminalScreen, before, after)
    assert b"59" in drawn
    assert b"secret" not in drawn
    assert b"\x1b[?47h" not in drawn


def test_nor_where_only_the_newest_output_is_known() -> None:
    drawn = shown(RecentOutput, b"", b"")
    assert b"59" in drawn
    assert b"secret" not in drawn


def test_a_host_alone_keeps_what_scrolled_away() -> None:
    made = screen(80, 24, lambda _: None)
    made.feed(MUCH)
    made.resize(80, 30)
    assert b"secret" in made.drawn(history=True)
