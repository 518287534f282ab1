"""Reads `$'…'` and decodes every escape that bash knows."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.shell.pieces import Pieces
    from redoma.judge.shell.reader import Reader

BODY = re.compile(r"(?:[^'\\]++|\\.)*+", re.DOTALL)
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


def quote(r: Reader, pieces: Pieces) -> None:
    """`$'…'`."""
    start = r.pos
    text = text_of_quote(r)
    if text is not None:
        pieces.add(text, start, r.pos, quoted=True)


def text_of_quote(r: Reader) -> str | None:
    """What `$'…'` stands for; None, and noted, where it never ends."""
    start = r.pos
    found = BODY.match(r.text, start + 2, r.end)
    close = found.end() if found is not None else r.end
    if not r.text.startswith("'", close, r.end):
        r.pos = max(r.pos, r.end)
        r.fail("a $' quote that never ends", start, r.end)
        return None
    r.pos = close + 1
    return decode(r.raw(start + 2, close))


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
