"""What can keep a login from coming to pass; `model/errors.py` draws where these belong."""

from __future__ import annotations

from redoma.model.errors import RedomaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.remedies import Remedy


class LoginError(RedomaError):
    """Nobody could be logged in at a provider, or a token of theirs could not be had."""

    code = "login"


class InsecureProvider(LoginError):
    """A provider would be spoken to without TLS."""

    code = "insecure-provider"


class AnswerMismatch(LoginError):
    """What came back is not this provider's answer to this login."""

    code = "answer-mismatch"


class ProviderRefused(LoginError):
    """A provider says no; `error` is its own word for why."""

    code = "provider-refused"

    def __init__(self, message: str, *, error: str, hint: str | Remedy = "") -> None:
        self.error = error
        super().__init__(message, hint=hint)

    def details(self) -> dict[str, object]:
        return {"error": self.error}


class LoginTimedOut(LoginError):
    """Nobody came back from a provider's page in time."""

    code = "login-timed-out"
    exit_status = 124


class NotLoggedIn(LoginError):
    """There is no login at this provider, or it is over."""

    code = "not-logged-in"
