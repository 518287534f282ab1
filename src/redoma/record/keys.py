"""The key of a record: 32 random bytes in a 0600 file, or in the system's keychain.

Who has the key can write a past that verifies. A file keeps it from other users and from what runs
in an enclosure, but not from a program of the same user outside of one.
"""

from __future__ import annotations

import os
from enum import Enum

from redoma.model.errors import RecordUnavailable
from redoma.record.place import KEY

LENGTH = 32
_SERVICE = "redoma audit"


class KeyPlace(Enum):
    """Where the key is kept."""

    FILE = "file"
    KEYCHAIN = "keychain"


def existing(place: KeyPlace, directory: str) -> bytes:
    """The record's key; an error where it is gone, since a new one would hide that."""
    key = _from_file(directory) if place is KeyPlace.FILE else _from_keychain(directory)
    if key is None:
        raise RecordUnavailable(
            f"the key of the record in {directory} is gone from its {place.value}",
            hint=f"put it back, or keep the record aside and begin anew: "
            f"mv {directory} {directory}.old",
        )
    return key


def existing_or_new(place: KeyPlace, directory: str) -> bytes:
    """The key for a record that is about to begin; called by one process at a time."""
    if place is KeyPlace.KEYCHAIN:
        found = _from_keychain(directory)
        if found is None:
            found = os.urandom(LENGTH)
            _keychain("set_password", directory, found.hex())
        return found
    found = _from_file(directory)
    return _made(directory) if found is None else found


def _from_file(directory: str) -> bytes | None:
    path = os.path.join(directory, KEY)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RecordUnavailable(f"the key {path} cannot be read: {error.strerror}") from error
    try:
        key = os.read(descriptor, LENGTH + 1)
    finally:
        os.close(descriptor)
    if len(key) != LENGTH:
        raise RecordUnavailable(f"{path} is not a key of {LENGTH} bytes")
    return key


def _made(directory: str) -> bytes:
    key = os.urandom(LENGTH)
    path = os.path.join(directory, KEY)
    temporary = f"{path}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(temporary, flags, 0o600)
        try:
            os.write(descriptor, key)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(temporary, path)
    except OSError as error:
        raise RecordUnavailable(f"the key {path} cannot be written: {error.strerror}") from error
    return key


def _from_keychain(directory: str) -> bytes | None:
    said = _keychain("get_password", directory)
    if said is None:
        return None
    try:
        key = bytes.fromhex(str(said))
    except ValueError:
        key = b""
    if len(key) != LENGTH:
        raise RecordUnavailable(f"what the keychain has for {directory} is not a key")
    return key


def _keychain(call: str, directory: str, *more: str) -> object:
    try:
        keyring = __import__("keyring")
    except ImportError:
        raise RecordUnavailable(
            "the record's key is to be in the keychain, and `keyring` is not installed",
            hint="pip install keyring, or keep the key in a file",
        ) from None
    try:
        return getattr(keyring, call)(_SERVICE, directory, *more)
    except Exception as error:  # each backend has errors of its own
        raise RecordUnavailable(
            f"the keychain does not answer: {type(error).__name__}: {error}",
            hint="unlock it, or keep the key in a file",
        ) from error
