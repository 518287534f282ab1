"""A policy as plain data and back, so that it can be kept without what reads it."""

from __future__ import annotations

from enum import Enum

from redoma.model import policy as nouns
from redoma.model.decision import Verdict
from redoma.model.question import Choice
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
