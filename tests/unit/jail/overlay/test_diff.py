"""What changed inside a file is shown by what the file is: text, binary, large, unreadable."""

from __future__ import annotations

import os
from pathlib import Path

from redoma.jail.overlay.diff import LARGEST_FILE, diffs
from redoma.model.change import FileDiff, Shows
from tests.unit.jail.overlay.sides_of import Pair, Tree


def compared(root: Path, before: Tree, after: Tree) -> dict[str, FileDiff]:
    pair = Pair(root, before, after)
    return {found.change.path: found for found in diffs(pair.changes(), pair.sides)}


def only(root: Path, before: bytes, after: bytes) -> FileDiff:
    return compared(root, {"x": before}, {"x": after})["x"]


def test_text_is_shown_line_by_line_and_counted(tmp_path: Path) -> None:
    found = only(tmp_path, b"one\ntwo\n", b"one\n2\nthree\n")
    assert (found.shows, found.encoding) == (Shows.TEXT, "ascii")
    assert (found.added, found.removed) == (2, 1)
    assert found.hunks[0].lines == (
        (" ", b"one\n"),
        ("-", b"two\n"),
        ("+", b"2\n"),
        ("+", b"three\n"),
    )


def test_utf_16_is_compared_by_its_lines(tmp_path: Path) -> None:
    found = only(tmp_path, "één\nzwei\n".encode("utf-16"), "één\ndrei\n".encode("utf-16"))
    assert (found.shows, found.encoding) == (Shows.TEXT, "utf-16")
    assert found.hunks[0].lines == (
        (" ", "één\n".encode()),
        ("-", b"zwei\n"),
        ("+", b"drei\n"),
    )


def test_what_is_no_utf_8_is_read_as_latin_1(tmp_path: Path) -> None:
    found = only(tmp_path, b"caf\xe9\n", b"caf\xe9s\n")
    assert (found.shows, found.encoding) == (Shows.TEXT, "latin-1")


def test_a_changed_line_ending_is_a_change(tmp_path: Path) -> None:
    found = only(tmp_path, b"a\r\nb\r\n", b"a\nb\r\n")
    assert found.hunks[0].lines == (("-", b"a\r\n"), ("+", b"a\n"), (" ", b"b\r\n"))


def test_a_missing_last_newline_is_a_change(tmp_path: Path) -> None:
    assert only(tmp_path, b"a\n", b"a").hunks[0].lines == (("-", b"a\n"), ("+", b"a"))


def test_bytes_with_nul_are_binary(tmp_path: Path) -> None:
    assert only(tmp_path, b"\x7fELF\0\0", b"\x7fELF\0\1").shows is Shows.BINARY


def test_noise_without_nul_is_binary(tmp_path: Path) -> None:
    assert only(tmp_path, b"\x01\x02\x03\x04" * 9, b"\x05\x06\x07\x08" * 9).shows is Shows.BINARY


def test_a_large_file_is_summarised_and_not_read(tmp_path: Path) -> None:
    found = only(tmp_path, b"", b"a" * (LARGEST_FILE + 1))
    assert (found.shows, found.why) == (Shows.LARGE, "too large to show")


def test_a_link_that_points_elsewhere_is_shown_by_its_target(tmp_path: Path) -> None:
    found = compared(tmp_path, {"l": ("link", b"old")}, {"l": ("link", b"/etc/shadow")})["l"]
    assert found.hunks[0].lines == (("-", b"old"), ("+", b"/etc/shadow"))


def test_a_file_swapped_for_a_link_is_not_read_through_it(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("do not show")
    pair = Pair(tmp_path, {}, {"x": b"fine"})
    changes = pair.changes()
    (pair.upper / "x").unlink()
    (pair.upper / "x").symlink_to(secret)
    (found,) = diffs(changes, pair.sides)
    assert found.shows is Shows.UNREADABLE
    assert b"do not show" not in repr(found).encode()


def test_a_directory_swapped_for_a_link_is_not_read_through_it(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/x").write_text("do not show")
    pair = Pair(tmp_path, {}, {"d/x": b"fine"})
    changes = pair.changes()
    (pair.upper / "d/x").unlink()
    (pair.upper / "d").rmdir()
    (pair.upper / "d").symlink_to(tmp_path / "elsewhere")
    (found,) = diffs(changes, pair.sides)
    assert found.shows is Shows.UNREADABLE


def test_a_fifo_in_the_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    pair = Pair(tmp_path, {}, {"x": b"fine"})
    changes = pair.changes()
    (pair.upper / "x").unlink()
    os.mkfifo(pair.upper / "x")
    (found,) = diffs(changes, pair.sides)
    assert found.shows is Shows.UNREADABLE


def test_a_workspace_that_went_on_changing_is_said_to_have(tmp_path: Path) -> None:
    pair = Pair(tmp_path, {"x": b"old\n"}, {"x": b"new\n"})
    changes = pair.changes()
    (pair.workspace / "x").write_bytes(b"newer\n")
    (found,) = diffs(changes, pair.sides)
    assert found.stale


def test_reading_leaves_no_access_time_behind(tmp_path: Path) -> None:
    pair = Pair(tmp_path, {"x": b"old\n"}, {"x": b"new\n"})
    os.utime(pair.workspace / "x", ns=(1_000, 2_000_000))
    list(diffs(pair.changes(), pair.sides))
    assert (pair.workspace / "x").stat().st_atime_ns == 1_000
