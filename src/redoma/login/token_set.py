"""What a provider gave: tokens that show themselves to nobody, and how long they last."""

from __future__ import annotations

import json
import time

from redoma.login.errors import AnswerMismatch, LoginError
from redoma.model.grant import Secret
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Before its end a token is renewed: it may be used a moment later, by a slower clock.
_EARLY = 60.0


class TokenSet(Value):
    """An access token, and what renews it."""

    access: Secret
    refresh: Secret | None = None
    # Seconds since 1970; None where the provider says no end.
    expires_at: float | None = None
    scope: str = ""
    # Who is logged in, as the ID token says.
    subject: str = ""

    @property
    def is_fresh(self) -> bool:
        """Whether it can still be used."""
        return self.expires_at is None or time.time() < self.expires_at - _EARLY

    def kept(self) -> Secret:
        """All of it as one secret, to be kept."""
        data = {
            "access": self.access.reveal(),
            "refresh": self.refresh.reveal() if self.refresh is not None else None,
            "expires_at": self.expires_at,
            "scope": self.scope,
            "subject": self.subject,
        }
        return Secret(json.dumps(data))


def from_kept(secret: Secret) -> TokenSet:
    """The tokens that were kept as one secret."""
    try:
        data = json.loads(secret.reveal())
        return TokenSet(
            access=Secret(data["access"]),
            refresh=Secret(data["refresh"]) if data["refresh"] else None,
            expires_at=data["expires_at"],
            scope=str(data["scope"]),
            subject=str(data["subject"]),
        )
    except (ValueError, KeyError, TypeError):
        raise LoginError("the tokens that were kept cannot be read", hint="redoma login") from None


def from_answer(said: Mapping[str, object], before: TokenSet | None = None) -> TokenSet:
    """The tokens of an answer; what it does not say anew stays as it was `before`."""
    access, refresh, seconds = (
        said.get(name) for name in ("access_token", "refresh_token", "expires_in")
    )
    if not isinstance(access, str) or not access:
        raise AnswerMismatch("the provider's answer has no access token in it")
    if str(said.get("token_type", "bearer")).lower() != "bearer":
        raise AnswerMismatch("the provider gives tokens of a kind that is not known here")
    kept = before.refresh if before is not None else None
    lasts = seconds if isinstance(seconds, int | float) and not isinstance(seconds, bool) else None
    return TokenSet(
        access=Secret(access),
        refresh=Secret(refresh) if isinstance(refresh, str) and refresh else kept,
        expires_at=None if lasts is None else time.time() + lasts,
        scope=str(said.get("scope") or (before.scope if before is not None else "")),
        subject=before.subject if before is not None else "",
    )
