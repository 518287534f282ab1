"""Keeps secrets by name in one database, encrypted; the key lies beside it, or in the keychain.

Each secret is sealed by AES-256-GCM together with its name, so that nobody can exchange two of
them, or change one, without it showing. A file keeps them from other users and from what runs in
an enclosure; from a program of the same user outside of one, only a keychain does.
"""

from __future__ import annotations

import os
import re
from contextlib import closing, contextmanager

from redoma.model.errors import UnknownToken, UsageError, VaultError, WrongKey
from redoma.model.secret import Secret
from redoma.vault import files, key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from redoma.vault.key import KeyPlace

FILE = "secrets.db"
_VERSION = 1
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}\Z")
_NONCE = 12
_LONGEST = 1 << 16
_MOST = 1000
_PATIENCE = 10.0


class Tokens:
    """The secrets of one directory."""

    def __init__(self, directory: str, *, keyed_by: KeyPlace) -> None:
        self._directory = directory
        self._path = os.path.join(directory, FILE)
        self._keyed_by = keyed_by

    def names(self) -> tuple[str, ...]:
        """What is kept, by name."""
        if not files.is_there(self._path):
            return ()
        with self._opened() as database:
            rows = database.execute("SELECT name FROM secrets ORDER BY name").fetchall()
        return tuple(str(name) for (name,) in rows)

    def get(self, name: str) -> Secret:
        """A secret; UnknownToken where there is none, WrongKey where it cannot be opened."""
        row = None
        if files.is_there(self._path):
            with self._opened() as database:
                asked = "SELECT sealed FROM secrets WHERE name = ?"
                row = database.execute(asked, (name,)).fetchone()
        if row is None:
            raise UnknownToken(f"the vault has no secret {name!r}", hint=f"redoma vault set {name}")
        data = bytes(row[0])
        cipher = _cipher(key.existing(self._keyed_by, self._directory))
        from cryptography.exceptions import InvalidTag

        try:
            opened = cipher.decrypt(data[:_NONCE], data[_NONCE:], _bound(name))
        except (InvalidTag, ValueError):
            raise WrongKey(
                f"the secret {name!r} was sealed with another key, or was changed",
                hint=f"redoma vault set {name}",
            ) from None
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
        files.prepare(self._directory)
        files.make(self._path)
        files.is_there(self._path)
        with self._opened() as database:
            database.execute("BEGIN IMMEDIATE")  # one at a time makes the key, or a secret
            others = database.execute("SELECT count(*) FROM secrets WHERE name != ?", (name,))
            if others.fetchone()[0] >= _MOST:
                raise VaultError(f"the vault holds {_MOST} secrets already")
            cipher = _cipher(key.existing_or_new(self._keyed_by, self._directory))
            nonce = os.urandom(_NONCE)
            sealed = nonce + cipher.encrypt(nonce, text.encode(), _bound(name))
            database.execute("INSERT OR REPLACE INTO secrets VALUES (?, ?)", (name, sealed))
            database.execute("COMMIT")

    def remove(self, name: str) -> None:
        """Forgets a secret."""
        gone = 0
        if files.is_there(self._path):
            with self._opened() as database:
                gone = database.execute("DELETE FROM secrets WHERE name = ?", (name,)).rowcount
        if not gone:
            raise UnknownToken(f"the vault has no secret {name!r}", hint="redoma vault list")

    @contextmanager
    def _opened(self) -> Iterator[Connection]:
        import sqlite3

        files.prepare(self._directory)
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
        except sqlite3.Error as error:
            raise VaultError(f"the vault in {self._directory} cannot be used: {error}") from error


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
