"""What can keep a session from being shared; `model/errors.py` draws where these belong."""

from __future__ import annotations

from redoma.model.errors import RedomaError


class SessionError(RedomaError):
    """Something cannot be done with a shared session as it stands."""

    code = "session"


class NoSuchSession(SessionError):
    """There is no session, or no guest of it, by this name."""

    code = "no-such-session"


class NotAdmitted(SessionError):
    """Whoever asks has not the right to it."""

    code = "not-admitted"


class CodeRefused(SessionError):
    """A code that is wrong, was used, or is over: which of these is not told."""

    code = "code-refused"


class TooManyAttempts(SessionError):
    """So many codes were wrong that this address has to wait."""

    code = "too-many-attempts"
