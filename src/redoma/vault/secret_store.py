"""Keeps secrets by name in one database, encrypted; the key lies beside it, or in the keychain.

Each secret is sealed by AES-256-GCM together with its name, so that nobody can exchange two of
them, or change one, without it showing. A file keeps them from other users and from what runs in
a sandbox; from a program of the same user outside of one, only a keychain does. A key that is
lost is never replaced in silence: what it sealed would be lost with it, and nobody would know.
"""

from __future__ import annotations

import os
import re
from contextlib import closing, contextmanager, suppress
from itertools import count

from redoma.base.log import logger
from redoma.base.private_file import Key, is_own_directory, is_own_file, make_directory
from redoma.model.errors import UnknownToken, UsageError, VaultError, WrongKey
from redoma.model.grant import Secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from redoma.base.private_file import KeyPlace

log = logger(__name__)
FILE = "secrets.db"
KEY_FILE = "vault.key"
_ANEW = "put it back, or keep what it sealed aside and begin anew: redoma vault reset"
_KEY = Key(file=KEY_FILE, service="redoma vault", fails=VaultError, lost=WrongKey, hint=_ANEW)
_VERSION = 1
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}\Z")
_NONCE = 12
_LONGEST = 1 << 16
_MOST = 1000
_PATIENCE = 10.0


class SecretStore:
    """The secrets of one directory."""

    def __init__(self, directory: str, *, keyed_by: KeyPlace) -> None:
        self._directory = directory
        self._path = os.path.join(directory, FILE)
        self._keyed_by = keyed_by

    def names(self) -> tuple[str, ...]:
        """What is kept, by name."""
        if not self._is_there():
            return ()
        with self._opened() as database:
            rows = database.execute("SELECT name FROM secrets ORDER BY name").fetchall()
        return tuple(str(name) for (name,) in rows)

    def get(self, name: str) -> Secret:
        """A secret; UnknownToken where there is none, WrongKey where it cannot be opened."""
        row = None
        if self._is_there():
            with self._opened() as database:
                asked = "SELECT sealed FROM secrets WHERE name = ?"
                row = database.execute(asked, (name,)).fetchone()
        if row is None:
            raise UnknownToken(f"the vault has no secret {name!r}", hint=f"redoma vault set {name}")
        cipher = _cipher(_KEY.existing(self._keyed_by, self._directory))
        opened = _unsealed(cipher, name, bytes(row[0]))
        if opened is None:
            raise WrongKey(
                f"the secret {name!r} was sealed with another key, or was changed",
                hint=f"redoma vault set {name}",
            )
        log.info("the secret %s is opened for the gate", name)
        return Secret(opened.decode())

    def put(self, name: str, secret: Secret) -> None:
        """Keeps a secret under a name, in the place of one that was there."""
        if not _NAME.match(name):
            raise UsageError(
                f"{name!r} is no name for a secret", hint="letters, digits, and _ . - after them"
            )
        text = secret.reveal()
        if not text or len(text) > _LONGEST:
            raise UsageError(f"a secret has 1 to {_LONGEST} characters")
        make_directory(self._directory, VaultError)
        with self._opened() as database:
            database.execute("BEGIN IMMEDIATE")  # one at a time makes the key, or a secret
            rows = database.execute("SELECT name, sealed FROM secrets").fetchall()
            others = [(str(other), bytes(sealed)) for other, sealed in rows if other != name]
            if len(others) >= _MOST:
                raise VaultError(f"the vault holds {_MOST} secrets already")
            get = _KEY.existing if rows else _KEY.existing_or_new
            cipher = _cipher(get(self._keyed_by, self._directory))
            if others and all(_unsealed(cipher, *other) is None for other in others):
                raise WrongKey(
                    f"the key opens no secret of the vault in {self._directory}", hint=_ANEW
                )
            nonce = os.urandom(_NONCE)
            sealed = nonce + cipher.encrypt(nonce, text.encode(), _bound(name))
            database.execute("INSERT OR REPLACE INTO secrets VALUES (?, ?)", (name, sealed))
            database.execute("COMMIT")

    def remove(self, name: str) -> None:
        """Forgets a secret."""
        gone = 0
        if self._is_there():
            with self._opened() as database:
                gone = database.execute("DELETE FROM secrets WHERE name = ?", (name,)).rowcount
        if not gone:
            raise UnknownToken(f"the vault has no secret {name!r}", hint="redoma vault list")

    def reset(self) -> tuple[str, tuple[str, ...]]:
        """Begins anew; says where what was kept lies now, still sealed, and its names.

        Nothing is thrown away: a key that was lost may be found. A key in the keychain stays.
        """
        if not self._is_there():
            raise VaultError("there is no vault to begin anew", hint="redoma vault set NAME")
        with self._opened() as database:
            database.execute("BEGIN IMMEDIATE")
            rows = database.execute("SELECT name, sealed FROM secrets ORDER BY name").fetchall()
            aside = _new_directory(f"{self._directory}/old")
            with SecretStore(aside, keyed_by=self._keyed_by)._opened() as old:
                old.executemany("INSERT INTO secrets VALUES (?, ?)", rows)
            database.execute("DELETE FROM secrets")
            with suppress(FileNotFoundError):
                os.rename(f"{self._directory}/{KEY_FILE}", f"{aside}/{KEY_FILE}")
            database.execute("COMMIT")
        return aside, tuple(str(name) for name, _ in rows)

    def _is_there(self) -> bool:
        is_own_directory(self._directory, VaultError)
        return is_own_file(self._path, VaultError)

    @contextmanager
    def _opened(self) -> Iterator[Connection]:
        import sqlite3

        self._make_file()
        try:
            made = sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None)
            with closing(made) as database:
                database.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten
                version = database.execute("PRAGMA user_version").fetchone()[0]
                if version not in (0, _VERSION):
                    raise VaultError(f"the vault in {self._directory} is of another version")
                if version == 0:
                    database.execute(
                        "CREATE TABLE IF NOT EXISTS secrets"
                        " (name TEXT PRIMARY KEY, sealed BLOB NOT NULL) STRICT"
                    )
                    database.execute(f"PRAGMA user_version = {_VERSION}")
                yield database
        except (sqlite3.Error, OSError) as error:
            raise VaultError(f"the vault in {self._directory} cannot be used: {error}") from error

    def _make_file(self) -> None:
        """SQLite would make it for others to read, by the umask."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        if not self._is_there():
            with suppress(FileExistsError):
                os.close(os.open(self._path, flags, 0o600))


def _new_directory(stem: str) -> str:
    for number in count(1):
        with suppress(FileExistsError):
            os.mkdir(f"{stem}-{number}", 0o700)
            break
    return f"{stem}-{number}"


def _unsealed(cipher: AESGCM, name: str, data: bytes) -> bytes | None:
    from cryptography.exceptions import InvalidTag

    try:
        return cipher.decrypt(data[:_NONCE], data[_NONCE:], _bound(name))
    except (InvalidTag, ValueError):
        return None


def _bound(name: str) -> bytes:
    return f"redoma vault {_VERSION} {name}".encode()


def _cipher(secret: bytes) -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise VaultError(
            "the vault needs `cryptography`, which is not installed",
            hint="pip install 'redoma[inspect]'",
        ) from None
    return AESGCM(secret)
