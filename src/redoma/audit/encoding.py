"""What is hashed and what is stored: text that can be read back, and one spelling for a row."""

from __future__ import annotations

from json import JSONEncoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

DEEPEST = 32
_LARGEST = 1.7976931348623157e308
_IN_ONE_LINE = JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def storable(text: str) -> str:
    """The text as SQLite keeps it whole: a byte that is no UTF-8, and NUL, by their numbers.

    Attack: SQL functions stop at NUL, so that a search would not see what stands behind it.
    """
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode()
    return text.replace("\0", "\\x00") if "\0" in text else text


def json_text(value: object, clean: Callable[[str], str]) -> str:
    """A JSON value in ASCII on one line, each string cleaned."""
    return _IN_ONE_LINE(_plain(value, clean, 0))


def _plain(value: object, clean: Callable[[str], str], depth: int) -> object:
    if isinstance(value, str):
        return clean(value)
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float):
        # JSON has no spelling for those that are no number.
        return value if -_LARGEST <= value <= _LARGEST else None
    if depth >= DEEPEST:
        raise ValueError(f"the details of an event are nested deeper than {DEEPEST}")
    if isinstance(value, dict):
        cleaned = {}
        for name, each in value.items():
            if not isinstance(name, str):
                raise TypeError(f"a name in the details of an event is text, not {name!r}")
            cleaned[clean(name)] = _plain(each, clean, depth + 1)
        return cleaned
    if isinstance(value, (list, tuple)):
        return [_plain(each, clean, depth + 1) for each in value]
    raise TypeError(f"the details of an event are JSON; {type(value).__name__} is not")


def row_bytes(row: tuple[Any, ...]) -> bytes:
    """One spelling for one row: lengths stand before the texts, so that no text can pose as two.

    Raises TypeError or ValueError where a column has another type than it was written with.
    """
    seq, at, kind, run, session, caller, command, digest, details = row
    sizes = (
        f"{seq:d} {at:d} {len(kind)} {len(run)} {len(session)} {len(caller)} {len(command)} "
        f"{len(digest)} {len(details)}\n"
    )
    return "".join((sizes, kind, run, session, caller, command, digest, details)).encode()
