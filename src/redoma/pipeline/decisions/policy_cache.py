"""Reads policy files once, and keeps what was read for the processes that come after."""

from __future__ import annotations

import os
import sys
import time
from binascii import crc32
from enum import Enum

from redoma.base import cache
from redoma.base.paths import cache_home
from redoma.model import policy as nouns
from redoma.model.decision import Verdict
from redoma.model.message import Message
from redoma.model.policy import Policy
from redoma.model.question import Choice
from redoma.model.value import Value, replace
from redoma.pipeline.decisions.policies import is_card_file, unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.pipeline.decisions.policies import Stamp

_KINDS: dict[str, Any] = {
    name: kind
    for name, kind in vars(nouns).items()
    if isinstance(kind, type) and issubclass(kind, Value | Enum)
} | {"Verdict": Verdict, "Choice": Choice}
_VALUE, _ENUM, _TUPLE = 0, 1, 2


def plain(value: Any) -> Any:
    """Numbers, texts and tuples, each tuple with a mark of what it was."""
    if isinstance(value, Value):
        return (_VALUE, type(value).__name__, *map(plain, value._content()))
    if isinstance(value, Enum):
        return (_ENUM, type(value).__name__, value.value)
    if isinstance(value, tuple):
        return (_TUPLE, *map(plain, value))
    return value


def whole(data: Any) -> Any:
    """What `plain` was given; anything else is a KeyError, TypeError or ValueError."""
    if type(data) is not tuple:
        return data
    mark = data[0]
    if mark == _TUPLE:
        return tuple(map(whole, data[1:]))
    kind = _KINDS[data[1]]
    if mark == _ENUM:
        return kind(data[2])
    return kind(**dict(zip(kind._fields, map(whole, data[2:]), strict=True)))


FORMAT = 2
# A file changed so lately could change again without its times telling.
_SETTLED_NS = 100_000_000


class Moved(Exception):
    """A file is no longer the one that was looked at."""


def compiled(stamp: Stamp) -> tuple[Policy, bool]:
    """The policy of these files, and whether it may be held for as long as they stay the same."""
    head = (FORMAT, sys.version_info[:2], stamp)
    settled = time.time_ns() - max(max(row[4], row[5]) for row in stamp) > _SETTLED_NS
    place = _place(stamp)
    kept = _kept(place, head) if settled and place else None
    if kept is not None:
        return kept, True
    policy = _read(stamp)
    if settled and place:
        cache.keep(place, head, plain(policy))
    return policy, settled


def _read(stamp: Stamp) -> Policy:
    from hashlib import sha256

    from redoma.judge.policy.layers import merge
    from redoma.judge.policy.sandbox_yaml import read
    from redoma.judge.policy.tree import LARGEST

    digest = sha256()
    layers = []
    cards: list[tuple[str, str, bytes]] = []
    for path, origin, *identity in stamp:
        content = _content(path, identity, LARGEST + 1)
        digest.update(f"{origin}\0{path}\0{len(content)}\0".encode(errors="surrogateescape"))
        digest.update(content)
        if is_card_file(path):
            cards.append((path, origin, content))
        else:
            layers.append(read(content, path=path, origin=origin))
    policy = merge(layers, digest=digest.hexdigest())
    if not cards:
        return policy
    from redoma.pipeline.decisions.own_cards import packed

    return replace(policy, cards=packed(cards, "user"), project_cards=packed(cards, "project"))


def _content(path: str, identity: list[int], most: int) -> bytes:
    """The bytes of the very file that was looked at.

    Attack: the file is exchanged between the look and the reading, or while it is read.
    """
    try:
        with open(path, "rb") as file:
            before = _identity(file.fileno())
            content = file.read(most)
            after = _identity(file.fileno())
    except OSError as error:
        raise unusable(path, Message("cannot be read: {why}", why=error.strerror)) from None
    if not before == after == identity:
        raise Moved(path)
    return content


def _identity(fd: int) -> list[int]:
    s = os.fstat(fd)
    return [s.st_dev, s.st_ino, s.st_mtime_ns, s.st_ctime_ns, s.st_size, s.st_mode, s.st_uid]


def _place(stamp: Stamp) -> str:
    """Where it is kept; nowhere for someone whose home directory does not exist."""
    base = cache_home()
    if not base or not os.path.isdir(os.path.dirname(base)):
        return ""
    names = "\0".join(row[0] for row in stamp).encode(errors="surrogateescape")
    return os.path.join(base, "redoma", "policies", f"{crc32(names):08x}.compiled")


def _kept(path: str, head: tuple[object, ...]) -> Policy | None:
    """The policy that is kept, if it is still the one of these files."""
    try:
        policy = whole(cache.read(path, head))
    except (ValueError, TypeError, LookupError):
        return None
    return policy if isinstance(policy, Policy) else None
