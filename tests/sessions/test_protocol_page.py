"""The page on the protocol says what the frames are, and the frames are what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from redoma.sessions import frames
from redoma.sessions.frames import BadFrame, FrameKind
from redoma.sessions.people import GuestState

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/session-protocol.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\| `0x(\w\w)` \| `(\w+)` \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
_NUMBERS = {"u16": 2, "u64": 8}


def test_the_table_of_frames_is_that_of_the_code() -> None:
    told = {(int(number, 16), name) for number, name, _, _ in _ROW.findall(PAGE)}
    assert told == {(kind.value, kind.name) for kind in FrameKind}


def test_the_server_takes_the_kinds_that_the_table_gives_to_others_and_no_more() -> None:
    for number, name, whose, content in _ROW.findall(PAGE):
        size = sum(_NUMBERS.get(word, 0) for word in re.findall(r"u16|u64", content))
        size = size or _NUMBERS["u64"] * (name == "PONG")
        frame = bytes.fromhex(number) + (b'{"type":"x"}' if name == "CONTROL" else bytes(size))
        if whose == "server":
            with pytest.raises(BadFrame):
                frames.received(frame)
        else:
            assert frames.received(frame).kind.name == name


def test_the_sizes_and_numbers_in_its_sentences_are_those_of_the_code() -> None:
    words = " ".join(PAGE.split())
    assert f'"protocol": {frames.PROTOCOL}}}' in words
    assert f"frames of at most {frames.LARGEST_FRAME >> 10} KiB" in words
    assert f"such of at most {frames.PART >> 10} KiB" in words
    columns = f"{frames.LEAST_COLUMNS}–{frames.MOST_COLUMNS} columns"
    assert f"{columns} and {frames.LEAST_ROWS}–{frames.MOST_ROWS} rows" in words


def test_every_control_message_of_the_server_has_a_row() -> None:
    code = "".join(
        path.read_text(encoding="utf-8")
        for part in ("sessions", "server")
        for path in sorted((ROOT / "src/redoma" / part).glob("*.py"))
    )
    section = PAGE.partition("## Control messages of the server")[2].partition("\n## ")[0]
    told = {
        name
        for row in section.splitlines()
        if row.startswith("| `")
        for name in re.findall(r"`([a-z-]+)`", row.split("|")[1])
    }
    said = set(re.findall(r'"type": "([a-z-]+)"', code)) - {"object", "array", "string", "number"}
    states = {each.value for each in GuestState}  # whose names are messages as well
    assert said - {"boolean", "http"} == told - {"type"} - (states - said)
    assert {"refused", "blocked"} <= told


def test_every_close_code_has_a_row() -> None:
    from redoma.server import channel

    for code in (channel._BAD, channel._REFUSED):
        assert f"\n| {code} |" in PAGE
