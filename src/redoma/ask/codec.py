"""Questions and answers as they lie in a file: every field, and nothing that was not written so."""

from __future__ import annotations

from enum import Enum

from redoma.model.errors import AskUnavailable
from redoma.model.question import Answer, Choice, Context, Impact, Question, Remember
from redoma.model.risk import Risk
from redoma.model.value import Value, fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    V = TypeVar("V", bound=Value)


def as_object(value: Value) -> dict[str, object]:
    """A question or an answer, ready for JSON."""
    return {name: _plain(field) for name, field in fields_of(value).items()}


def question_from(given: object) -> Question:
    """The question that `as_object` made this of; damage is an error."""
    return _read(Question, given, _QUESTION)


def answer_from(given: object) -> Answer:
    """The answer that `as_object` made this of; damage is an error."""
    return _read(Answer, given, _ANSWER)


def _plain(value: object) -> object:
    if isinstance(value, Value):
        return as_object(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _read(kind: type[V], given: object, readers: dict[str, Callable[[Any], object]]) -> V:
    try:
        if not isinstance(given, dict):
            raise TypeError(f"no object but {type(given).__name__}")
        return kind(**{name: readers.get(name, _text)(value) for name, value in given.items()})
    except (TypeError, ValueError, KeyError) as error:
        raise AskUnavailable(f"a kept {kind.__name__.lower()} is damaged: {error}") from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    return value


def _items(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is no list")
    return value


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(_text, _items(value)))


def _span(value: object) -> tuple[int, int]:
    start, end = _items(value)
    return int(_number(start)), int(_number(end))


_IMPACT: dict[str, Callable[[Any], object]] = {
    "files_affected": _texts,
    "reversible": _truth,
    "network_access": _truth,
}
_CONTEXT: dict[str, Callable[[Any], object]] = {"previous_commands": _texts}
_QUESTION: dict[str, Callable[[Any], object]] = {
    "risk": lambda value: Risk(int(_number(value))),
    "because": _texts,
    "spans": lambda value: tuple(map(_span, _items(value))),
    "impact": lambda value: _read(Impact, value, _IMPACT),
    "context": lambda value: _read(Context, value, _CONTEXT),
    "argvs": lambda value: tuple(map(_texts, _items(value))),
    "joins": _texts,
    "input_unknown": _truth,
    "rules": _texts,
    "timeout_seconds": _number,
    "default_action": Choice,
}
_ANSWER: dict[str, Callable[[Any], object]] = {"choice": Choice, "remember": Remember}
