"""Writes a value as an answer, inside the sandbox; what has no form as data is named by path."""

from __future__ import annotations

from enum import Enum

from redoma.jail.calls import wire
from redoma.model.call import DEEPEST, LARGEST
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_LONGEST_KEY = 60
_SCALARS = frozenset((bool, int, float, complex, str, bytes))
# What makes data of a value, by the method that its class has; the first that it has is named.
_MADE_DATA = ("tolist", "to_dict", "to_list", "model_dump", "asdict", "item")


class NoForm(Exception):
    """A part of a value cannot come back; `where` is the path to it."""

    def __init__(self, why: str, remedy: str = "", about: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.where = ""
        # What would help, by its name outside; and the type that it is about.
        self.remedy = remedy
        self.about = about

    def below(self, step: str) -> NoForm:
        """The same, seen from one container further out."""
        if len(self.where) < 400:
            self.where = step + self.where
        return self


class AnswerWriter:
    """One answer in the making."""

    def __init__(
        self, declared: tuple[type, ...] = (), *, largest: int = LARGEST, deepest: int = DEEPEST
    ) -> None:
        self.data = bytearray()
        self._declared = {kind: place for place, kind in enumerate(declared)}
        self._largest = largest
        self._left = deepest
        self._parts = largest * wire.ROOM // wire.EACH

    def put(self, value: Any) -> None:
        """Appends a value; subclasses of plain types go as what they are subclasses of."""
        kind = type(value)
        self._parts -= 1
        if self._parts < 0:
            raise NoForm("has more parts than can come back")
        place = self._declared.get(kind)
        if place is not None:
            self._declared_value(value, place)
        else:
            write = _WRITERS.get(kind) or _inherited(kind)
            if write is None:
                raise _unfit(kind)
            write(self, value)
        if len(self.data) > self._largest:
            raise NoForm(
                Message(
                    "is larger than the {size} MiB that can come back", size=self._largest >> 20
                )
            )

    def _sized(self, tag: bytes, data: bytes | bytearray) -> None:
        if len(data) > self._largest:
            raise NoForm(
                Message(
                    "is larger than the {size} MiB that can come back", size=self._largest >> 20
                )
            )
        self.data += tag + wire.LENGTH.pack(len(data)) + data

    def _int(self, value: int) -> None:
        # Of a subclass the number counts, not what it says of itself.
        value = int.__add__(value, 0)
        if _LEAST <= value <= _MOST:
            self.data += wire.INT + wire.INT_8.pack(value)
        else:
            size = value.bit_length() // 8 + 1
            self._sized(wire.BIG_INT, value.to_bytes(size, "little", signed=True))

    def _float(self, value: float) -> None:
        self.data += wire.FLOAT + wire.FLOAT_8.pack(value)

    def _complex(self, value: complex) -> None:
        self.data += wire.COMPLEX + wire.FLOATS_2.pack(value.real, value.imag)

    def _str(self, value: str) -> None:
        self._sized(wire.STR, str.encode(value, "utf-8", "surrogatepass"))

    def _list(self, value: list[Any]) -> None:
        kinds = set(map(type, value)) if len(value) > 8 else set()
        if kinds == {int} and min(value) >= _LEAST and max(value) <= _MOST:
            self._packed(wire.INTS, "q", value)
        elif kinds == {float}:
            self._packed(wire.FLOATS, "d", value)
        else:
            self._items(wire.LIST, list(list.__iter__(value)))

    def _packed(self, tag: bytes, code: str, value: list[Any]) -> None:
        from array import array
        from sys import byteorder

        packed = array(code, value)
        if byteorder == "big":
            packed.byteswap()
        self._sized(tag, packed.tobytes())

    def _tuple(self, value: tuple[Any, ...]) -> None:
        self._items(wire.TUPLE, list(tuple.__iter__(value)))

    def _items(self, tag: bytes, items: list[Any], step: str = "[{}]") -> None:
        self._enter()
        self.data += tag + wire.LENGTH.pack(len(items))
        for at, item in enumerate(items):
            try:
                self.put(item)
            except NoForm as error:
                raise error.below(step.format(at)) from None
        self._left += 1

    def _set(self, value: set[Any]) -> None:
        self._items(wire.SET, list(set.__iter__(value)), "{{…}}")

    def _frozenset(self, value: frozenset[Any]) -> None:
        self._items(wire.FROZENSET, list(frozenset.__iter__(value)), "{{…}}")

    def _dict(self, value: dict[Any, Any]) -> None:
        self._enter()
        items = list(dict.items(value))
        self.data += wire.DICT + wire.LENGTH.pack(len(items))
        for key, item in items:
            try:
                self.put(key)
                self.put(item)
            except NoForm as error:
                raise error.below(f"[{_key(key)}]") from None
        self._left += 1

    def _enter(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise NoForm("holds itself, or is nested too deeply")

    def _declared_value(self, value: Any, place: int) -> None:
        if isinstance(value, Enum):
            self.data += wire.ENUM + wire.PLACE.pack(place)
            self._str(value.name or "")
            self.put(value.value)
            return
        self._enter()
        names = list(getattr(type(value), "__dataclass_fields__", ()))
        self.data += wire.DATACLASS + wire.PLACE.pack(place) + wire.LENGTH.pack(len(names))
        for name in names:
            try:
                self._str(name)
                self.put(getattr(value, name))
            except NoForm as error:
                raise error.below(f".{name}") from None
        self._left += 1

    def _datetime(self, value: Any) -> None:
        self.data += wire.DATETIME + (b"\1" if value.fold else b"\0")
        self._str(value.isoformat())

    def _date(self, value: Any) -> None:
        self.data += wire.DATE
        self._str(value.isoformat())

    def _time(self, value: Any) -> None:
        self.data += wire.TIME + (b"\1" if value.fold else b"\0")
        self._str(value.isoformat())

    def _timedelta(self, value: Any) -> None:
        self.data += wire.TIMEDELTA
        self.data += wire.SPAN.pack(value.days, value.seconds, value.microseconds)

    def _text(self, tag: bytes, value: Any) -> None:
        self.data += tag
        self._str(str(value))

    def _uuid(self, value: Any) -> None:
        self.data += wire.UUID + value.bytes

    def _number(self, value: Any) -> None:
        """A scalar of NumPy's goes as the number, the truth or the time that it is."""
        plain = value.item()
        kind = type(plain)
        # Of a time in nanoseconds `item` is a bare number, which would be taken for another thing.
        is_time = type(value).__name__ in ("datetime64", "timedelta64")
        known = kind in _SCALARS or (kind.__module__ == "datetime" and is_time)
        if not known or (is_time and kind is int):
            raise NoForm(
                Message(
                    "is a {kind}: str(…) or .astype(…) makes it data", kind=type_name(type(value))
                )
            )
        self.put(plain)


def _key(key: object) -> str:
    shown = repr(key) if type(key) in (str, int, float, bool, bytes, tuple) else type(key).__name__
    return shown if len(shown) <= _LONGEST_KEY else shown[: _LONGEST_KEY - 1] + "…"


_WRITERS: dict[type, Callable[[AnswerWriter, Any], None]] = {
    type(None): lambda to, _: to.data.extend(wire.NONE),
    bool: lambda to, value: to.data.extend(wire.TRUE if value else wire.FALSE),
    int: AnswerWriter._int,
    float: AnswerWriter._float,
    complex: AnswerWriter._complex,
    str: AnswerWriter._str,
    bytes: lambda to, value: to._sized(wire.BYTES, value),
    bytearray: lambda to, value: to._sized(wire.BYTEARRAY, value),
    list: AnswerWriter._list,
    tuple: AnswerWriter._tuple,
    set: AnswerWriter._set,
    frozenset: AnswerWriter._frozenset,
    dict: AnswerWriter._dict,
}
# By module and name: none of these modules is loaded here unless the function loaded it.
_BY_NAME: dict[tuple[str, str], Callable[[AnswerWriter, Any], None]] = {
    ("datetime", "datetime"): AnswerWriter._datetime,
    ("datetime", "date"): AnswerWriter._date,
    ("datetime", "time"): AnswerWriter._time,
    ("datetime", "timedelta"): AnswerWriter._timedelta,
    ("decimal", "Decimal"): lambda to, value: to._text(wire.DECIMAL, value),
    ("uuid", "UUID"): AnswerWriter._uuid,
    ("pathlib", "PosixPath"): lambda to, value: to._text(wire.PATH, value),
    ("pathlib._local", "PosixPath"): lambda to, value: to._text(wire.PATH, value),
    ("pathlib", "PurePosixPath"): lambda to, value: to._text(wire.PURE_PATH, value),
    ("pathlib._local", "PurePosixPath"): lambda to, value: to._text(wire.PURE_PATH, value),
    ("numpy", "generic"): AnswerWriter._number,
}


def _inherited(kind: type) -> Callable[[AnswerWriter, Any], None] | None:
    """How the nearest plain class that a class comes from is written."""
    if issubclass(kind, Enum) or kind.__name__ == "NaTType":
        return None  # as a bare value it would be taken for something else
    for base in kind.__mro__:
        known = _WRITERS.get(base) or _BY_NAME.get((base.__module__, base.__name__))
        if known is not None:
            return known
    return None


def type_name(kind: type) -> str:
    """A type's name as people write it: with its module, where it has one of its own."""
    module, name = str(kind.__module__), str(kind.__qualname__)
    return name if module == "builtins" else f"{module}.{name}"


def _unfit(kind: type) -> NoForm:
    name = type_name(kind)
    if name in ("generator", "async_generator"):
        return NoForm(Message("is a {name}, not its items", name=name), "collect")
    if hasattr(kind, "__dataclass_fields__") or issubclass(kind, Enum):
        return NoForm(
            Message("is a {name}, which was not expected", name=name), "declare", kind.__name__
        )
    made = next((each for each in _MADE_DATA if callable(getattr(kind, each, None))), "")
    if made:
        return NoForm(Message("is a {name}: .{made}() makes it data", name=name, made=made))
    return NoForm(Message("is a {name}, which is no data", name=name))
