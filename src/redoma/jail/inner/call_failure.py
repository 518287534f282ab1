"""Says as data how a call failed; whatever an exception does when it is asked about itself."""

from __future__ import annotations

from redoma.jail.calls import form
from redoma.jail.calls.writing import NoForm, Writer, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from redoma.jail.inner.call_watch import Watch

_LONGEST_MESSAGE = 16 << 10
_LONGEST_TRACEBACK = 64 << 10
_LONGEST_ARGUMENTS = 256 << 10
_OWN = ("/tmp/", "/var/tmp/")
_MOST_ABOUT = 5


class TooManyItems(Exception):
    """A generator has more items than are collected."""


class NotLoaded(Exception):
    """The call cannot be made into objects here: a module of it is missing, as it may be."""


def described(error: BaseException, watch: Watch) -> bytearray:
    """The answer of a call that ended with this exception."""
    try:
        return _described(error, watch)
    except BaseException:  # an exception that breaks whoever looks at it
        return _answer(form.RAISED, {"type": "Exception", "message": "it cannot be described"})


def _described(error: BaseException, watch: Watch) -> bytearray:
    kind = type(error)
    if isinstance(error, NoForm):
        told_unfit: dict[str, object] = {"where": f"result{error.where}", "message": error.why}
        told_unfit |= {"remedy": error.remedy, "about": error.about[:100]}
        return _answer(form.UNFIT, told_unfit)
    if isinstance(error, TooManyItems):
        return _answer(form.UNFIT, {"where": "", "message": str(error)})
    if isinstance(error, NotLoaded):
        told = {"where": "the call", "message": str(error), "traceback": _traceback(error)}
        return _answer(form.UNFIT, dict(told))
    refusal = watch.refusal(error)
    trace = _safely(lambda: _traceback(error), "")
    if refusal is not None:
        return _answer(
            form.REFUSED,
            {
                "kind": refusal.kind,
                "what": refusal.what[:_LONGEST_MESSAGE],
                "constraint": refusal.constraint,
                "traceback": trace,
            },
        )
    raised: dict[str, object] = {
        "type": _safely(lambda: type_name(kind), "Exception"),
        "message": _safely(lambda: _text(error), ""),
        "traceback": trace,
        "cause": _safely(lambda: _cause(error), ""),
        "args": _safely(lambda: _arguments(error), None),
    }
    filename = getattr(error, "filename", None) if isinstance(error, OSError) else None
    if isinstance(filename, str):
        raised["filename"] = filename[:_LONGEST_MESSAGE]
        raised["tried"] = watch.tried(filename)
    else:
        raised["about"] = _safely(lambda: _about(error, watch), [])
    return _answer(form.RAISED, raised)


def _answer(ended: bytes, told: dict[str, object]) -> bytearray:
    to = Writer()
    to.data += form.MAGIC + ended
    to.put(told)
    return to.data


def _safely(ask: Callable[[], Any], otherwise: Any) -> Any:
    try:
        return ask()
    except BaseException:
        return otherwise


def _text(error: BaseException) -> str:
    return str(error)[:_LONGEST_MESSAGE]


def _traceback(error: BaseException) -> str:
    from traceback import format_exception

    text = "".join(format_exception(error))
    return text if len(text) <= _LONGEST_TRACEBACK else "…" + text[-_LONGEST_TRACEBACK:]


def _cause(error: BaseException) -> str:
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return f"{type_name(type(cause))}: {_text(cause)}" if cause is not None else ""


def _about(error: BaseException, watch: Watch) -> list[str]:
    """Paths in the call's own temporary directories: whether they are there, others know."""
    return [path for path in watch.about(error) if path.startswith(_OWN)][:_MOST_ABOUT]


def _arguments(error: BaseException) -> tuple[object, ...] | None:
    """The exception's arguments, where all of them are data."""
    given = BaseException.args.__get__(error)  # type: ignore[attr-defined]
    Writer(largest=_LONGEST_ARGUMENTS).put(given)
    return tuple(given)
