"""The cache gives back what was kept, under its stamp, and nothing that somebody else put there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from redoma.base import cache


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "below/it"


def test_a_value_comes_back_under_its_stamp_and_under_no_other(place: Path) -> None:
    assert cache.keep(str(place), ("v1", 7), ["a", (1, 2.5, None)])
    assert cache.read(str(place), ("v1", 7)) == ["a", (1, 2.5, None)]
    assert cache.read(str(place), ("v1", 8)) is None


@pytest.mark.parametrize("rubbish", [b"", b"rubbish", b"N", b"\xa9\x02", bytes(64)])
def test_what_is_damaged_is_nothing(place: Path, rubbish: bytes) -> None:
    cache.keep(str(place), 1, "a")
    place.write_bytes(rubbish)
    assert cache.read(str(place), 1) is None


def test_a_link_a_pipe_and_what_others_can_write_are_not_believed(
    place: Path, tmp_path: Path
) -> None:
    cache.keep(str(place), 1, "a")
    link = tmp_path / "link"
    link.symlink_to(place)
    assert cache.read(str(link), 1) is None
    os.mkfifo(tmp_path / "pipe")
    assert cache.read(str(tmp_path / "pipe"), 1) is None
    place.chmod(0o666)
    assert cache.read(str(place), 1) is None


@pytest.mark.root
def test_what_another_user_put_there_is_not_believed(place: Path) -> None:
    cache.keep(str(place), 1, "a")
    os.chown(place, 12345, 12345)
    assert cache.read(str(place), 1) is None


def test_a_place_that_cannot_be_written_only_costs_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not cache.keep(str(tmp_path / "file/below"), 1, "a")
