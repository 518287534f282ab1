"""The user's vault, and the secrets that a gate adds to requests: taken here, given to no child."""

from __future__ import annotations

import os

from redoma.model.errors import StateUnavailable, UnknownToken, VaultError
from redoma.model.message import Message
from redoma.model.secret import Secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from redoma.model.network import Credential, Reach
    from redoma.vault.secret_store import SecretStore

KEY_VARIABLE = "REDOMA_VAULT_KEY"


def vault() -> SecretStore:
    """The vault of this user."""
    from redoma.base import own_directories
    from redoma.base.private_file import key_place
    from redoma.vault.secret_store import SecretStore

    try:
        return SecretStore(f"{own_directories.state()}/vault", keyed_by=key_place(KEY_VARIABLE))
    except StateUnavailable as error:
        raise VaultError(str(error), hint=error.hint) from error


def secrets_of(credentials: Iterable[Credential]) -> tuple[Secret, ...]:
    """The secret of each, from the caller's own environment or the vault."""
    found = []
    for each in credentials:
        if each.secret:
            found.append(vault().get(each.secret))
            continue
        value = os.environ.get(each.variable, "")
        if not value:
            raise UnknownToken(
                "the variable {variable} for {host} is not set here",
                variable=each.variable,
                host=each.host,
                hint=Message(
                    "set it, or redoma vault set {variable} and vault:{variable}",
                    variable=each.variable,
                ),
            )
        found.append(Secret(value))
    return tuple(found)


def texts_of(credentials: Sequence[Credential]) -> tuple[str, ...]:
    """Everything that may not be written down: each secret, and the password within it."""
    found = []
    for credential, secret in zip(credentials, secrets_of(credentials), strict=True):
        text = secret.reveal().strip()
        found.append(text)
        if credential.form == "basic":
            found.append(text.partition(":")[2])
    return tuple(text for text in found if text)


def reach_of(
    hosts: Sequence[str],
    publish: Sequence[int],
    credentials: Sequence[str],
    *,
    inspect: bool,
    mock: bool | str = False,
    cache: Sequence[str] = (),
    anyone: bool = False,
) -> Reach | None:
    """What a caller grants by name, everyone, or a mock of all; None where that is nothing."""
    if not (hosts or publish or credentials or inspect or cache or anyone) and mock is False:
        return None
    from redoma.egress.host_rules import read, read_cached
    from redoma.model.value import replace

    made = read(hosts, publish=publish)
    made = replace(made, cache=read_cached(cache), anyone=anyone)
    if credentials or inspect:
        from redoma.egress.credentials import read_all

        granted = [rule.host for rule in made.hosts]
        made = replace(made, inspect=inspect, credentials=read_all(credentials, granted))
    if mock is False:
        return made
    from redoma.pipeline.mocks import mocking

    return mocking(made, mock=mock)
