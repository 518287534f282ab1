"""Keeps secrets by name in one file, encrypted; the key lies beside it, or in the keychain.

Each secret is sealed by AES-256-GCM together with its name, so that nobody can exchange two of
them, or change one, without it showing. A file keeps them from other users and from what runs in
an enclosure; from a program of the same user outside of one, only a keychain does.
"""

from __future__ import annotations

import json
import os
import re
from base64 import b64decode, b64encode
from contextlib import contextmanager

from redoma.model.errors import UnknownToken, UsageError, VaultError, WrongKey
from redoma.model.secret import Secret
from redoma.vault import files, key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from redoma.vault.key import KeyPlace

FILE = "secrets.json"
_VERSION = 1
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}\Z")
_NONCE = 12
_LONGEST = 1 << 16
_MOST = 1000


class Tokens:
    """The secrets of one directory."""

    def __init__(self, directory: str, *, keyed_by: KeyPlace) -> None:
        self._directory = directory
        self._keyed_by = keyed_by

    def names(self) -> tuple[str, ...]:
        """What is kept, by name."""
        return tuple(sorted(self._read()))

    def get(self, name: str) -> Secret:
        """A secret; UnknownToken where there is none, WrongKey where it cannot be opened."""
        sealed = self._read().get(name)
        if sealed is None:
            raise UnknownToken(f"the vault has no secret {name!r}", hint=f"redoma vault set {name}")
        data = b64decode(sealed)
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
        with self._changing() as kept:
            if name not in kept and len(kept) >= _MOST:
                raise VaultError(f"the vault holds {_MOST} secrets already")
            cipher = _cipher(key.existing_or_new(self._keyed_by, self._directory))
            nonce = os.urandom(_NONCE)
            sealed = nonce + cipher.encrypt(nonce, text.encode(), _bound(name))
            kept[name] = b64encode(sealed).decode()

    def remove(self, name: str) -> None:
        """Forgets a secret."""
        with self._changing() as kept:
            if kept.pop(name, None) is None:
                raise UnknownToken(f"the vault has no secret {name!r}", hint="redoma vault list")

    def _read(self) -> dict[str, str]:
        data = files.read(self._directory, FILE)
        if data is None:
            return {}
        try:
            found = json.loads(data)
            if found["version"] != _VERSION:
                raise VaultError(f"the vault in {self._directory} is of another version")
            return {str(name): str(sealed) for name, sealed in found["secrets"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise VaultError(f"the vault in {self._directory} cannot be read") from error

    @contextmanager
    def _changing(self) -> Iterator[dict[str, str]]:
        """What is kept, to be changed by one at a time, and written when that went well."""
        with files.locked(self._directory):
            kept = self._read()
            yield kept
            text = json.dumps({"version": _VERSION, "secrets": kept}, sort_keys=True)
            files.write(self._directory, FILE, text.encode())


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
