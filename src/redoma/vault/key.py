"""The key of a vault: 32 random bytes in a 0600 file, or in the system's keychain."""

from __future__ import annotations

import os
from enum import Enum

from redoma.model.errors import VaultError, WrongKey
from redoma.vault import files

LENGTH = 32
FILE = "vault.key"
_SERVICE = "redoma vault"


class KeyPlace(Enum):
    """Where the key is kept."""

    FILE = "file"
    KEYCHAIN = "keychain"


def existing(place: KeyPlace, directory: str) -> bytes:
    """The vault's key; an error where it is gone, since no other opens what is there."""
    found = _found(place, directory)
    if found is None:
        raise WrongKey(
            f"the key of the vault in {directory} is gone from its {place.value}",
            hint="put it back, or set the secrets anew",
        )
    return found


def existing_or_new(place: KeyPlace, directory: str) -> bytes:
    """The key, made where there is none; called by one process at a time."""
    found = _found(place, directory)
    if found is None:
        found = os.urandom(LENGTH)
        if place is KeyPlace.KEYCHAIN:
            _keychain("set_password", directory, found.hex())
        else:
            files.write(f"{directory}/{FILE}", found)
    return found


def _found(place: KeyPlace, directory: str) -> bytes | None:
    if place is KeyPlace.KEYCHAIN:
        said = _keychain("get_password", directory)
        try:
            found = None if said is None else bytes.fromhex(str(said))
        except ValueError:
            found = b""
    else:
        found = files.read(f"{directory}/{FILE}")
    if found is not None and len(found) != LENGTH:
        raise WrongKey(f"what the {place.value} has for {directory} is not a key")
    return found


def _keychain(call: str, directory: str, *more: str) -> object:
    try:
        keyring = __import__("keyring")
    except ImportError:
        raise VaultError(
            "the vault's key is to be in the keychain, and `keyring` is not installed",
            hint="pip install keyring, or keep the key in a file",
        ) from None
    try:
        return getattr(keyring, call)(_SERVICE, directory, *more)
    except Exception as error:  # each backend has errors of its own
        raise VaultError(
            f"the keychain does not answer: {type(error).__name__}",
            hint="unlock it, or keep the key in a file",
        ) from error
