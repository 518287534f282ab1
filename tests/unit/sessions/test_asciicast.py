"""A recording has what was shown, no secret, and nothing that was typed unless that was chosen."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from redoma.pipeline.secrets import redact
from redoma.sessions.asciicast import Recording, as_v2

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def recorded(place: Path, *, with_input: bool = False) -> Recording:
    return Recording(
        str(place / "s.cast"),
        columns=80,
        rows=24,
        began=1.0,
        title="t",
        redact=redact,
        with_input=with_input,
    )


def events(place: Path) -> list[list[object]]:
    return [json.loads(line) for line in (place / "s.cast").read_text().splitlines()[1:]]


def test_a_secret_that_comes_in_pieces_is_not_in_it(tmp_path: Path) -> None:
    cast = recorded(tmp_path)
    for at, letter in enumerate(f"\x1b[32mtoken: {TOKEN}\x1b[0m\r\n"):
        cast.output(at / 100, letter.encode())
    cast.output(9.0, b"harmless\r\n")
    cast.close(10.0, 0)
    text = "".join(str(row[2]) for row in events(tmp_path))
    assert TOKEN not in text
    assert "[REDACTED]" in text
    assert "harmless" in text


def test_a_line_without_a_secret_keeps_its_rhythm_and_its_colours(tmp_path: Path) -> None:
    cast = recorded(tmp_path)
    cast.output(1.0, b"\x1b[31mhel")
    cast.output(3.0, b"lo\x1b[0m\r\n")
    cast.close(4.0, 0)
    assert events(tmp_path) == [
        [1.0, "o", "\x1b[31mhel"],
        [2.0, "o", "lo\x1b[0m\r\n"],
        [1.0, "x", "0"],
    ]


def test_characters_are_whole_whatever_pieces_they_come_in(tmp_path: Path) -> None:
    cast = recorded(tmp_path)
    for byte in "ação 🦊\r\n".encode():
        cast.output(1.0, bytes((byte,)))
    cast.close(2.0, None)
    assert "".join(str(row[2]) for row in events(tmp_path)) == "ação 🦊\r\n"


def test_what_is_typed_is_not_in_it_unless_that_was_chosen(tmp_path: Path) -> None:
    cast = recorded(tmp_path)
    cast.input(1.0, b"secret\r")
    cast.close(2.0, None)
    assert events(tmp_path) == []
    (tmp_path / "s.cast").unlink()
    chosen = recorded(tmp_path, with_input=True)
    chosen.input(1.0, b"ls\r")
    chosen.close(2.0, None)
    assert events(tmp_path) == [[1.0, "i", "ls\r"]]


def test_only_its_user_can_read_it(tmp_path: Path) -> None:
    recorded(tmp_path).close(1.0, None)
    assert stat.S_IMODE((tmp_path / "s.cast").stat().st_mode) == 0o600


def test_the_older_form_has_times_from_the_beginning(tmp_path: Path) -> None:
    cast = recorded(tmp_path)
    cast.output(1.0, b"a\r\n")
    cast.marker(2.0, "ana: read_only → read_write")
    cast.output(3.5, b"b\r\n")
    cast.close(4.0, 0)
    lines = list(as_v2(iter((tmp_path / "s.cast").read_text().splitlines())))
    header = json.loads(lines[0])
    assert (header["version"], header["width"], header["height"]) == (2, 80, 24)
    assert [json.loads(line) for line in lines[1:]] == [
        [1.0, "o", "a\r\n"],
        [2.0, "m", "ana: read_only → read_write"],
        [3.5, "o", "b\r\n"],
    ]
