"""Cards and packs are read once, kept compiled, and remade when a source changes."""

from __future__ import annotations

import marshal
import os
from pathlib import Path

import pytest

from redoma.pipeline.decisions import knowledge


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "cards"
    made.mkdir()
    (made / "one.yaml").write_text("frob: {operands: read}\n")
    return made


def compiled(folder: Path, counted: list[int]) -> object:
    def read(files: list[dict[str, str]]) -> object:
        counted.append(1)
        return knowledge.documents(files[0])

    return knowledge._compiled("cards", [str(folder)], read)


def test_the_second_reading_comes_from_what_was_kept(folder: Path) -> None:
    counted: list[int] = []
    first, second = compiled(folder, counted), compiled(folder, counted)
    assert first == second == {"one.yaml": {"frob": {"operands": "read"}}}
    assert counted == [1]


def test_a_changed_source_is_read_again(folder: Path) -> None:
    counted: list[int] = []
    compiled(folder, counted)
    (folder / "one.yaml").write_text("frob: {operands: delete}\n")
    assert compiled(folder, counted) == {"one.yaml": {"frob": {"operands": "delete"}}}
    assert counted == [1, 1]


def test_a_new_source_is_read_too(folder: Path) -> None:
    counted: list[int] = []
    compiled(folder, counted)
    (folder / "two.yaml").write_text("nick: {}\n")
    assert compiled(folder, counted) == {
        "one.yaml": {"frob": {"operands": "read"}},
        "two.yaml": {"nick": {}},
    }


@pytest.mark.parametrize("rubbish", [b"", b"rubbish", marshal.dumps(None), marshal.dumps((1, 2))])
def test_a_broken_copy_is_remade(folder: Path, rubbish: bytes) -> None:
    counted: list[int] = []
    compiled(folder, counted)
    kept = next((folder / "__pycache__").glob("*.compiled"))
    kept.write_bytes(rubbish)
    assert compiled(folder, counted) == {"one.yaml": {"frob": {"operands": "read"}}}
    assert counted == [1, 1]


@pytest.mark.both_users
@pytest.mark.not_root
def test_a_package_that_cannot_be_written_is_kept_in_the_users_cache(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder.chmod(0o555)
    counted: list[int] = []
    assert compiled(folder, counted) == compiled(folder, counted)
    assert counted == [1]
    assert list((tmp_path / "cache").rglob("cards.compiled"))


@pytest.mark.root
def test_a_copy_that_belongs_to_another_user_is_not_believed(folder: Path) -> None:
    counted: list[int] = []
    compiled(folder, counted)
    kept = next((folder / "__pycache__").glob("*.compiled"))
    os.chown(kept, 12345, 12345)
    compiled(folder, counted)
    assert counted == [1, 1]
