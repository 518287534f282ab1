"""What a program may pass as an argument: its type and its range, or an error that names it.

A wrong type is never guessed at: `"no"` is true to Python, `True` is one, and a single path given
where a list of paths is meant is a list of letters.
"""

from __future__ import annotations

from redoma.model.errors import UsageError
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_LONGEST_SHOWN = 60


class WrongType(UsageError, TypeError):
    """An argument is of another type than it has to be."""

    code = "wrong-type"


class WrongValue(UsageError, ValueError):
    """An argument has the right type and a value that it cannot have."""

    code = "wrong-value"


def shown(given: object) -> str:
    """A value as an error shows it: short, and never by an object's own word for itself."""
    if given is None or type(given) in (bool, int, float, str, bytes):
        try:
            text = repr(given)
        except ValueError:  # an integer of more digits than Python prints
            return "a number too long to show"
        return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
    return f"a {type(given).__name__}"


def flag(name: str, given: object) -> bool:
    """True or False itself."""
    # Attack: "no", "false" and "0" are true to Python, and would open what they were to close.
    if given is not True and given is not False:
        raise WrongType(
            Message("{name}: True or False is needed, not {given}", name=name, given=shown(given))
        )
    return given is True


def text(name: str, given: object) -> str:
    """A text without a NUL byte."""
    if not isinstance(given, str):
        raise WrongType(
            Message("{name}: a text is needed, not {given}", name=name, given=shown(given))
        )
    if "\0" in given:
        raise WrongValue(Message("{name}: a NUL byte cannot be part of it", name=name))
    return given


def path(name: str, given: object) -> str:
    """A path as text, also from a `pathlib.Path`."""
    as_path = getattr(type(given), "__fspath__", None)
    found = given if as_path is None else as_path(given)
    if not isinstance(found, str):
        raise WrongType(
            Message("{name}: a path is needed, not {given}", name=name, given=shown(given))
        )
    return text(name, found)


def many(name: str, given: Any, each: Callable[[str, object], Any], what: str) -> tuple[Any, ...]:
    """Every item of a list, a tuple or a set; one item alone is an error."""
    # Attack: "/tmp" where ["/tmp"] is meant gives "/", "t", "m" and "p".
    one = isinstance(given, str | bytes | bytearray) or hasattr(type(given), "__fspath__")
    if one or hasattr(type(given), "keys") or not hasattr(type(given), "__iter__"):
        raise WrongType(
            Message(
                "{name}: a list of {what} is needed, not {given}",
                name=name,
                what=what,
                given=shown(given),
            )
        )
    return tuple(each(name, item) for item in given)


def texts(name: str, given: object, what: str = "texts") -> tuple[str, ...]:
    """A list of texts."""
    return many(name, given, text, what)


def paths(name: str, given: object) -> tuple[str, ...]:
    """A list of paths, each as text."""
    return many(name, given, path, "paths")


def whole(name: str, given: object, *, least: int = 0, most: int = 1 << 62) -> int:
    """A whole number between two others."""
    if isinstance(given, bool) or not isinstance(given, int):
        raise WrongType(
            Message("{name}: a whole number is needed, not {given}", name=name, given=shown(given))
        )
    if not least <= given <= most:
        above = (
            Message("of at least {least}", least=least)
            if given < least
            else Message("of at most {most}", most=most)
        )
        raise WrongValue(
            Message(
                "{name}: a whole number {above} is needed, not {given}",
                name=name,
                above=above,
                given=shown(given),
            )
        )
    return given


def number(name: str, given: object, *, most: float = 1e15) -> float:
    """A number above zero; neither `nan` nor an endless one."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise WrongType(
            Message("{name}: a number is needed, not {given}", name=name, given=shown(given))
        )
    if not 0 < given <= most:
        raise WrongValue(
            Message(
                "{name}: a number above 0 is needed, not {given}", name=name, given=shown(given)
            )
        )
    return given


def named(name: str, given: Any, each: Callable[[str, object], Any]) -> dict[str, Any]:
    """Values by name, each of them checked under its own."""
    if not hasattr(type(given), "keys"):
        raise WrongType(
            Message(
                "{name}: names with values are needed, not {given}", name=name, given=shown(given)
            )
        )
    return {text(name, key): each(f"{name}[{shown(key)}]", given[key]) for key in given}
