"""Characters that make a command look like another: controls, bidi marks, look-alike letters."""

from __future__ import annotations

import re

from redoma.model.risk import Effect, Fact

_PLAIN = re.compile(r"[\n\t\x20-\x7e]*")
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")
_HIDDEN = frozenset("\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u3164\uffa0")
_SPACES = frozenset("\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\x85")
_DOTS = frozenset("\u3002\uff0e\uff61\u2024\ufe52")
_WORD = re.compile(r"[^\s'\"|&;<>()$`]+")


def deceptions(text: str) -> list[Fact]:
    """A fact for each kind of misleading character, at its first place."""
    if _PLAIN.fullmatch(text):
        return []
    found: dict[str, tuple[int, int]] = {}
    for index, char in enumerate(text):
        code = ord(char)
        if 0x20 <= code < 0x7F or char in "\n\t":
            continue
        kind = _kind(char, code)
        if kind and kind not in found:
            found[kind] = (index, index + 1)
    for match in _WORD.finditer(text):
        word = match[0]
        if not word.isascii() and _mixes_scripts(word):
            found.setdefault("lookalike", match.span())
            break
    return [
        Fact(effect=Effect.DECEIVES, span=span, tags=frozenset((kind,)), detail=kind)
        for kind, span in found.items()
    ]


def _kind(char: str, code: int) -> str:
    if char == "\0":
        return "nul"
    if char == "\r":
        return "carriage-return"
    if char == "\x1b" or 0x80 <= code < 0xA0 and char not in _SPACES:
        return "escape"
    if code < 0x20 or code == 0x7F:
        return "control"
    if char in _BIDI:
        return "bidi"
    if char in _HIDDEN or 0xE0000 <= code <= 0xE007F:
        return "hidden"
    if char in _SPACES:
        return "space"
    if char in _DOTS:
        return "lookalike"
    if 0xD800 <= code < 0xE000:
        return "invalid"
    if 0xFF01 <= code <= 0xFF5E:
        return "lookalike"
    return ""


def _mixes_scripts(word: str) -> bool:
    """ASCII letters beside Cyrillic, Greek or other look-alike alphabets in one word."""
    latin = foreign = False
    for char in word:
        if char.isascii():
            latin = latin or char.isalpha()
        else:
            code = ord(char)
            foreign = foreign or 0x370 <= code <= 0x52F or 0x1D400 <= code <= 0x1D7FF or 0x2C80 <= code < 0x2CFF or 0x530 <= code < 0x590 or 0x13A0 <= code < 0x1400
    return latin and foreign
