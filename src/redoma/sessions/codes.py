"""Codes that let somebody ask to be admitted: short-lived, good once, and not to be guessed.

`ABCD-EFGH-JKLM-NPQR`: the first group only says which code is meant (20 bits), the other three are
its secret (60 bits). Attack: a flood of wrong codes must neither find one nor shut out the guest
who has the right one, at the same address or elsewhere. So each address has attempts of its own, a
flood from many addresses shortens them but never to none, and a code whose first group is right is
looked at although its address has none left, up to a number that no guessing can use.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import time

from redoma.sessions.errors import CodeRefused, TooManyAttempts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LIFETIME = 15 * 60.0
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's: nothing looks like anything else
_READ_AS = str.maketrans("OIL", "011")
_GROUP, _GROUPS = 4, 4
_WINDOW = 60.0
_MOST_WRONG, _MOST_WRONG_IN_A_FLOOD, _FLOOD = 10, 3, 100
_MOST_FOR_ONE_CODE = 1000
_MOST_ADDRESSES = 10_000


class InviteCode:
    """A code that was given out; `id` is its public first group."""

    __slots__ = ("expires", "id", "secret", "session", "tried")

    def __init__(self, session: str, expires: float) -> None:
        letters = [secrets.choice(_ALPHABET) for _ in range(_GROUP * _GROUPS)]
        self.id = "".join(letters[:_GROUP])
        self.secret = "".join(letters[_GROUP:])
        self.session = session
        self.expires = expires
        self.tried = 0

    @property
    def text(self) -> str:
        """As it is shown and read out."""
        whole = self.id + self.secret
        return "-".join(whole[at : at + _GROUP] for at in range(0, len(whole), _GROUP))


class InviteCodes:
    """The codes that are good now, and how often each address was wrong."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._codes: dict[str, InviteCode] = {}
        self._wrong: dict[str, list[float]] = {}
        self._all_wrong: list[float] = []

    def give(self, session: str) -> InviteCode:
        """A new code for a session; the one before it is over."""
        self.withdraw(session)
        code = InviteCode(session, self._clock() + LIFETIME)
        while code.id in self._codes:
            code = InviteCode(session, code.expires)
        self._codes[code.id] = code
        return code

    def withdraw(self, session: str) -> None:
        """No code of this session is good any more."""
        self._codes = {
            id: code
            for id, code in self._codes.items()
            if code.session != session and code.expires > self._clock()
        }

    def redeem(self, given: str, address: str) -> str:
        """The session that a code is for; it is used up by this.

        CodeRefused, or TooManyAttempts where the address has to wait.
        """
        now, place = self._clock(), neighbourhood(address)
        spelled = "".join(given.upper().translate(_READ_AS).replace("-", " ").split())
        exhausted = self._exhausted(place, now)
        code = self._codes.get(spelled[:_GROUP]) if len(spelled) <= 64 else None
        if code is not None and code.expires <= now:
            del self._codes[code.id]
            code = None
        if code is not None:
            code.tried += 1
            right = hmac.compare_digest(spelled[_GROUP:].encode(), code.secret.encode())
            if right and code.tried <= _MOST_FOR_ONE_CODE:
                del self._codes[code.id]
                return code.session
        if exhausted:
            raise TooManyAttempts(
                "too many codes from this address were wrong", hint="wait a minute and try again"
            )
        self._note(place, now)
        raise CodeRefused("this code is not good (any more)", hint="ask the host for a new code")

    def _exhausted(self, place: str, now: float) -> bool:
        self._all_wrong = [at for at in self._all_wrong if at > now - _WINDOW]
        mine = [at for at in self._wrong.get(place, ()) if at > now - _WINDOW]
        most = _MOST_WRONG if len(self._all_wrong) < _FLOOD else _MOST_WRONG_IN_A_FLOOD
        return len(mine) >= most

    def _note(self, place: str, now: float) -> None:
        if len(self._wrong) >= _MOST_ADDRESSES:
            self._wrong = {name: at for name, at in self._wrong.items() if at[-1] > now - _WINDOW}
            while len(self._wrong) >= _MOST_ADDRESSES:
                self._wrong.pop(next(iter(self._wrong)))
        mine = [at for at in self._wrong.pop(place, ()) if at > now - _WINDOW]
        self._wrong[place] = [*mine, now]
        self._all_wrong = [*self._all_wrong[-_FLOOD:], now]


def neighbourhood(address: str) -> str:
    """Whoever holds one address of IPv6 holds its whole network."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return address
