"""The ways to a token: a code with PKCE, a code that a person types elsewhere, and renewal."""

from __future__ import annotations

import secrets
import time

from redoma.login.callback import LoopbackListener
from redoma.login.errors import LoginError, LoginTimedOut
from redoma.login.id_token import subject_of
from redoma.login.token_set import TokenSet, from_answer
from redoma.login.transport import StillWaiting
from redoma.model.grant import Secret
from redoma.model.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.login.callback import CallbackAnswer
    from redoma.login.provider import Provider
    from redoma.login.transport import ProviderConnection

PATIENCE = 300.0
_DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"
_USUAL_INTERVAL = 5.0


class CodeRequest(Value):
    """One login by code: what only we know of it, and what the browser is sent with."""

    state: str
    nonce: str
    verifier: Secret
    redirect: str

    def url(self, provider: Provider) -> str:
        """Where a browser is sent to log in."""
        from authlib.oauth2.rfc6749.parameters import (  # type: ignore[import-untyped]
            prepare_grant_uri,
        )
        from authlib.oauth2.rfc7636 import (  # type: ignore[import-untyped]
            create_s256_code_challenge,
        )

        made: str = prepare_grant_uri(
            provider.authorization_endpoint,
            client_id=provider.client_id,
            response_type="code",
            redirect_uri=self.redirect,
            scope=" ".join(provider.scopes),
            state=self.state,
            nonce=self.nonce if provider.is_openid else None,
            code_challenge=create_s256_code_challenge(self.verifier.reveal()),
            code_challenge_method="S256",
            prompt="consent" if "offline_access" in provider.scopes else None,
        )
        return made


def new_request(redirect: str) -> CodeRequest:
    """A login that nobody can guess anything of."""
    return CodeRequest(
        state=secrets.token_urlsafe(32),
        nonce=secrets.token_urlsafe(32),
        verifier=Secret(secrets.token_urlsafe(64)),
        redirect=redirect,
    )


def by_code(
    provider: Provider,
    connection: ProviderConnection,
    show: Callable[[str], None],
    *,
    port: int = 0,
    seconds: float = PATIENCE,
) -> TokenSet:
    """Tokens for a person who logs in with a browser of this machine, which `show` opens."""
    _needs_library()
    request = new_request("")
    with LoopbackListener(request.state, port) as listener:
        request = replace(request, redirect=listener.address)
        show(request.url(provider))
        answer = listener.answer(provider, seconds)
    return exchanged(answer, request, provider, connection)


def exchanged(
    answer: CallbackAnswer,
    request: CodeRequest,
    provider: Provider,
    connection: ProviderConnection,
) -> TokenSet:
    """Tokens for a code."""
    said = connection.post(
        provider.token_endpoint,
        {
            "grant_type": "authorization_code",
            "code": answer.code,
            "redirect_uri": request.redirect,
            "client_id": provider.client_id,
            "code_verifier": request.verifier.reveal(),
        },
    )
    made = from_answer(said)
    if not provider.is_openid:
        return made
    token = said.get("id_token")
    subject = subject_of(token, provider, connection, nonce=request.nonce, access=made.access)
    return replace(made, subject=subject)


def by_device(
    provider: Provider,
    connection: ProviderConnection,
    show: Callable[[str, str], None],
    *,
    seconds: float = PATIENCE,
) -> TokenSet:
    """Tokens for a person who types a code at the provider's page, on whatever machine."""
    _needs_library()
    if not provider.device_authorization_endpoint:
        raise LoginError(
            f"{provider.name} has no page for codes of devices", hint="redoma login, with a browser"
        )
    form = {"client_id": provider.client_id, "scope": " ".join(provider.scopes)}
    said = connection.post(provider.device_authorization_endpoint, form)
    code, typed, page = (said.get(k) for k in ("device_code", "user_code", "verification_uri"))
    if not (isinstance(code, str) and isinstance(typed, str) and isinstance(page, str)):
        raise LoginError(f"{provider.name} gives no code to type")
    from redoma.login.provider import refuse_insecure

    refuse_insecure(page)
    wait = _number(said.get("interval"), _USUAL_INTERVAL)
    end = time.monotonic() + min(_number(said.get("expires_in"), seconds), seconds)
    show(page, typed)
    form = {"grant_type": _DEVICE_CODE, "device_code": code, "client_id": provider.client_id}
    while time.monotonic() < end:
        try:
            answered = connection.post(provider.token_endpoint, form)
        except StillWaiting as waiting:
            wait += _USUAL_INTERVAL if waiting.slower else 0.0
            time.sleep(min(wait, max(0.0, end - time.monotonic())))
            continue
        made = from_answer(answered)
        if not provider.is_openid:
            return made
        token = answered.get("id_token")
        return replace(made, subject=subject_of(token, provider, connection, nonce=""))
    raise LoginTimedOut("nobody typed the code in time", hint="redoma login --device")


def renewed(tokens: TokenSet, provider: Provider, connection: ProviderConnection) -> TokenSet:
    """The tokens that a refresh token brings."""
    assert tokens.refresh is not None
    form = {
        "grant_type": "refresh_token",
        "refresh_token": tokens.refresh.reveal(),
        "client_id": provider.client_id,
    }
    said = connection.post(provider.token_endpoint, form)
    made = from_answer(said, tokens)
    if provider.is_openid and said.get("id_token") is not None:
        # Attack: the provider's answer to somebody else.
        subject = subject_of(said["id_token"], provider, connection, nonce="")
        if subject != tokens.subject:
            raise LoginError("the provider renews the tokens of someone else", hint="redoma login")
    return made


def revoked(tokens: TokenSet, provider: Provider, connection: ProviderConnection) -> None:
    """Tells the provider that the tokens are not used any more, where it can be told."""
    if not provider.revocation_endpoint:
        return
    for kind, token in (("refresh_token", tokens.refresh), ("access_token", tokens.access)):
        if token is not None:
            form = {"token": token.reveal(), "token_type_hint": kind}
            connection.post(provider.revocation_endpoint, {**form, "client_id": provider.client_id})


def _number(value: object, usual: float) -> float:
    known = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return float(value) if known else usual  # type: ignore[arg-type]


def _needs_library() -> None:
    from importlib.util import find_spec

    if find_spec("authlib") is None:
        raise LoginError(
            "logging in needs packages that are not installed", hint="pip install 'redoma[login]'"
        )
