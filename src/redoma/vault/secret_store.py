"""Keeps secrets by name in one database, encrypted, under a key that lies elsewhere.

`vault_format` has the form of what is sealed, `key_homes` the places of the key. A key file keeps
secrets from other users and from what runs in a sandbox; from a program of the same user outside
of one, only a keychain or a passphrase does. A key that is lost is never replaced in silence: what
it sealed would be lost with it, and nobody would know.
"""

from __future__ import annotations

import os
import re
from contextlib import closing, contextmanager, suppress
from itertools import count

from redoma.base import core_dumps
from redoma.base.log import logger
from redoma.base.private_file import KeyPlace, is_own_directory, is_own_file, make_directory
from redoma.model.errors import (
    UnknownToken,
    UsageError,
    VaultDowngraded,
    VaultError,
    WrongKey,
)
from redoma.model.grant import Secret
from redoma.vault.key_homes import ANEW, FIRST_KEY_FILE, KeyHomes
from redoma.vault.vault_format import (
    VERSION,
    VaultHeader,
    VaultKey,
    first_version,
    new_key,
    read_header,
    refuse_other_versions,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from sqlite3 import Connection
    from typing import TypeAlias

    from redoma.vault.key_homes import Passphrases

    # A row's name and what is sealed in it, to its secret.
    Opener: TypeAlias = Callable[[str, bytes], Secret]

log = logger(__name__)
FILE = "secrets.db"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}\Z")
_LONGEST = 1 << 16
_MOST = 1000
_PATIENCE = 10.0
_TABLES = (
    "CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, sealed BLOB NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS vault (id INTEGER PRIMARY KEY CHECK (id = 1),"
    " header TEXT NOT NULL, proof BLOB NOT NULL, wrapped BLOB NOT NULL) STRICT",
)


class NoPassphrase:
    """Nobody is there to be asked."""

    def known(self, directory: str) -> Secret:
        raise VaultError(f"nobody can be asked for the passphrase of {directory}")

    chosen = known


