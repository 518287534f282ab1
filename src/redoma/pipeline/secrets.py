"""Secrets on the path: a redactor takes them out of what leaves, the vault gives them to a gate."""

from __future__ import annotations

import os

from redoma.model.errors import UnknownToken, UsageError
from redoma.model.message import Message
from redoma.vault.redactor import REDACTED, WITH_KIND, Found, Redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from redoma.model.grant import Secret
    from redoma.model.network import Credential, Reach
    from redoma.model.policy import Policy
    from redoma.vault.stream import RedactingStream


__all__ = ["REDACTED", "WITH_KIND", "Found", "Redactor", "SecretSanitizer", "redactor"]

_own: list[Redactor] = []
# Texts in which nothing was found: what is audited of a run is mostly what was of the last.
_harmless: set[str] = set()
_MOST_HARMLESS, _SHORT = 2000, 200


def redactor(
    environ: Mapping[str, str] | None = None,
    *,
    values: Iterable[str] = (),
    replacement: str = REDACTED,
) -> Redactor:
    """A redactor that also knows the secrets in `environ`; by default, those of this process."""
    from redoma.vault.exact import own_values

    own = own_values(os.environ if environ is None else environ)
    return Redactor((*own, *values), replacement=replacement)


def redact(text: str) -> str:
    """The text without secrets, those in the caller's own variables included."""
    if text in _harmless:
        return text
    if not _own:
        _own.append(redactor())
    cleaned = _own[0].text(text)
    if cleaned == text and len(text) <= _SHORT:
        if len(_harmless) >= _MOST_HARMLESS:
            _harmless.clear()
        _harmless.add(text)
    return cleaned


def cleaner(policy: Policy) -> Callable[[str], str]:
    """What takes secrets out of a text, where the policy wants that."""
    return redact if policy.logging.redact_secrets else _unchanged


def _unchanged(text: str) -> str:
    return text


class SecretSanitizer:
    """Takes secrets out of a message before a model, a log or a page gets it.

    `values` are further secrets that are known by value. The secrets in `environ` (by default, in
    the variables of this process) are known as well: those whose names tell, such as `DB_PASSWORD`.
    """

    __module__ = "redoma"

    __slots__ = ("_redactor",)

    def __init__(
        self,
        values: Iterable[str] = (),
        *,
        environ: Mapping[str, str] | None = None,
        replacement: str = REDACTED,
    ) -> None:
        from redoma.model import arguments

        self._redactor = redactor(
            None if environ is None else arguments.named("environ", environ, arguments.text),
            values=arguments.texts("values", values),
            replacement=arguments.text("replacement", replacement),
        )

    def sanitize(self, message: str) -> str:
        """The message with `[REDACTED]` in the place of every secret; it never raises."""
        return self._redactor.text(message)

    def found(self, message: str) -> tuple[Found, ...]:
        """What would be taken out: the kind and the line of each."""
        return self._redactor.found(message)

    def stream(self) -> RedactingStream:
        """For bytes that come in pieces: `feed` them, then `finish`."""
        return self._redactor.stream()


# Shorter ones would be starred in ordinary words, or echo back unseen.
SHORTEST_SECRET = 6


def secrets_of(credentials: Iterable[Credential]) -> tuple[Secret, ...]:
    """The secret of each, from the caller's own environment, the vault or a login."""
    from redoma.model.grant import Secret

    found = []
    for each in credentials:
        if each.login:
            from redoma.pipeline.logins import access_token

            found.append(_long_enough(each, access_token(each.login)))
            continue
        if each.secret:
            from redoma.pipeline.user_vault import vault

            found.append(_long_enough(each, vault().get(each.secret)))
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
            "the secret for {host} is shorter than {shortest_secret} characters: it could "
            "not be found again in what comes back",
            host=credential.host,
            shortest_secret=SHORTEST_SECRET,
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
    made = replace(made, cache=read_cached(cache), anyone=anyone, public_only=anyone)
    if credentials or inspect:
        from redoma.egress.credentials import read_all

        granted = [rule.host for rule in made.hosts]
        made = replace(made, inspect=inspect, credentials=read_all(credentials, granted))
    if mock is False:
        return made
    from redoma.pipeline.mocks import mocking

    return mocking(made, mock=mock)
