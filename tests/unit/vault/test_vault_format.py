"""A vault that was changed, set back or opened with the wrong key is refused, each by its error."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from redoma.base.private_file import KeyPlace
from redoma.model.errors import (
    RedomaError,
    SecretChanged,
    VaultDowngraded,
    VaultError,
    WrongKey,
    WrongPassphrase,
)
from redoma.model.grant import Secret
from redoma.vault.secret_store import SecretStore

pytestmark = pytest.mark.requirement("S10")
VALUE = "tok-5f2c81d09b7e"
RIGHT = "five words are a good one"


class Person:
    """Who is asked for a passphrase, and how often."""

    def __init__(self, *said: str) -> None:
        self._said = list(said)
        self.asked: list[str] = []

    def known(self, directory: str) -> Secret:
        self.asked.append("known")
        return Secret(self._said.pop(0))

    def chosen(self, directory: str) -> Secret:
        self.asked.append("chosen")
        return Secret(self._said.pop(0))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "vault"


def under_passphrase(place: Path, *said: str) -> SecretStore:
    return SecretStore(str(place), keyed_by=KeyPlace.PASSPHRASE, passphrases=Person(*said))


def change(place: Path, *statements: str) -> None:
    with closing(sqlite3.connect(place / "secrets.db")) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def of_first_version(place: Path, **secrets: str) -> None:
    """A vault as the first version wrote it."""
    place.mkdir(mode=0o700)
    key = os.urandom(32)
    (place / "vault.key").write_bytes(key)
    (place / "vault.key").chmod(0o600)
    (place / "secrets.db").touch(mode=0o600)
    with closing(sqlite3.connect(place / "secrets.db")) as database:
        database.execute(
            "CREATE TABLE secrets (name TEXT PRIMARY KEY, sealed BLOB NOT NULL) STRICT"
        )
        for name, value in secrets.items():
            nonce = os.urandom(12)
            sealed = nonce + AESGCM(key).encrypt(
                nonce, value.encode(), f"redoma vault 1 {name}".encode()
            )
            database.execute("INSERT INTO secrets VALUES (?, ?)", (name, sealed))
        database.execute("PRAGMA user_version = 1")
        database.commit()


def test_a_passphrase_keeps_the_key_and_is_asked_for_once_in_a_process(place: Path) -> None:
    person = Person(RIGHT)
    made = SecretStore(str(place), keyed_by=KeyPlace.PASSPHRASE, passphrases=person)
    made.put("api", Secret(VALUE))
    made.put("other", Secret("another"))
    assert (made.get("api").reveal(), person.asked) == (VALUE, ["chosen"])
    assert [p.name for p in place.iterdir()] == ["secrets.db"]
    later = Person(RIGHT)
    again = SecretStore(str(place), passphrases=later)
    assert [again.get(name).reveal() for name in ("api", "other")] == [VALUE, "another"]
    assert later.asked == ["known"]


def test_a_wrong_passphrase_opens_nothing_and_seals_nothing(place: Path) -> None:
    under_passphrase(place, RIGHT).put("api", Secret(VALUE))
    with pytest.raises(WrongPassphrase):
        under_passphrase(place, "another").get("api")
    with pytest.raises(WrongPassphrase):
        under_passphrase(place, "another").put("api", Secret("x"))
    with pytest.raises(WrongPassphrase):
        under_passphrase(place, "another", RIGHT).rotate()
    assert under_passphrase(place, RIGHT).get("api").reveal() == VALUE


@pytest.mark.parametrize("table", ["secrets", "vault"])
def test_a_byte_that_was_flipped_is_found_wherever_it_is(place: Path, table: str) -> None:
    store = SecretStore(str(place))
    store.put("api", Secret(VALUE))
    column = "sealed" if table == "secrets" else "proof"
    with closing(sqlite3.connect(place / "secrets.db")) as database:
        (sealed,) = database.execute(f"SELECT {column} FROM {table}").fetchone()
        expected = SecretChanged if table == "secrets" else WrongKey
        for at in range(len(sealed)):
            flipped = bytearray(sealed)
            flipped[at] ^= 1
            database.execute(f"UPDATE {table} SET {column} = ?", (bytes(flipped),))
            database.commit()
            with pytest.raises(expected):
                store.get("api")


def test_a_secret_of_another_vault_is_not_taken(place: Path, tmp_path: Path) -> None:
    store = SecretStore(str(place))
    store.put("api", Secret(VALUE))
    other = SecretStore(str(tmp_path / "other"))
    other.put("api", Secret("another"))
    with closing(sqlite3.connect(tmp_path / "other" / "secrets.db")) as database:
        (sealed,) = database.execute("SELECT sealed FROM secrets").fetchone()
    with closing(sqlite3.connect(place / "secrets.db")) as database:
        database.execute("UPDATE secrets SET sealed = ?", (sealed,))
        database.commit()
    with pytest.raises(SecretChanged):
        store.get("api")


@pytest.mark.parametrize(
    "statement",
    [
        "PRAGMA user_version = 1",
        "DELETE FROM vault",
        "UPDATE vault SET header = replace(header, '\"version\": 2', '\"version\": 1')",
    ],
)
def test_a_version_that_is_set_back_is_refused(place: Path, statement: str) -> None:
    store = SecretStore(str(place))
    store.put("api", Secret(VALUE))
    change(place, statement)
    for use in (lambda: store.get("api"), lambda: store.put("b", Secret("x")), store.rotate):
        with pytest.raises(VaultDowngraded) as caught:
            use()
        assert caught.value.hint


def test_an_old_vault_that_is_put_back_is_refused(place: Path, tmp_path: Path) -> None:
    of_first_version(place, api="old")
    before = (place / "secrets.db").read_bytes()
    store = SecretStore(str(place))
    store.put("api", Secret(VALUE))
    (place / "secrets.db").write_bytes(before)
    with pytest.raises(VaultDowngraded):
        store.get("api")


def test_a_vault_of_the_first_version_is_read_and_is_sealed_anew_by_who_writes(place: Path) -> None:
    of_first_version(place, api=VALUE, other="another")
    store = SecretStore(str(place))
    assert (store.names(), store.get("api").reveal()) == (("api", "other"), VALUE)
    assert (place / "vault.key").exists()
    store.put("third", Secret("x"))
    assert not (place / "vault.key").exists()
    assert [store.get(name).reveal() for name in store.names()] == [VALUE, "another", "x"]


def test_an_old_secret_that_was_changed_stops_what_would_seal_it_anew(place: Path) -> None:
    of_first_version(place, api=VALUE, other="another")
    change(place, "UPDATE secrets SET sealed = zeroblob(40) WHERE name = 'other'")
    store = SecretStore(str(place))
    with pytest.raises(WrongKey):
        store.put("third", Secret("x"))
    assert store.get("api").reveal() == VALUE


def test_a_newer_version_is_left_alone(place: Path) -> None:
    store = SecretStore(str(place))
    store.put("api", Secret(VALUE))
    change(place, "PRAGMA user_version = 3")
    with pytest.raises(VaultError, match="version 3"):
        store.get("api")


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("memory_kib", 8, VaultDowngraded),
        ("passes", 1, VaultDowngraded),
        ("memory_kib", 1 << 40, VaultError),
        ("salt", "00" * 16, WrongPassphrase),
        ("passes", "many", VaultError),
    ],
)
def test_the_work_of_a_passphrase_cannot_be_set_back(
    place: Path, field: str, value: object, error: type[RedomaError]
) -> None:
    under_passphrase(place, RIGHT).put("api", Secret(VALUE))
    with closing(sqlite3.connect(place / "secrets.db")) as database:
        header = json.loads(database.execute("SELECT header FROM vault").fetchone()[0])
        header["argon2id"][field] = value
        database.execute("UPDATE vault SET header = ?", (json.dumps(header, sort_keys=True),))
        database.commit()
    with pytest.raises(error):
        under_passphrase(place, RIGHT).get("api")


def test_a_key_that_has_to_be_elsewhere_is_not_taken_from_where_the_vault_says(place: Path) -> None:
    SecretStore(str(place), keyed_by=KeyPlace.FILE).put("api", Secret(VALUE))
    pinned = SecretStore(str(place), keyed_by=KeyPlace.KEYCHAIN)
    with pytest.raises(VaultError, match="kept by file") as caught:
        pinned.get("api")
    assert caught.value.hint == "redoma vault rotate --key keychain"
