"""Checks an ID token: who signed it, for whom, in answer to what."""

from __future__ import annotations

from redoma.login.errors import AnswerMismatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.login.provider import Provider
    from redoma.login.transport import ProviderConnection
    from redoma.model.grant import Secret

# Attack: `none`, or a signature by a secret that is everybody's.
_ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA", "RS384", "ES384", "PS384", "RS512", "PS512"]
_LEEWAY = 60


def subject_of(
    token: object,
    provider: Provider,
    connection: ProviderConnection,
    *,
    nonce: str,
    access: Secret | None = None,
) -> str:
    """Who an ID token speaks of; AnswerMismatch where it is not this provider's answer to us."""
    from authlib.oidc.core import CodeIDToken  # type: ignore[import-untyped]
    from joserfc import jwt
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet

    if not isinstance(token, str) or not provider.jwks_uri:
        raise _mismatch("the provider gave no ID token, although it was asked for one")
    try:
        keys = KeySet.import_key_set(connection.get(provider.jwks_uri))  # type: ignore[arg-type]
        read = jwt.decode(token, keys, algorithms=_ALGORITHMS)
        claims = CodeIDToken(
            read.claims,
            read.header,
            options={
                "iss": {"essential": True, "value": provider.issuer},
                "aud": {"essential": True, "value": provider.client_id},
            },
            params={
                "client_id": provider.client_id,
                "nonce": nonce,
                "access_token": access.reveal() if access is not None else None,
            },
        )
        claims.validate(leeway=_LEEWAY)
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise _mismatch(f"the ID token is not to be trusted: {type(error).__name__}") from None
    if nonce and claims.get("nonce") != nonce:
        raise _mismatch("the ID token answers another login than this one")
    return str(claims["sub"])


def _mismatch(why: str) -> AnswerMismatch:
    return AnswerMismatch(why, hint="begin anew: redoma login")
