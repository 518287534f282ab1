"""Tokens of sessions: made here, known by their digests, and in memory only."""

from __future__ import annotations

import secrets
import time
from _thread import allocate_lock
from hashlib import sha256

from redoma.model.grant import Secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_MOST = 10_000


class SessionTokens:
    """Who holds a token of which session; gone with the process, and written nowhere.

    Only digests are kept, so that whoever reads this memory can log in as nobody. A digest is
    looked up as a whole: how much of a guess was right takes no longer to find out.

    >>> tokens = SessionTokens(seconds=900)
    >>> tokens.holder(tokens.issue("ada").reveal()), tokens.holder("a guess")
    ('ada', None)
    """

    def __init__(self, *, seconds: float) -> None:
        """A token is good for so many seconds."""
        self._seconds = seconds
        self._lock = allocate_lock()
        self._known: dict[bytes, tuple[str, float]] = {}

    def issue(self, holder: str) -> Secret:
        """A new token for somebody; whoever is given it shows it to `holder`."""
        token = Secret(secrets.token_urlsafe(32))
        with self._lock:
            self._forget_old()
            # The oldest go first: nobody fills memory with logins.
            while len(self._known) >= _MOST:
                del self._known[next(iter(self._known))]
            self._known[_digest(token.reveal())] = (holder, time.monotonic() + self._seconds)
        return token

    def holder(self, token: str) -> str | None:
        """Who a token was made for; None where it is none, was taken back, or is over."""
        with self._lock:
            found = self._known.get(_digest(token))
        return found[0] if found is not None and time.monotonic() < found[1] else None

    def revoke(self, holder: str) -> None:
        """Takes back every token of somebody."""
        with self._lock:
            self._known = {key: one for key, one in self._known.items() if one[0] != holder}

    def _forget_old(self) -> None:
        now = time.monotonic()
        self._known = {key: one for key, one in self._known.items() if now < one[1]}

    def __repr__(self) -> str:
        return f"SessionTokens({len(self._known)})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("tokens of sessions are not written down")


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
