"""Where the key of a vault is kept: in a file, in the keychain, or sealed under a passphrase.

Every key has a name of its own, which the vault's header says. So a new key never replaces the old
one: it is laid beside it, the vault is sealed anew in one transaction of the database, and only
then the old one is forgotten. Whoever is killed in between leaves a key too many, never one too
few.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress

from redoma.base.keychain import Keychain
from redoma.base.private_file import LENGTH, KeyPlace, read_private, write
from redoma.model.errors import VaultError, WrongKey
from redoma.model.grant import Secret
from redoma.vault.vault_format import unwrapped, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from redoma.vault.vault_format import VaultHeader

    class Passphrases(Protocol):
        """Who knows the passphrase of a vault."""

        def known(self, directory: str) -> Secret:
            """The passphrase that the vault of a directory has."""

        def chosen(self, directory: str) -> Secret:
            """The one that it is to have from now on."""


FIRST_KEY_FILE = "vault.key"
"""The key of a vault of the first version: 32 bytes, and no name of its own."""
SERVICE = "redoma vault"
_KEY = re.compile(rf"[0-9a-f]{{{2 * LENGTH}}}\Z")
ANEW = "put it back, or keep what it sealed aside and begin anew: redoma vault reset"


class KeyHomes:
    """The keys of the vault in one directory."""

    def __init__(self, directory: str, passphrases: Passphrases) -> None:
        self._directory = directory
        self._passphrases = passphrases
        self._keychain = Keychain(SERVICE)

    def key(self, header: VaultHeader, sealed: bytes) -> Secret:
        """The key that a header names; WrongKey where it is gone."""
        if header.place is KeyPlace.PASSPHRASE:
            return unwrapped(header, sealed, self._passphrases.known(self._directory))
        if header.place is KeyPlace.FILE:
            return self._from_file(self.file(header))
        return self._from_keychain(self._named(header))

    def first_key(self, place: KeyPlace) -> Secret:
        """The key of a vault of the first version."""
        if place is KeyPlace.KEYCHAIN:
            return self._from_keychain(self._directory)
        return self._from_file(f"{self._directory}/{FIRST_KEY_FILE}")

    def keep(self, header: VaultHeader, key: Secret) -> bytes:
        """Keeps a new key beside the old one; what the database has to keep of it."""
        if header.place is KeyPlace.PASSPHRASE:
            return wrapped(header, key, self._passphrases.chosen(self._directory))
        if header.place is KeyPlace.KEYCHAIN:
            self._keychain.put(self._named(header), key.reveal())
            return b""
        path = self.file(header)
        try:
            write(path, bytes.fromhex(key.reveal()), durable=True)
        except OSError as error:
            raise VaultError(f"the key {path} cannot be written: {error.strerror}") from None
        return b""

    def forget(self, header: VaultHeader) -> None:
        """Forgets a key that seals nothing any more."""
        if header.place is KeyPlace.KEYCHAIN:
            self._keychain.remove(self._named(header))

    def forget_first(self, place: KeyPlace) -> None:
        """The same for the key of a vault of the first version."""
        if place is KeyPlace.KEYCHAIN:
            self._keychain.remove(self._directory)

    def forget_files(self, but: VaultHeader) -> None:
        """Removes every key file that is not the one which seals: a killed rotation leaves one."""
        kept = self.file(but) if but.place is KeyPlace.FILE else ""
        for path in self.files():
            if path != kept:
                with suppress(OSError):
                    _overwrite(path)
                    os.unlink(path)

    def files(self) -> list[str]:
        """Every key file that is here."""
        names = os.listdir(self._directory)
        found = [n for n in names if n.startswith("vault-") and n.endswith(".key")]
        return [f"{self._directory}/{n}" for n in (FIRST_KEY_FILE, *found) if n in names]

    def file(self, header: VaultHeader) -> str:
        """Where a header's key lies, where it lies in a file."""
        return f"{self._directory}/vault-{header.key}.key"

    def _named(self, header: VaultHeader) -> str:
        return f"{header.vault} {header.key}"

    def _from_file(self, path: str) -> Secret:
        data = read_private(path, VaultError, most=LENGTH + 1)
        return _whole(None if data is None else data.hex(), f"the key {path}")

    def _from_keychain(self, name: str) -> Secret:
        where = f"the key for {self._directory} in the keychain"
        return _whole(self._keychain.get(name), where)


def _whole(key: str | None, what: str) -> Secret:
    if key is None:
        raise WrongKey(f"{what} is gone", hint=ANEW)
    if not _KEY.match(key):
        raise WrongKey(f"{what} is not a key of {LENGTH} bytes", hint=ANEW)
    return Secret(key)


def _overwrite(path: str) -> None:
    """What a key was is not left on the disk, as far as a program can tell."""
    fd = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.write(fd, bytes(LENGTH))
        os.fsync(fd)
    finally:
        os.close(fd)
