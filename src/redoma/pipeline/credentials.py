"""The user's vault, and the secrets that a gate adds to requests: taken here, given to no child."""

from __future__ import annotations

import os

from redoma.model.errors import StateUnavailable, UnknownToken, UsageError, VaultError
from redoma.model.secret import Secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from redoma.model.network import Credential, Reach
    from redoma.vault.secret_store import SecretStore

KEY_VARIABLE = "REDOMA_VAULT_KEY"
# Shorter ones would be starred in ordinary words, or echo back unseen.
SHORTEST_SECRET = 6


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
            found.append(_long_enough(each, vault().get(each.secret)))
            continue
        value = os.environ.get(each.variable, "")
        if not value:
            raise UnknownToken(
                f"the variable {each.variable} for {each.host} is not set here",
                hint=f"set it, or redoma vault set {each.variable} and vault:{each.variable}",
            )
        found.append(_long_enough(each, Secret(value)))
    return tuple(found)


def texts_of(
    credentials: Sequence[Credential], secrets: Sequence[Secret] | None = None
) -> tuple[str, ...]:
    """Everything that may not be written down: each secret, and the password within it."""
    known = secrets_of(credentials) if secrets is None else secrets
    pairs = zip(credentials, known, strict=True)
    return tuple(text for one, secret in pairs for text in _parts(one, secret) if text)


def _parts(credential: Credential, secret: Secret) -> tuple[str, ...]:
    """A secret, and of `user:password` the password by itself and both as they are sent."""
    text = secret.reveal().strip()
    if credential.form != "basic":
        return (text,)
    from base64 import b64encode

    return text, text.partition(":")[2], b64encode(text.encode("utf-8", "replace")).decode()


def _long_enough(credential: Credential, secret: Secret) -> Secret:
    """The secret; an error where it is so short that it could not be told from other text."""
    if any(0 < len(part) < SHORTEST_SECRET for part in _parts(credential, secret)):
        raise UsageError(
            f"the secret for {credential.host} is shorter than {SHORTEST_SECRET} characters: it"
            " could not be found again in what comes back",
            hint="a longer one; of user:password the password counts",
        )
    return secret


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