class SecretStore:
    """The secrets of one directory."""

    def __init__(
        self,
        directory: str,
        *,
        keyed_by: KeyPlace | None = None,
        passphrases: Passphrases | None = None,
    ) -> None:
        """`keyed_by` is where the key has to be; without it, where the vault says, or in a file."""
        self._directory = directory
        self._path = os.path.join(directory, FILE)
        self._keyed_by = keyed_by
        self._homes = KeyHomes(directory, passphrases or NoPassphrase())
        self._key: VaultKey | None = None

    def names(self) -> tuple[str, ...]:
        """What is kept, by name."""
        if not self._is_there():
            return ()
        with self._opened() as database:
            rows = database.execute("SELECT name FROM secrets ORDER BY name").fetchall()
        return tuple(str(name) for (name,) in rows)

    def get(self, name: str) -> Secret:
        """A secret; UnknownToken where there is none, WrongKey where it cannot be opened."""
        core_dumps.none_from_now_on()
        found = None
        if self._is_there():
            with self._opened() as database:
                # Who reads holds the database: a rotation forgets the old key only after that.
                database.execute("BEGIN")
                asked = "SELECT sealed FROM secrets WHERE name = ?"
                row = database.execute(asked, (name,)).fetchone()
                found = None if row is None else self._opening(database)(name, bytes(row[0]))
        if found is None:
            raise UnknownToken(f"the vault has no secret {name!r}", hint=f"redoma vault set {name}")
        log.info("the secret %s is opened", name)
        return found

    def put(self, name: str, secret: Secret) -> None:
        """Keeps a secret under a name, in the place of one that was there."""
        if not _NAME.match(name):
            raise UsageError(
                f"{name!r} is no name for a secret", hint="letters, digits, and _ . - after them"
            )
        if not 0 < len(secret.reveal()) <= _LONGEST:
            raise UsageError(f"a secret has 1 to {_LONGEST} characters")
        core_dumps.none_from_now_on()
        make_directory(self._directory, VaultError)
        with self._opened() as database:
            database.execute("BEGIN IMMEDIATE")  # one at a time makes the key, or a secret
            others = database.execute("SELECT count(*) FROM secrets WHERE name != ?", (name,))
            if others.fetchone()[0] >= _MOST:
                raise VaultError(f"the vault holds {_MOST} secrets already")
            if _header(database) is None:
                self._seal_anew(database, self._place(database))  # new, or of the first version
                database.execute("BEGIN IMMEDIATE")
            sealed = self._vault_key(database).seal(name, secret)
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

    def place(self) -> KeyPlace | None:
        """Where the key of the vault is; None where there is no vault."""
        if not self._is_there():
            return None
        with self._opened() as database:
            return self._place(database)

    def rotate(self, place: KeyPlace | None = None) -> tuple[KeyPlace, int]:
        """Seals everything anew with a new key, kept in `place`; where it is, and how many.

        Killed at any moment it leaves a vault that opens: the new key lies beside the old one
        before the database, in one transaction, says that it is the one.
        """
        core_dumps.none_from_now_on()
        if not self._is_there():
            raise VaultError("there is no vault whose key could change", hint="redoma vault set")
        with self._opened() as database:
            database.execute("BEGIN IMMEDIATE")
            if place is not None and _header(database) is not None:
                self._keyed_by = None  # from wherever it is
            wanted = place or self._place(database)
            number = self._seal_anew(database, wanted)
        log.info("the vault has a new key: %s", wanted.value)
        return wanted, number

    def reset(self) -> tuple[str, tuple[str, ...]]:
        """Begins anew; says where what was kept lies now, still sealed, and its names.

        Nothing is thrown away: a key that was lost may be found. A key in the keychain stays.
        """
        if not self._is_there():
            raise VaultError("there is no vault to begin anew", hint="redoma vault set NAME")
        self._key = None
        with self._opened(trusting=False) as database:
            database.execute("BEGIN IMMEDIATE")
            rows = database.execute("SELECT name, sealed FROM secrets ORDER BY name").fetchall()
            said = database.execute("SELECT * FROM vault").fetchall()
            aside = _new_directory(f"{self._directory}/old")
            with SecretStore(aside)._opened() as old:
                old.executemany("INSERT INTO secrets VALUES (?, ?)", rows)
                old.executemany("INSERT INTO vault VALUES (?, ?, ?, ?)", said)
                if rows and not said:
                    old.execute("DROP TABLE vault")  # of the first version, as it was
                    old.execute("PRAGMA user_version = 1")
            database.execute("DELETE FROM secrets")
            database.execute("DELETE FROM vault")
            database.execute(f"PRAGMA user_version = {VERSION}")
            for path in self._homes.files():
                os.rename(path, f"{aside}/{os.path.basename(path)}")
            database.execute("COMMIT")
        return aside, tuple(str(name) for name, _ in rows)

    def _place(self, database: Connection) -> KeyPlace:
        """Where the key is, or is to be; an error where the caller wants it elsewhere."""
        header = _header(database)
        if header is None:
            return self._keyed_by or KeyPlace.FILE
        if self._keyed_by not in (None, header.place):
            assert self._keyed_by is not None
            raise VaultError(
                f"the vault's key is to be found by {self._keyed_by.value}, and it is kept by"
                f" {header.place.value}",
                hint=f"redoma vault rotate --key {self._keyed_by.value}",
            )
        return header.place

    def _opening(self, database: Connection) -> Opener:
        """What opens a row of this database."""
        if _header(database) is not None:
            return self._vault_key(database).open
        key = self._homes.first_key(self._place(database))

        def first(name: str, sealed: bytes) -> Secret:
            found = first_version(name, key, sealed)
            if found is None:
                raise WrongKey(
                    f"the secret {name!r} was sealed with another key, or was changed",
                    hint=f"redoma vault set {name}",
                )
            return found

        return first

    def _vault_key(self, database: Connection) -> VaultKey:
        header, proof, sealed = database.execute(
            "SELECT header, proof, wrapped FROM vault"
        ).fetchone()
        self._place(database)
        known = self._key
        if known is None or known.header.text != header or not known.fits(bytes(proof)):
            said = read_header(str(header))
            known = VaultKey(said, self._homes.key(said, bytes(sealed)))
            if not known.fits(bytes(proof)):
                raise WrongKey(
                    f"the key opens no secret of the vault in {self._directory}", hint=ANEW
                )
            self._remember(known)
        return known

    def _remember(self, key: VaultKey) -> None:
        """A key that was made from a passphrase stays open, so that it is asked for once."""
        self._key = key if key.header.place is KeyPlace.PASSPHRASE else None

    def _seal_anew(self, database: Connection, place: KeyPlace) -> int:
        """Everything under a new key, in the transaction that has begun; how many there are."""
        before = _header(database)
        rows = database.execute("SELECT name, sealed FROM secrets").fetchall()
        secrets: list[tuple[str, Secret]] = []
        if rows:
            opens = self._opening(database)
            secrets = [(str(name), opens(str(name), bytes(sealed))) for name, sealed in rows]
        for table in _TABLES:
            database.execute(table)
        header = VaultHeader.new(place, before.vault if before is not None else "")
        key = new_key()
        made = VaultKey(header, key)
        wrapped = self._homes.keep(header, key)
        database.executemany(
            "UPDATE secrets SET sealed = ? WHERE name = ?",
            [(made.seal(name, secret), name) for name, secret in secrets],
        )
        database.execute(
            "INSERT OR REPLACE INTO vault VALUES (1, ?, ?, ?)", (header.text, made.proof(), wrapped)
        )
        database.execute(f"PRAGMA user_version = {VERSION}")
        database.execute("COMMIT")
        # From here on the old key seals nothing.
        self._remember(made)
        self._homes.forget_files(header)
        if before is not None:
            self._homes.forget(before)
        elif rows:
            self._homes.forget_first(self._keyed_by or KeyPlace.FILE)
        return len(rows)

    def _is_there(self) -> bool:
        is_own_directory(self._directory, VaultError)
        return is_own_file(self._path, VaultError)

    @contextmanager
    def _opened(self, *, trusting: bool = True) -> Iterator[Connection]:
        """The database; with `trusting` it is one whose version is what it has been."""
        import sqlite3

        self._make_file()
        try:
            made = sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None)
            with closing(made) as database:
                database.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten
                version = database.execute("PRAGMA user_version").fetchone()[0]
                if version == 0:
                    database.execute(f"PRAGMA user_version = {VERSION}")
                if trusting:
                    self._refuse_other_versions(database, int(version) or VERSION)
                for table in _TABLES if version != 1 or not trusting else ():
                    database.execute(table)
                yield database
        except (sqlite3.Error, OSError) as error:
            raise VaultError(f"the vault in {self._directory} cannot be used: {error}") from error

    def _refuse_other_versions(self, database: Connection, version: int) -> None:
        """A vault of the first version is read where it has never been another."""
        if version != 1:
            refuse_other_versions(version)
            return
        later = "SELECT name FROM sqlite_master WHERE name = 'vault'"
        keys = [p for p in self._homes.files() if os.path.basename(p) != FIRST_KEY_FILE]
        if database.execute(later).fetchone() is not None or keys:
            refuse_other_versions(version)

    def _make_file(self) -> None:
        """SQLite would make it for others to read, by the umask."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        if not self._is_there():
            with suppress(FileExistsError):
                os.close(os.open(self._path, flags, 0o600))


def _header(database: Connection) -> VaultHeader | None:
    """What the vault says of itself; None for a new one, and one of the first version."""
    later = "SELECT name FROM sqlite_master WHERE name = 'vault'"
    if database.execute(later).fetchone() is None:
        return None
    row = database.execute("SELECT header FROM vault").fetchone()
    if row is None and database.execute("SELECT count(*) FROM secrets").fetchone()[0]:
        raise VaultDowngraded(
            "the vault has secrets, and does not say which key seals them",
            hint="put a copy of it back, or begin anew: redoma vault reset",
        )
    return None if row is None else read_header(str(row[0]))


def _new_directory(stem: str) -> str:
    for number in count(1):
        with suppress(FileExistsError):
            os.mkdir(f"{stem}-{number}", 0o700)
            break
    return f"{stem}-{number}"
