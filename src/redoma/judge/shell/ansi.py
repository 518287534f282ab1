"""Decodes what stands between `$'` and `'`: every escape that bash knows."""

from __future__ import annotations

import re

ESCAPE = re.compile(
    r"\\(?:x\{([0-9a-fA-F]*)\}?|x([0-9a-fA-F]{1,2})|([0-7]{1,3})"
    r"|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c(\\\\|.)|([abeEfnrtv\\'\"?]))",
    re.DOTALL,
)
SIMPLE = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
DELETE = b"\x7f"
LAST_CODE_POINT = 0x10FFFF


def decode(text: str) -> str:
    """The characters that `$'text'` stands for; bytes that are no UTF-8 become surrogates."""
    if "\\" not in text:
        return text
    parts: list[bytes] = []
    last = 0
    for found in ESCAPE.finditer(text):
        parts.append(_encode(text[last : found.start()]))
        parts.append(_bytes_of(found))
        last = found.end()
    parts.append(_encode(text[last:]))
    whole = b"".join(parts)
    # bash keeps the result as a C string: `$'rm\0x'` is `rm`.
    return whole.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def _encode(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _bytes_of(found: re.Match[str]) -> bytes:
    braced, pair, octal, short, long, control, simple = found.groups()
    if simple is not None:
        return SIMPLE[simple].encode()
    if control is not None:
        if control == "?":
            return DELETE
        first, *rest = _encode(control[-1])
        return bytes([first & 0x1F, *rest])
    if short is not None or long is not None:
        code = int(short or long, 16)
        return _encode(chr(code)) if code <= LAST_CODE_POINT else "\ufffd".encode()
    if octal is not None:
        return bytes([int(octal, 8) & 0xFF])
    return bytes([int((braced if pair is None else pair) or "0", 16) & 0xFF])
