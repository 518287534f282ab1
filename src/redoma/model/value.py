"""Frozen values with named fields, at a tenth of the import cost of a dataclass.

A hook is a cold process that an agent waits for: `dataclasses` alone costs it more than the
interpreter does. Type checkers read these classes as frozen, keyword-only dataclasses.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, TypeVar, dataclass_transform

    V = TypeVar("V", bound="Value")
else:

    def dataclass_transform(**_):
        return lambda target: target


@dataclass_transform(kw_only_default=True, frozen_default=True)
class ValueType(type):
    """Turns annotated names into slots and keeps their defaults beside the class."""

    def __new__(mcls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> ValueType:
        own = [
            field
            for field, kind in body.get("__annotations__", {}).items()
            if not str(kind).startswith("ClassVar")
        ]
        fields: list[str] = [f for base in bases for f in getattr(base, "_fields", ())]
        defaults: dict[str, Any] = {}
        for base in bases:
            defaults.update(getattr(base, "_defaults", {}))
        for field in own:
            if field in body:
                defaults[field] = body.pop(field)
        body["__slots__"] = tuple(own)
        body["_fields"] = (*fields, *own)
        body["_defaults"] = defaults
        return super().__new__(mcls, name, bases, body)


class Value(metaclass=ValueType):
    """A frozen record: compared by content, hashed by content, changed only by `replace`."""

    if TYPE_CHECKING:
        _fields: ClassVar[tuple[str, ...]]
        _defaults: ClassVar[dict[str, Any]]

    def __init__(self, **given: Any) -> None:
        put = object.__setattr__
        content = {**self._defaults, **given}
        try:
            for field in self._fields:
                put(self, field, content[field])
        except KeyError:
            raise TypeError(f"{type(self).__name__} needs {field!r}") from None
        if len(content) != len(self._fields):
            extra = ", ".join(repr(name) for name in given if name not in self._fields)
            raise TypeError(f"{type(self).__name__} has no {extra}")

    def __setattr__(self, name: str, _value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} is frozen; use replace()")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} is frozen")

    def _content(self) -> tuple[Any, ...]:
        return tuple([getattr(self, field) for field in self._fields])

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash((type(self), self._content()))

    def __repr__(self) -> str:
        inside = ", ".join(f"{field}={getattr(self, field)!r}" for field in self._fields)
        return f"{type(self).__name__}({inside})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._content())


def _rebuild(kind: type[V], content: tuple[Any, ...]) -> V:
    return kind(**dict(zip(kind._fields, content, strict=True)))


def replace(value: V, /, **changes: Any) -> V:
    """A copy of `value` with some fields changed."""
    content = {field: getattr(value, field) for field in value._fields}
    content.update(changes)
    return type(value)(**content)


replace.__module__ = "redoma"


def fields_of(value: Value) -> dict[str, Any]:
    """The fields by name, in order of declaration."""
    return {field: getattr(value, field) for field in value._fields}
