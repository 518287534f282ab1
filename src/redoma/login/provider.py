"""A provider: who it is, where its endpoints are, and that they are spoken to over TLS only."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from redoma.login.errors import AnswerMismatch, InsecureProvider, LoginError
from redoma.model.errors import UsageError
from redoma.model.value import Value, fields_of, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from redoma.login.transport import ProviderConnection

NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}\Z")
_PROJECT = re.compile(r"[a-z0-9][a-z0-9-]{0,62}\Z")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_ENDPOINTS = (
    *("authorization_endpoint", "token_endpoint", "jwks_uri"),
    *("device_authorization_endpoint", "revocation_endpoint"),
)


class Provider(Value):
    """A provider that a person logs in at, as a client of theirs."""

    name: str
    client_id: str
    # Of a provider that is discovered; what it signs says that it is this one.
    issuer: str = ""
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    device_authorization_endpoint: str = ""
    revocation_endpoint: str = ""
    jwks_uri: str = ""
    scopes: tuple[str, ...] = ()
    # Whether it says its own name in what it answers (RFC 9207).
    names_itself: bool = False
    # Whether a person types a code at its page, because nothing else works there.
    device: bool = False

    @property
    def is_openid(self) -> bool:
        """Whether it is asked for an ID token, which has to fit then."""
        return bool(self.issuer) and "openid" in self.scopes


def presets() -> dict[str, dict[str, object]]:
    """The providers that are known by name."""
    import os

    import yaml

    with open(os.path.join(os.path.dirname(__file__), "providers.yaml"), encoding="utf-8") as file:
        known: dict[str, dict[str, object]] = yaml.safe_load(file)
    return known


def chosen(
    given: str, *, client_id: str, project: str = "", scopes: Sequence[str] = (), name: str = ""
) -> Provider:
    """A preset by its name, or any provider by the address of its issuer."""
    if "://" in given:
        refuse_insecure(given)
        made = Provider(
            name=name or _host_name(given), client_id=client_id, issuer=given, scopes=("openid",)
        )
    else:
        known = presets()
        if given not in known:
            raise UsageError(
                f"no provider has the name {given!r}",
                hint=f"one of {', '.join(known)}, or the address of an issuer: https://…",
            )
        row = known[given]
        issuer = str(row.get("issuer", ""))
        if "{project}" in issuer:
            if not _PROJECT.match(project):
                raise UsageError(
                    f"{given} has an issuer for each project", hint="redoma login --project NAME"
                )
            issuer = issuer.replace("{project}", project)
        endpoints = {name: str(row[name]) for name in _ENDPOINTS if name in row}
        wanted: object = row.get("scopes", ())
        made = Provider(
            name=name or given,
            client_id=client_id,
            issuer=issuer,
            scopes=tuple(wanted) if isinstance(wanted, list) else (),
            device=bool(row.get("device", False)),
            **endpoints,  # type: ignore[arg-type]
        )
    if not NAME.match(made.name):
        raise UsageError(
            f"{made.name!r} is no name for a provider", hint="letters, digits, - and _"
        )
    if not client_id:
        raise UsageError(
            f"{made.name} knows programs by a client id, and none was given",
            hint="register a client there, then: redoma login --client-id ID",
        )
    return replace(made, scopes=tuple(scopes)) if scopes else made


def discovered(provider: Provider, connection: ProviderConnection) -> Provider:
    """The provider with its endpoints, from its own page; as it is where it has none.

    Attack: a page that speaks of another issuer, or has the token sent somewhere else in the clear.
    """
    if not provider.issuer:
        return _secure(provider)
    page = connection.get(provider.issuer.rstrip("/") + "/.well-known/openid-configuration")
    if page.get("issuer") != provider.issuer:
        raise AnswerMismatch(
            f"{provider.issuer} says that it is {page.get('issuer')!r}",
            hint="use the address that it says, if you trust it",
        )
    methods = page.get("code_challenge_methods_supported")
    if isinstance(methods, list) and "S256" not in methods:
        raise LoginError(f"{provider.issuer} does not know PKCE with S256")
    found = {name: str(page[name]) for name in _ENDPOINTS if isinstance(page.get(name), str)}
    names_itself = page.get("authorization_response_iss_parameter_supported") is True
    made = replace(provider, names_itself=names_itself, **found)
    if not made.authorization_endpoint or not made.token_endpoint:
        raise LoginError(f"{provider.issuer} does not say where to log in")
    return _secure(made)


def _secure(provider: Provider) -> Provider:
    for name in _ENDPOINTS:
        url = getattr(provider, name)
        if url:
            refuse_insecure(url)
    return provider


def refuse_insecure(url: str) -> None:
    """An error for an address that is not https, and not this machine's own."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise UsageError(f"{url!r} is no address") from None
    plain = parts.scheme == "http" and host in _LOOPBACK
    if not host or parts.username or parts.password or parts.fragment:
        raise UsageError(f"{url!r} is no address of a provider")
    if parts.scheme != "https" and not plain:
        raise InsecureProvider(
            f"{url} is not spoken to over TLS, so nothing is sent there",
            hint="https://…; http:// is for a provider on this machine only",
        )


def _host_name(url: str) -> str:
    host = (urlsplit(url).hostname or "").lower()
    return re.sub(r"[^a-z0-9]+", "-", host).strip("-")[:32] if host[:1].isalpha() else "provider"


def as_data(provider: Provider) -> dict[str, object]:
    """What is kept of a provider beside its tokens: nothing in it is a secret."""
    return {name: list(v) if isinstance(v, tuple) else v for name, v in fields_of(provider).items()}


def from_data(data: Mapping[str, object]) -> Provider:
    """A provider as it was kept."""
    given = {name: value for name, value in data.items() if name in Provider._fields}
    scopes = given.get("scopes")
    try:
        made = Provider(**{**given, "scopes": tuple(scopes) if isinstance(scopes, list) else ()})  # type: ignore[arg-type]
    except TypeError:
        raise LoginError("what is kept of a provider cannot be read", hint="redoma login") from None
    return _secure(made)
