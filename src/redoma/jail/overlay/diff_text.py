"""Whether bytes are text, and in which encoding; a guess that loses nothing."""

from __future__ import annotations

import codecs

# Longer marks first: UTF-32 begins like UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LOOKED_AT = 8000  # as git looks for a NUL
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\f\r\x1b")) + b"\x7f"
_MOST_CONTROLS = 0.02
_FEW_CONTROLS = 3  # a short text may hold an escape sequence


def encoding_of(data: bytes) -> str:
    """The name of a text's encoding, or nothing for what is no text."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name if _decodes(data, name) else ""
    if b"\0" in data[:_LOOKED_AT]:
        return ""
    if data.isascii():
        return "" if _noisy(data) else "ascii"
    if _decodes(data, "utf-8"):
        return "" if _noisy(data) else "utf-8"
    return "" if _noisy(data) else "latin-1"


def comparable(data: bytes, encoding: str) -> bytes:
    """The text so that a line feed is one byte; the bytes themselves wherever they are so."""
    if encoding in ("utf-16", "utf-32"):
        return data.decode(encoding).encode("utf-8", "surrogatepass")
    return data


def shown(line: bytes, encoding: str) -> str:
    """A line for a person; still to be made harmless."""
    if encoding == "latin-1":
        return line.decode("latin-1")
    return line.decode("utf-8", "surrogateescape")


def same_family(one: str, other: str) -> str:
    """The encoding in which both sides can be compared, or nothing where there is none."""
    if not one or not other:
        return ""
    wide = {"utf-16", "utf-32"}
    if one == other:
        return one
    if (one in wide) != (other in wide):
        return ""
    if one in wide:
        return one
    return "latin-1" if "latin-1" in (one, other) else "utf-8"


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _noisy(data: bytes) -> bool:
    """More control characters than any text has."""
    sample = data[:_LOOKED_AT]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return controls > max(_FEW_CONTROLS, _MOST_CONTROLS * len(sample))
