"""Tickets: good once, soon over, and for one purpose of one person; and the bearers behind them."""

from __future__ import annotations

import hashlib
import secrets
import time

from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Generic, TypeVar

    T = TypeVar("T")
else:

    class Generic:
        def __class_getitem__(cls, _):
            return cls

    T = object

LIFETIME = 30.0
_MOST = 10_000


class Bearer(Value):
    """Who a bearer is: the host, or one guest of one session."""

    session: str = ""
    guest: str = ""

    @property
    def is_host(self) -> bool:
        return not self.guest


class SingleUse(Generic[T]):
    """Secrets that each stand for a value, once."""

    def __init__(
        self, lifetime: float = LIFETIME, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._lifetime = lifetime
        self._clock = clock
        self._kept: dict[bytes, tuple[float, T]] = {}

    def issue(self, value: T) -> str:
        """A new one; those that are over are forgotten."""
        now = self._clock()
        if len(self._kept) >= _MOST:
            self._kept = {key: kept for key, kept in self._kept.items() if kept[0] > now}
            while len(self._kept) >= _MOST:
                self._kept.pop(next(iter(self._kept)))
        text = secrets.token_urlsafe(32)
        self._kept[_digest(text)] = (now + self._lifetime, value)
        return text

    def take(self, text: str) -> T | None:
        """What it stands for; None for one that was used, is over, or never was."""
        expires, value = self._kept.pop(_digest(text), (0.0, None))
        return value if expires > self._clock() else None


class Bearers:
    """Those who are logged in, in memory alone, by a digest of what they carry."""

    def __init__(self) -> None:
        self._kept: dict[bytes, Bearer] = {}

    def issue(self, bearer: Bearer) -> str:
        text = secrets.token_urlsafe(32)
        self._kept[_digest(text)] = bearer
        return text

    def find(self, text: str) -> Bearer | None:
        return self._kept.get(_digest(text))

    def forget(self, session: str) -> None:
        """Nobody is a guest of this session any more."""
        self._kept = {key: kept for key, kept in self._kept.items() if kept.session != session}

    def forget_guest(self, session: str, guest: str) -> None:
        gone = Bearer(session=session, guest=guest)
        self._kept = {key: kept for key, kept in self._kept.items() if kept != gone}


def _digest(text: str) -> bytes:
    """By which a secret is looked up: how long that takes says nothing about it."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()
