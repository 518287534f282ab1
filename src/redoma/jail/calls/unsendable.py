"""Finds the part of a call that cannot be sent, so that the error names it."""

from __future__ import annotations

import functools

from redoma.model.call_errors import NotSendable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from redoma.model.call import Call

_DEEPEST = 8
_MOST = 200


def explain(call: Call, error: Exception, dumps: Callable[[Any], bytes]) -> NotSendable:
    """The error that says which part it was, as deep as it can be told."""
    parts: list[tuple[str, Any]] = [(f"argument {at}", v) for at, v in enumerate(call.args, 1)]
    parts += [(f"argument {name}", value) for name, value in call.kwargs.items()]
    parts += [("the function", call.target)]
    where, culprit = "", None
    for name, value in parts:
        if not _goes(value, dumps):
            where, culprit = _deepest(name, value, dumps)
            break
    if not where:
        return NotSendable(f"the call cannot be sent: {error}", where="the call")
    return NotSendable(
        f"{where} cannot be sent: it is a {type(culprit).__name__} ({error})",
        where=where,
        hint="make it inside the function, or pass what it is made from",
    )


def _goes(value: Any, dumps: Callable[[Any], bytes]) -> bool:
    try:
        dumps(value)
    except Exception:
        return False
    return True


def _deepest(name: str, value: Any, dumps: Callable[[Any], bytes]) -> tuple[str, Any]:
    for _ in range(_DEEPEST):
        below = next(((step, part) for step, part in _parts(value) if not _goes(part, dumps)), None)
        if below is None:
            break
        name, value = name + below[0], below[1]
    return name, value


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What a value is made of, each with how to get there."""
    if isinstance(value, dict):
        for key, item in list(value.items())[:_MOST]:
            yield f"[{key!r}]", item
    elif isinstance(value, list | tuple):
        for at, item in enumerate(value[:_MOST]):
            yield f"[{at}]", item
    elif isinstance(value, functools.partial):
        yield ".func", value.func
        yield ".args", value.args
        yield ".keywords", value.keywords
    else:
        yield from _inside(value)


def _inside(value: Any) -> Iterator[tuple[str, Any]]:
    code = getattr(value, "__code__", None)
    for name, cell in zip(
        getattr(code, "co_freevars", ()), getattr(value, "__closure__", None) or (), strict=False
    ):
        try:
            yield f"'s variable {name}", cell.cell_contents
        except ValueError:
            continue  # not filled yet
    known = getattr(value, "__globals__", {})
    for name in getattr(code, "co_names", ()):
        if name in known and known[name] is not value:
            yield f"'s global {name}", known[name]
    if getattr(value, "__self__", None) is not None:
        yield ".__self__", value.__self__
    held = getattr(value, "__dict__", None)
    if isinstance(held, dict) and not isinstance(value, type):
        for name, item in list(held.items())[:_MOST]:
            yield f".{name}", item
