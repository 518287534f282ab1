"""A file is replaced whole, or stays what it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from redoma.base import private_file


@pytest.mark.parametrize("durable", [False, True])
def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path, durable: bool) -> None:
    place = tmp_path / "it"
    place.write_text("old")
    private_file.write(str(place), "néw", durable=durable)
    assert place.read_text(encoding="utf-8") == "néw"
    assert place.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["it"]


def test_a_write_that_fails_leaves_what_was_there_and_nothing_beside(tmp_path: Path) -> None:
    place = tmp_path / "it"
    place.mkdir()
    with pytest.raises(OSError):
        private_file.write(str(place), b"new")
    assert os.listdir(tmp_path) == ["it"]


def test_a_link_at_the_place_is_replaced_and_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("kept")
    place = tmp_path / "it"
    place.symlink_to(other)
    private_file.write(str(place), b"new")
    assert (other.read_text(), place.is_symlink(), place.read_text()) == ("kept", False, "new")


def test_what_a_dead_process_left_under_our_name_does_not_stop_us(tmp_path: Path) -> None:
    place = tmp_path / "it"
    victim = tmp_path / "victim"
    victim.write_text("kept")
    import threading

    left = tmp_path / f"it.{os.getpid()}-{threading.get_native_id()}.new"
    left.symlink_to(victim)
    private_file.write(str(place), b"new")
    assert (place.read_text(), victim.read_text()) == ("new", "kept")
