"""What is kept for its owner alone is used by nobody else, and a key is made once."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from redoma.base.private_file import Key, KeyPlace, is_own_file, key_place, make_directory
from redoma.model.errors import UsageError, VaultError, WrongKey
from tests.unit.conftest import install_keyring

FILE, CHAIN = KeyPlace.FILE, KeyPlace.KEYCHAIN
KEY = Key(
    file="the.key",
    service="redoma test",
    fails=VaultError,
    lost=WrongKey,
    hint="put it back: mv {directory} {directory}.old",
)


def test_a_key_is_made_once_and_only_its_owner_can_open_it(tmp_path: Path) -> None:
    made = KEY.existing_or_new(FILE, str(tmp_path))
    assert KEY.existing_or_new(FILE, str(tmp_path)) == KEY.existing(FILE, str(tmp_path)) == made
    assert len(made) == 32
    assert [(p.name, p.stat().st_mode & 0o777) for p in tmp_path.iterdir()] == [("the.key", 0o600)]


def test_a_keychain_keeps_the_key_of_each_directory_and_no_file_does(
    tmp_path: Path, keychain: dict[tuple[str, str], str]
) -> None:
    made = KEY.existing_or_new(CHAIN, str(tmp_path))
    assert KEY.existing(CHAIN, str(tmp_path)) == made
    assert keychain == {("redoma test", str(tmp_path)): made.hex()}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("keychain")
@pytest.mark.parametrize("place", [FILE, CHAIN])
def test_a_key_that_is_gone_is_an_error_with_the_next_step(tmp_path: Path, place: KeyPlace) -> None:
    with pytest.raises(WrongKey, match="is gone") as caught:
        KEY.existing(place, str(tmp_path))
    assert caught.value.hint == f"put it back: mv {tmp_path} {tmp_path}.old"


@pytest.mark.parametrize("kept", ["", "5a" * 31, "no hexadecimal"])
def test_what_is_no_key_is_not_used(
    tmp_path: Path, keychain: dict[tuple[str, str], str], kept: str
) -> None:
    keychain["redoma test", str(tmp_path)] = kept
    (tmp_path / "the.key").touch(mode=0o600)
    (tmp_path / "the.key").write_text(kept)
    for place in KeyPlace:
        with pytest.raises(WrongKey, match="not a key"):
            KEY.existing_or_new(place, str(tmp_path))


def test_a_key_in_a_place_that_is_not_ours_alone_is_not_used(tmp_path: Path) -> None:
    key = tmp_path / "the.key"
    KEY.existing_or_new(FILE, str(tmp_path))
    key.chmod(0o640)
    with pytest.raises(VaultError, match="open to others"):
        KEY.existing(FILE, str(tmp_path))
    key.chmod(0o600)
    os.link(key, tmp_path / "second")
    with pytest.raises(VaultError, match="hard link"):
        KEY.existing(FILE, str(tmp_path))
    key.unlink()
    key.symlink_to(tmp_path / "second")
    with pytest.raises(VaultError, match="symbolic link"):
        KEY.existing_or_new(FILE, str(tmp_path))
    key.unlink()
    os.mkfifo(key, 0o600)
    with pytest.raises(VaultError, match="not a plain file"):
        KEY.existing_or_new(FILE, str(tmp_path))


def test_a_link_in_the_place_of_the_new_key_is_not_written_through(tmp_path: Path) -> None:
    for name in ("the.key.new", f"the.key.{os.getpid()}-{threading.get_native_id()}.new"):
        (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    KEY.existing_or_new(FILE, str(tmp_path))
    assert not (tmp_path / "elsewhere").exists()
    assert not (tmp_path / "the.key").is_symlink()


@pytest.mark.root
def test_what_belongs_to_someone_else_is_not_used(tmp_path: Path) -> None:
    KEY.existing_or_new(FILE, str(tmp_path))
    os.chown(tmp_path / "the.key", 12345, 12345)
    with pytest.raises(VaultError, match="belongs to uid 12345"):
        KEY.existing(FILE, str(tmp_path))


def test_a_directory_is_made_for_us_alone_and_another_is_not_used(tmp_path: Path) -> None:
    make_directory(str(tmp_path / "one" / "two"), VaultError)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("one", "one/two")] == [0o700] * 2
    (tmp_path / "one").chmod(0o770)
    with pytest.raises(VaultError, match="open to others"):
        make_directory(str(tmp_path / "one"), VaultError)
    (tmp_path / "link").symlink_to(tmp_path / "one" / "two")
    with pytest.raises(VaultError, match="symbolic link"):
        make_directory(str(tmp_path / "link"), VaultError)
    (tmp_path / "file").touch(mode=0o600)
    assert is_own_file(str(tmp_path / "file"), VaultError)
    with pytest.raises(VaultError, match="not a directory"):
        make_directory(str(tmp_path / "file"), VaultError)


def test_without_keyring_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(VaultError) as caught:
        KEY.existing_or_new(CHAIN, str(tmp_path))
    assert "pip install keyring" in caught.value.hint


def test_a_keychain_that_fails_is_an_error_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_: str) -> str:
        raise RuntimeError("locked")

    install_keyring(monkeypatch, "keyring.backends.SecretService", {"get_password": locked})
    with pytest.raises(VaultError, match="RuntimeError: locked"):
        KEY.existing_or_new(CHAIN, str(tmp_path))


def test_the_environment_says_where_a_key_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("A_KEY", raising=False)
    assert key_place("A_KEY") is FILE
    monkeypatch.setenv("A_KEY", "keychain")
    assert key_place("A_KEY") is CHAIN
    monkeypatch.setenv("A_KEY", "pocket")
    with pytest.raises(UsageError, match="A_KEY cannot be 'pocket'"):
        key_place("A_KEY")
