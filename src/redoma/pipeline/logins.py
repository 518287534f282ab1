"""Logs the user in at providers, and has a token that is good now for whoever needs one."""

from __future__ import annotations

from redoma.base import core_dumps
from redoma.base.log import logger
from redoma.login import flows
from redoma.login.errors import LoginError, NotLoggedIn, ProviderRefused
from redoma.login.provider import chosen, discovered
from redoma.login.token_store import KeptLogin, TokenPlace, TokenStore
from redoma.login.transport import ProviderConnection
from redoma.model.errors import RedomaError, StateUnavailable
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.login.token_set import TokenSet
    from redoma.model.grant import Secret

log = logger(__name__)


class LoginRequest(Value):
    """What a person said of a login."""

    provider: str
    client_id: str = ""
    project: str = ""
    scopes: tuple[str, ...] = ()
    name: str = ""
    port: int = 0
    device: bool = False
    # Where its tokens are kept: `keychain` or `vault`.
    tokens: str = TokenPlace.KEYCHAIN.value


def token_store() -> TokenStore:
    """The logins of this user."""
    from redoma.base import own_directories
    from redoma.pipeline.user_vault import vault

    try:
        return TokenStore(f"{own_directories.state()}/login", vault())
    except StateUnavailable as error:
        raise LoginError(str(error), hint=error.hint) from error


def log_in(
    request: LoginRequest,
    *,
    open_page: Callable[[str], None],
    show_code: Callable[[str, str], None],
    seconds: float = flows.PATIENCE,
) -> KeptLogin:
    """Logs in and keeps the tokens; nothing is begun where they could not be kept."""
    core_dumps.none_from_now_on()
    store, place = token_store(), TokenPlace(request.tokens)
    provider = chosen(
        request.provider,
        client_id=request.client_id,
        project=request.project,
        scopes=request.scopes,
        name=request.name,
    )
    store.probe(place)
    with ProviderConnection() as connection:
        provider = discovered(provider, connection)
        if request.device or provider.device:
            tokens = flows.by_device(provider, connection, show_code, seconds=seconds)
        else:
            tokens = flows.by_code(
                provider, connection, open_page, port=request.port, seconds=seconds
            )
    made = KeptLogin(provider=provider, place=place)
    with store.alone():
        store.keep(made, tokens)
    log.info("logged in at %s; its tokens are in the %s", provider.name, made.place.value)
    return made


def log_out(name: str) -> bool:
    """Forgets a login; whether the provider was told as well."""
    core_dumps.none_from_now_on()
    store = token_store()
    with store.alone():
        login = store.login(name)
        told = bool(login.provider.revocation_endpoint)
        try:
            tokens = store.tokens(login)
            with ProviderConnection() as connection:
                flows.revoked(tokens, login.provider, connection)
        except RedomaError as error:
            log.warning("%s was not told: %s", name, error.code)
            told = False
        store.forget(login)
    return told


def access_token(provider: str) -> Secret:
    """A token of a provider that the user is logged in at, renewed where its time is over.

    NotLoggedIn where there is no login, or where the provider does not renew it any more.
    """
    core_dumps.none_from_now_on()
    store = token_store()
    tokens = store.tokens(store.login(provider))
    if tokens.is_fresh:
        return tokens.access
    with store.alone():
        login = store.login(provider)
        tokens = store.tokens(login)  # another process may have renewed them meanwhile
        if not tokens.is_fresh:
            tokens = _renewed(login, tokens)
            store.keep(login, tokens)
    return tokens.access


access_token.__module__ = "redoma"


def _renewed(login: KeptLogin, tokens: TokenSet) -> TokenSet:
    name = login.provider.name
    over = NotLoggedIn(f"the login at {name} is over", hint=f"redoma login {name}")
    if tokens.refresh is None:
        raise over
    try:
        with ProviderConnection() as connection:
            return flows.renewed(tokens, login.provider, connection)
    except ProviderRefused as error:
        if error.error == "invalid_grant":
            raise over from None
        raise
