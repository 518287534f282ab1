"""Where tokens are kept: in the keychain, or in the vault where a person chose that.

Beside them lies a list of the providers, with nothing secret in it.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from enum import Enum
from fcntl import LOCK_EX, flock

from redoma.base.keychain import Keychain
from redoma.base.private_file import make_directory, read_private, write
from redoma.login.errors import LoginError, NotLoggedIn
from redoma.login.provider import Provider, as_data, from_data
from redoma.login.token_set import TokenSet, from_kept
from redoma.model.errors import UnknownToken
from redoma.model.grant import Secret
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    class SecretPlace(Protocol):
        """The vault."""

        def get(self, name: str) -> Secret:
            """A secret; UnknownToken where there is none."""

        def put(self, name: str, secret: Secret) -> None:
            """Keeps a secret."""

        def remove(self, name: str) -> None:
            """Forgets a secret; UnknownToken where there is none."""


SERVICE = "redoma login"
_LIST = "providers.json"
_LARGEST = 1 << 20


class TokenPlace(Enum):
    """Where the tokens of a provider are kept."""

    KEYCHAIN = "keychain"
    VAULT = "vault"


class KeptLogin(Value):
    """A provider that somebody is logged in at, and where its tokens are."""

    provider: Provider
    place: TokenPlace


class TokenStore:
    """The logins of one user."""

    def __init__(self, directory: str, vault: SecretPlace) -> None:
        self._directory = directory
        self._vault = vault
        self._keychain = Keychain(SERVICE)

    def logins(self) -> tuple[KeptLogin, ...]:
        """Every provider that somebody is logged in at."""
        data = read_private(f"{self._directory}/{_LIST}", LoginError, most=_LARGEST)
        if data is None:
            return ()
        try:
            rows = json.loads(data)
            return tuple(
                KeptLogin(provider=from_data(row["provider"]), place=TokenPlace(row["place"]))
                for row in rows
            )
        except (ValueError, TypeError, KeyError):
            raise LoginError(
                f"{self._directory}/{_LIST} cannot be read", hint="remove it, and log in again"
            ) from None

    def login(self, name: str) -> KeptLogin:
        """The login at a provider."""
        for each in self.logins():
            if each.provider.name == name:
                return each
        raise NotLoggedIn(f"nobody is logged in at {name}", hint=f"redoma login {name}")

    def probe(self, place: TokenPlace) -> None:
        """An error now, before anybody has logged in, where tokens could not be kept."""
        if place is TokenPlace.KEYCHAIN:
            self._keychain.get("-")

    def tokens(self, login: KeptLogin) -> TokenSet:
        """The tokens of a login."""
        name = login.provider.name
        found: Secret | None = None
        if login.place is TokenPlace.KEYCHAIN:
            said = self._keychain.get(name)
            found = None if said is None else Secret(said)
        else:
            try:
                found = self._vault.get(_in_vault(name))
            except UnknownToken:
                found = None
        if found is None:
            raise NotLoggedIn(f"the tokens of {name} are gone", hint=f"redoma login {name}")
        return from_kept(found)

    def keep(self, login: KeptLogin, tokens: TokenSet) -> None:
        """Keeps the tokens of a login, and that there is one."""
        name = login.provider.name
        if login.place is TokenPlace.KEYCHAIN:
            self._keychain.put(name, tokens.kept().reveal())
        else:
            self._vault.put(_in_vault(name), tokens.kept())
        others = [each for each in self.logins() if each.provider.name != name]
        self._write([*others, login])

    def forget(self, login: KeptLogin) -> None:
        """Forgets a login and its tokens."""
        name = login.provider.name
        self._write([each for each in self.logins() if each.provider.name != name])
        if login.place is TokenPlace.KEYCHAIN:
            self._keychain.remove(name)
            return
        try:
            self._vault.remove(_in_vault(name))
        except UnknownToken:
            return

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One at a time changes something: a refresh token is often good for one use only."""
        make_directory(self._directory, LoginError)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            fd = os.open(f"{self._directory}/lock", flags, 0o600)
        except OSError as error:
            raise LoginError(f"{self._directory} cannot be used: {error.strerror}") from error
        try:
            flock(fd, LOCK_EX)
            yield
        finally:
            os.close(fd)

    def _write(self, logins: list[KeptLogin]) -> None:
        make_directory(self._directory, LoginError)
        rows = [{"provider": as_data(each.provider), "place": each.place.value} for each in logins]
        try:
            write(f"{self._directory}/{_LIST}", json.dumps(rows), durable=True)
        except OSError as error:
            raise LoginError(f"{self._directory} cannot be written: {error.strerror}") from error


def _in_vault(name: str) -> str:
    return f"login.{name}"
