"""Secrets are kept by name, sealed, and given back to nobody who cannot open them."""

from __future__ import annotations

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from redoma.base.private_file import KeyPlace
from redoma.model.errors import SecretChanged, UnknownToken, UsageError, VaultError, WrongKey
from redoma.model.grant import Secret
from redoma.vault.secret_store import SecretStore

pytestmark = pytest.mark.requirement("S10")
VALUE = "tok-5f2c81d09b7e"


@pytest.fixture
def vault(tmp_path: Path) -> SecretStore:
    return SecretStore(str(tmp_path / "vault"), keyed_by=KeyPlace.FILE)


def key_of(place: Path) -> Path:
    (found,) = place.glob("*.key")
    return found


def test_a_secret_is_given_back_as_it_was_kept(vault: SecretStore) -> None:
    vault.put("api", Secret(VALUE))
    vault.put("other", Secret("ä ö"))
    assert vault.names() == ("api", "other")
    assert (vault.get("api").reveal(), vault.get("other").reveal()) == (VALUE, "ä ö")


def test_a_secret_can_be_replaced_and_forgotten(vault: SecretStore) -> None:
    vault.put("api", Secret("old"))
    vault.put("api", Secret(VALUE))
    assert vault.get("api").reveal() == VALUE
    vault.remove("api")
    assert vault.names() == ()
    with pytest.raises(UnknownToken):
        vault.get("api")
    with pytest.raises(UnknownToken):
        vault.remove("api")


def test_nothing_on_the_disk_shows_a_secret_and_nobody_else_can_open_it(
    vault: SecretStore, tmp_path: Path
) -> None:
    vault.put("api", Secret(VALUE))
    place = tmp_path / "vault"
    assert {p.name: p.stat().st_mode & 0o777 for p in place.iterdir()} == {
        "secrets.db": 0o600,
        key_of(place).name: 0o600,
    }
    assert place.stat().st_mode & 0o777 == 0o700
    assert all(VALUE.encode() not in p.read_bytes() for p in place.iterdir())


def test_a_secret_that_was_changed_or_exchanged_is_not_opened(
    vault: SecretStore, tmp_path: Path
) -> None:
    vault.put("one", Secret(VALUE))
    vault.put("two", Secret("another"))
    with closing(sqlite3.connect(tmp_path / "vault" / "secrets.db")) as database:
        for old, new in (("one", "three"), ("two", "one"), ("three", "two")):
            database.execute("UPDATE secrets SET name = ? WHERE name = ?", (new, old))
        database.commit()
    for name in ("one", "two"):
        with pytest.raises(SecretChanged):
            vault.get(name)


def test_a_key_in_the_keychain_is_used_where_it_is_asked_for(
    tmp_path: Path, keychain: dict[tuple[str, str], str]
) -> None:
    vault = SecretStore(str(tmp_path / "vault"), keyed_by=KeyPlace.KEYCHAIN)
    vault.put("one", Secret(VALUE))
    assert vault.get("one").reveal() == VALUE
    assert [service for service, _ in keychain] == ["redoma vault"]
    assert [p.name for p in (tmp_path / "vault").iterdir()] == ["secrets.db"]
    keychain.clear()
    with pytest.raises(WrongKey):
        vault.get("one")
    with pytest.raises(WrongKey, match="in the keychain is gone"):
        vault.put("two", Secret(VALUE))
    assert keychain == {}


def test_a_secret_that_is_forgotten_is_overwritten(vault: SecretStore, tmp_path: Path) -> None:
    vault.put("a_name_to_be_found", Secret(VALUE))
    vault.remove("a_name_to_be_found")
    assert b"a_name_to_be_found" not in (tmp_path / "vault" / "secrets.db").read_bytes()


