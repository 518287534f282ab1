"""JSON by the core that `json` rests on: the rest of that loads too slowly."""

from __future__ import annotations

from _json import encode_basestring_ascii, make_encoder, make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def written(value: object) -> str:
    """A JSON text on one line, in ASCII."""
    pieces: Any = make_encoder(
        markers=None,
        default=_refuse,
        encoder=encode_basestring_ascii,
        indent=None,
        key_separator=": ",
        item_separator=", ",
        sort_keys=False,
        skipkeys=False,
        allow_nan=False,
    )
    return "".join(pieces(value, 0))


def read(text: str) -> Any:
    """The value of a JSON text; ValueError where it is none."""
    start = len(text) - len(text.lstrip(_BLANKS))
    try:
        value, end = _scanner(text, start)
    except StopIteration:
        raise ValueError("this is no JSON") from None
    if text[end:].strip(_BLANKS):
        raise ValueError("something stands behind the JSON")
    return value


def _refuse(value: object) -> object:
    raise TypeError(f"{type(value).__name__} has no place in JSON")


class _Reading:
    """How a text is read: as `json.loads` does it."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


_BLANKS = " \t\n\r"
_scanner: Any = make_scanner(_Reading)  # type: ignore[arg-type] # any that says how
