"""A new key seals everything anew; whoever is killed meanwhile leaves a vault that opens."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from types import FrameType

import pytest

from redoma.base.private_file import KeyPlace
from redoma.model.errors import NoKeychain, VaultError, WrongKey
from redoma.model.grant import Secret
from redoma.vault import key_homes, secret_store, vault_format
from redoma.vault.secret_store import SecretStore

pytestmark = pytest.mark.requirement("S10")
SECRETS = {f"name{number}": f"tok-{number:04d}-5f2c81d0" for number in range(5)}
PASSPHRASE = "five words are a good one"
FILE, CHAIN, PHRASE = KeyPlace.FILE, KeyPlace.KEYCHAIN, KeyPlace.PASSPHRASE
OURS = {module.__file__ for module in (secret_store, key_homes, vault_format)}


class Person:
    """Who always says the same passphrase."""

    def known(self, directory: str) -> Secret:
        return Secret(PASSPHRASE)

    chosen = known


def store(place: Path) -> SecretStore:
    return SecretStore(str(place), passphrases=Person())


def filled(place: Path) -> SecretStore:
    made = store(place)
    for name, value in SECRETS.items():
        made.put(name, Secret(value))
    return made


def contents(place: Path) -> dict[str, str]:
    opened = store(place)
    return {name: opened.get(name).reveal() for name in opened.names()}


def sealed(place: Path) -> set[bytes]:
    with closing(sqlite3.connect(place / "secrets.db")) as database:
        return {bytes(row[0]) for row in database.execute("SELECT sealed FROM secrets")}


@pytest.mark.parametrize("before", [FILE, CHAIN, PHRASE])
@pytest.mark.parametrize("after", [None, FILE, CHAIN, PHRASE])
def test_everything_is_sealed_anew_and_the_old_key_is_gone(
    tmp_path: Path,
    keychain: dict[tuple[str, str], str],
    before: KeyPlace,
    after: KeyPlace | None,
) -> None:
    place = tmp_path / "vault"
    filled(place).rotate(before)
    was, keys = sealed(place), {*place.glob("*.key"), *keychain}
    assert store(place).rotate(after) == (after or before, len(SECRETS))
    assert not was & sealed(place)
    assert not keys & {*place.glob("*.key"), *keychain}
    assert (len(list(place.glob("*.key"))), len(keychain)) == (
        int((after or before) is FILE),
        int((after or before) is CHAIN),
    )
    assert contents(place) == SECRETS


def test_an_old_key_opens_nothing_that_was_sealed_anew(tmp_path: Path) -> None:
    place = tmp_path / "vault"
    filled(place)
    (old,) = place.glob("*.key")
    stolen = old.read_bytes()
    store(place).rotate()
    (new,) = place.glob("*.key")
    new.write_bytes(stolen)
    with pytest.raises(WrongKey):
        contents(place)


def test_a_rotation_that_cannot_keep_its_key_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "vault"
    filled(place)
    was = sealed(place)
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(NoKeychain):
        store(place).rotate(CHAIN)
    assert (sealed(place), contents(place)) == (was, SECRETS)


def test_a_vault_that_is_not_there_has_no_key_to_change(tmp_path: Path) -> None:
    with pytest.raises(VaultError, match="no vault"):
        store(tmp_path / "vault").rotate()


def rotate_and_die_at(place: Path, line: int) -> bool:
    """Rotates in a process that is killed at its nth line of ours; whether it was."""
    child = os.fork()
    if not child:
        left = line

        def count(frame: FrameType, event: str, _argument: object) -> object:
            nonlocal left
            if frame.f_code.co_filename not in OURS:
                return None
            left -= event == "line"
            if left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return count

        opened = store(place)
        sys.settrace(count)  # type: ignore[arg-type]
        opened.rotate()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def test_whoever_is_killed_at_any_line_of_a_rotation_loses_no_secret(tmp_path: Path) -> None:
    place = tmp_path / "vault"
    filled(place)
    kept = tmp_path / "kept"
    shutil.copytree(place, kept)
    line, seen = 1, set()
    while True:
        shutil.rmtree(place)
        shutil.copytree(kept, place)
        if not rotate_and_die_at(place, line):
            break
        seen.add(len(list(place.glob("*.key"))))
        assert contents(place) == SECRETS, line
        store(place).put("later", Secret("kept after the crash"))
        store(place).rotate()
        assert contents(place) == {**SECRETS, "later": "kept after the crash"}, line
        assert len(list(place.glob("*.key"))) == 1, line
        line += 1 if line < 40 else 3
    assert line > 60
    assert seen == {1, 2}  # it was killed before, between and after


def test_whoever_reads_while_the_key_changes_reads_what_is_kept(tmp_path: Path) -> None:
    place = tmp_path / "vault"
    filled(place)
    child = os.fork()
    if not child:
        opened = store(place)
        for _ in range(25):
            opened.rotate()
        os._exit(0)
    rounds = 0
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        assert contents(place) == SECRETS
        rounds += 1
    assert rounds
