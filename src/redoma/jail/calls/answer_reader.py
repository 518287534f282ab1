"""Reads an answer in the caller's process; it trusts nothing, and makes only plain values.

Attack: whatever ran inside wrote these bytes, and may have written them by hand. So every length
is checked against what is there, every value against how much memory it takes here, the whole
against a clock; and no name in an answer ever finds a class: the caller's own list does.
"""

from __future__ import annotations

import time
from enum import Enum

from redoma.jail.calls import wire
from redoma.model.call import DEEPEST, LARGEST
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SECONDS = 30.0  # keys that all have one hash take a time that grows with their square
_LOOKS = 4096
_MOST_BITS = 1 << 16


class Malformed(Exception):
    """These bytes are no answer."""


class AnswerReader:
    """One answer, read from its first byte to its last."""

    def __init__(
        self,
        data: bytes,
        declared: tuple[type, ...] = (),
        *,
        largest: int = LARGEST,
        deepest: int = DEEPEST,
    ) -> None:
        self._data = data
        self._at = 0
        self._declared = declared
        self._room = largest * wire.ROOM
        self._left = deepest
        self._read = 0
        self._until = time.monotonic() + _SECONDS

    def whole(self) -> tuple[bytes, Any]:
        """How the call ended, and the one value that comes with it."""
        if self._take(len(wire.MAGIC)) != wire.MAGIC:
            raise Malformed("it does not begin as an answer")
        ended = self._take(1)
        if ended not in (wire.RETURNED, wire.RAISED, wire.REFUSED, wire.UNFIT):
            raise Malformed("it does not say how the call ended")
        try:
            value = self.value()
        except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
            raise Malformed(
                Message("a value in it cannot be: {kind}", kind=type(error).__name__)
            ) from None
        if self._at != len(self._data):
            raise Malformed("something follows it")
        return ended, value

    def value(self) -> Any:
        """The next value."""
        self._spend(wire.EACH)
        self._read += 1
        if self._read % _LOOKS == 0 and time.monotonic() > self._until:
            raise Malformed("it takes too long to read")
        read = _READERS.get(self._take(1))
        if read is None:
            raise Malformed("it has a value of no known kind")
        return read(self)

    def _spend(self, size: int) -> None:
        self._room -= size
        if self._room < 0:
            raise Malformed("it would take too much memory")

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise Malformed("it is cut off")
        found = self._data[self._at : end]
        self._at = end
        return found

    def _length(self) -> int:
        found: int = wire.LENGTH.unpack(self._take(4))[0]
        if found > len(self._data) - self._at:
            raise Malformed("a length in it is more than there is")
        return found

    def _sized(self) -> bytes:
        size = self._length()
        self._spend(size)
        return self._take(size)

    def _int(self) -> int:
        found: int = wire.INT_8.unpack(self._take(8))[0]
        return found

    def _big_int(self) -> int:
        return int.from_bytes(self._sized(), "little", signed=True)

    def _float(self) -> float:
        found: float = wire.FLOAT_8.unpack(self._take(8))[0]
        return found

    def _complex(self) -> complex:
        return complex(*wire.FLOATS_2.unpack(self._take(16)))

    def _str(self) -> str:
        data = self._sized()
        if not data.isascii():
            self._spend(3 * len(data))  # one letter outside of Latin makes each of them larger
        return data.decode("utf-8", "surrogatepass")

    def _text(self) -> str:
        if self._take(1) != wire.STR:
            raise Malformed("a text is missing")
        return self._str()

    def _packed(self, code: str) -> list[Any]:
        from array import array
        from sys import byteorder

        data = self._sized()
        if len(data) % 8:
            raise Malformed("a list of numbers is cut off")
        self._spend(4 * len(data))
        packed = array(code)
        packed.frombytes(data)
        if byteorder == "big":
            packed.byteswap()
        return packed.tolist()

    def _items(self) -> list[Any]:
        count = self._length()
        self._enter()
        items = [self.value() for _ in range(count)]
        self._left += 1
        return items

    def _distinct(self) -> set[Any]:
        count = self._length()
        self._enter()
        found: set[Any] = set()
        for _ in range(count):
            found.add(self.value())
        self._left += 1
        if len(found) != count:
            raise Malformed("a set in it has an item twice")
        return found

    def _dict(self) -> dict[Any, Any]:
        count = self._length()
        self._enter()
        found: dict[Any, Any] = {}
        for _ in range(count):
            key = self.value()
            found[key] = self.value()
        self._left += 1
        if len(found) != count:
            raise Malformed("a dictionary in it has a key twice")
        return found

    def _enter(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise Malformed("it is nested too deeply")

    def _kind(self) -> type:
        place: int = wire.PLACE.unpack(self._take(2))[0]
        if place >= len(self._declared):
            raise Malformed("it has a type that was not declared")
        return self._declared[place]

    def _dataclass(self) -> Any:
        kind = self._kind()
        fields = getattr(kind, "__dataclass_fields__", None)
        if fields is None:
            raise Malformed("it has fields for what has none")
        self._enter()
        found = {self._text(): self.value() for _ in range(self._length())}
        self._left += 1
        if found.keys() != fields.keys():
            raise Malformed(Message("it has other fields than {kind}", kind=kind.__name__))
        return kind(**{name: found[name] for name, field in fields.items() if field.init})

    def _enum(self) -> Any:
        kind = self._kind()
        if not issubclass(kind, Enum):
            raise Malformed("it has a member of what is no enum")
        name, value = self._text(), self.value()
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            raise Malformed("it has a member that no enum has")  # flags look at each bit
        member = kind.__members__.get(name)
        # Flags that are put together have no name of their own.
        return member if member is not None else kind(value)

    def _datetime(self) -> Any:
        from datetime import datetime

        fold = self._take(1) == b"\1"
        return datetime.fromisoformat(self._text()).replace(fold=int(fold))

    def _date(self) -> Any:
        from datetime import date

        return date.fromisoformat(self._text())

    def _time(self) -> Any:
        from datetime import time as clock

        fold = self._take(1) == b"\1"
        return clock.fromisoformat(self._text()).replace(fold=int(fold))

    def _timedelta(self) -> Any:
        from datetime import timedelta

        days, seconds, microseconds = wire.SPAN.unpack(self._take(wire.SPAN.size))
        return timedelta(days, seconds, microseconds)

    def _path_text(self) -> str:
        text = self._text()
        self._spend(2 * wire.EACH * text.count("/"))  # every part of it becomes a text of its own
        return text

    def _path(self) -> Any:
        from pathlib import Path

        return Path(self._path_text())

    def _pure_path(self) -> Any:
        from pathlib import PurePosixPath

        return PurePosixPath(self._path_text())

    def _decimal(self) -> Any:
        from decimal import Decimal

        return Decimal(self._text())

    def _uuid(self) -> Any:
        from uuid import UUID

        return UUID(bytes=self._take(16))


_READERS: dict[bytes, Callable[[AnswerReader], Any]] = {
    wire.NONE: lambda _: None,
    wire.TRUE: lambda _: True,
    wire.FALSE: lambda _: False,
    wire.INT: AnswerReader._int,
    wire.BIG_INT: AnswerReader._big_int,
    wire.FLOAT: AnswerReader._float,
    wire.COMPLEX: AnswerReader._complex,
    wire.STR: AnswerReader._str,
    wire.BYTES: AnswerReader._sized,
    wire.BYTEARRAY: lambda of: bytearray(of._sized()),
    wire.LIST: AnswerReader._items,
    wire.TUPLE: lambda of: tuple(of._items()),
    wire.SET: AnswerReader._distinct,
    wire.FROZENSET: lambda of: frozenset(of._distinct()),
    wire.DICT: AnswerReader._dict,
    wire.INTS: lambda of: of._packed("q"),
    wire.FLOATS: lambda of: of._packed("d"),
    wire.DATETIME: AnswerReader._datetime,
    wire.DATE: AnswerReader._date,
    wire.TIME: AnswerReader._time,
    wire.TIMEDELTA: AnswerReader._timedelta,
    wire.PATH: AnswerReader._path,
    wire.PURE_PATH: AnswerReader._pure_path,
    wire.DECIMAL: AnswerReader._decimal,
    wire.UUID: AnswerReader._uuid,
    wire.DATACLASS: AnswerReader._dataclass,
    wire.ENUM: AnswerReader._enum,
}
