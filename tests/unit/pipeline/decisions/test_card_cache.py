"""Cards lie in one file and are read one by one; what is found is what was made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from redoma.pipeline.decisions.knowledge import CardCache

CARDS = {"git": b"one", "hub": b"one", "ls": b"another", "ls-é": b"", "g": b"x" * 5000}


class Maker:
    """Makes cards, and counts how often it had to."""

    def __init__(self, cards: dict[str, bytes] = CARDS) -> None:
        self.made = 0
        self._cards = cards

    def __call__(self) -> dict[str, bytes]:
        self.made += 1
        return dict(self._cards)


def everything(cache: CardCache) -> dict[str, bytes | None]:
    asked = (*CARDS, "it", "gi", "l", "", "ls\0", "a\nb", "0", "\udcff")
    return {name: card for name in asked if (card := cache.find(name)) is not None}


def test_every_card_is_found_by_its_name_and_by_no_other(tmp_path: Path) -> None:
    maker = Maker()
    place = [str(tmp_path / "deep/cards")]
    assert everything(CardCache((1,), place, maker)) == CARDS
    assert everything(CardCache((1,), place, maker)) == CARDS
    assert maker.made == 1


def test_cards_of_another_stamp_are_made_anew(tmp_path: Path) -> None:
    place = [str(tmp_path / "cards")]
    CardCache((1,), place, Maker())
    newer = Maker({"git": b"newer"})
    assert CardCache((2,), place, newer).find("git") == b"newer"
    assert newer.made == 1


@pytest.mark.parametrize("rubbish", [b"", b"rubbish" * 9, bytes(64), b"\xff" * 64])
def test_a_broken_file_is_made_anew(tmp_path: Path, rubbish: bytes) -> None:
    place = tmp_path / "cards"
    place.write_bytes(rubbish)
    assert everything(CardCache((1,), [str(place)], Maker())) == CARDS
    assert place.read_bytes() != rubbish


def test_cards_that_were_replaced_or_removed_meanwhile_are_never_mixed(tmp_path: Path) -> None:
    place = tmp_path / "cards"
    cache = CardCache((1,), [str(place)], Maker())
    assert cache.find("git") == b"one"
    place.unlink()
    CardCache((2,), [str(place)], Maker({"a": b"y" * 9000, "git": b"two"}))
    assert cache.find("git") == b"one"
    place.unlink()
    assert cache.find("ls") == b"another"


def test_where_nothing_can_be_kept_cards_are_found_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    maker = Maker()
    cache = CardCache((1,), [str(tmp_path / "file/cards")], maker)
    assert everything(cache) == CARDS
    assert maker.made == 1


@pytest.mark.root
def test_cards_of_another_user_are_not_believed(tmp_path: Path) -> None:
    place = tmp_path / "cards"
    CardCache((1,), [str(place)], Maker({"git": b"theirs"}))
    os.chown(place, 12345, 12345)
    assert CardCache((1,), [str(place)], Maker()).find("git") == b"one"