def test_another_key_opens_nothing(vault: SecretStore, tmp_path: Path) -> None:
    vault.put("one", Secret(VALUE))
    key_of(tmp_path / "vault").write_bytes(bytes(32))
    with pytest.raises(WrongKey):
        vault.get("one")
    os.unlink(key_of(tmp_path / "vault"))
    with pytest.raises(WrongKey):
        vault.get("one")


@pytest.mark.parametrize("name", ["one", "two"])
def test_a_key_that_is_lost_is_not_replaced_in_silence(
    vault: SecretStore, tmp_path: Path, name: str
) -> None:
    vault.put("one", Secret(VALUE))
    key = key_of(tmp_path / "vault")
    key.rename(tmp_path / "lost")
    with pytest.raises(WrongKey, match=r"the key .*vault-.*\.key is gone") as caught:
        vault.put(name, Secret("another"))
    assert caught.value.hint.endswith("redoma vault reset")
    assert not key.exists()
    (tmp_path / "lost").rename(key)
    assert (vault.names(), vault.get("one").reveal()) == (("one",), VALUE)


def test_a_key_that_opens_nothing_here_seals_nothing(vault: SecretStore, tmp_path: Path) -> None:
    vault.put("one", Secret(VALUE))
    key_of(tmp_path / "vault").write_bytes(bytes(32))
    with pytest.raises(WrongKey, match="opens no secret") as caught:
        vault.put("two", Secret("another"))
    assert caught.value.hint.endswith("redoma vault reset")
    assert vault.names() == ("one",)


def test_a_vault_whose_key_is_lost_is_begun_anew_and_can_be_put_back(
    vault: SecretStore, tmp_path: Path
) -> None:
    vault.put("one", Secret(VALUE))
    place = tmp_path / "vault"
    key = key_of(place)
    key.rename(tmp_path / "lost")
    assert vault.reset() == (str(place / "old-1"), ("one",))
    assert vault.names() == ()
    vault.put("one", Secret("anew"))
    assert vault.reset() == (str(place / "old-2"), ("one",))
    (tmp_path / "lost").rename(place / "old-1" / key.name)
    kept = [SecretStore(str(place / old), keyed_by=KeyPlace.FILE) for old in ("old-1", "old-2")]
    assert [each.get("one").reveal() for each in kept] == [VALUE, "anew"]
    assert {p.stat().st_mode & 0o777 for p in place.glob("old-*/*")} == {0o600}
    assert all(b"one" not in p.read_bytes() for p in place.iterdir() if p.is_file())


def test_there_is_nothing_to_begin_anew_where_no_vault_is(vault: SecretStore) -> None:
    with pytest.raises(VaultError, match="no vault"):
        vault.reset()


def test_several_who_are_the_first_have_one_key(vault: SecretStore) -> None:
    names = [f"n{number}" for number in range(8)]
    with ThreadPoolExecutor(len(names)) as several:
        list(several.map(lambda name: vault.put(name, Secret(f"{VALUE} {name}")), names))
    assert [vault.get(name).reveal() for name in names] == [f"{VALUE} {name}" for name in names]


def test_a_file_that_others_may_open_is_not_used(vault: SecretStore, tmp_path: Path) -> None:
    vault.put("one", Secret(VALUE))
    os.chmod(tmp_path / "vault" / "secrets.db", 0o644)
    with pytest.raises(VaultError, match="open to others"):
        vault.get("one")


def test_a_link_in_the_place_of_the_file_is_not_followed(
    vault: SecretStore, tmp_path: Path
) -> None:
    vault.put("one", Secret(VALUE))
    file = tmp_path / "vault" / "secrets.db"
    os.rename(file, tmp_path / "moved.db")
    os.symlink(tmp_path / "moved.db", file)
    with pytest.raises(VaultError):
        vault.get("one")


@pytest.mark.parametrize("name", ["", "a b", "../x", "-x", "a" * 200, "x\n"])
def test_a_name_is_plain(vault: SecretStore, name: str) -> None:
    with pytest.raises(UsageError):
        vault.put(name, Secret(VALUE))
