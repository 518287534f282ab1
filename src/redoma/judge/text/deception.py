"""Characters that make a command look like another: controls, bidi marks, look-alike letters.

Text in other languages is not deception: Cyrillic or Chinese words, accents, emoji and the marks
that belong to them pass. What counts is a sign that a reader takes for another one.
"""

from __future__ import annotations

import re

from redoma.model.decision import Effect, Fact

DASHES = frozenset(
    "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d\u02d7\u2796\u207b\u208b"
)
"""Signs that look like the one that begins an option."""
_SIGNS = {
    **dict.fromkeys(map(ord, DASHES), "-"),
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u2032"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u2033"), '"'),
    **dict.fromkeys(map(ord, "\u2215\u2044\u29f8\u2571"), "/"),
    **dict.fromkeys(map(ord, "\u01c0\u2223\u2502\u2758"), "|"),
    **dict.fromkeys(map(ord, "\u223c\u02dc"), "~"),
    **dict.fromkeys(map(ord, "\u2028\u2029\x85"), "\n"),
    0x37E: ";",
}
_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u0458\u0501\u04bb\u043c\u043a\u0442"
    "\u0432\u043d\u03bf\u03bd\u03b1\u03b9\u03ba\u03c1\u03c5\u03c7\u0261\u0251\u0131\u0433",
    "aeopcyxisjdhmktbhovaikpuxgair",
)
_UNSEEN = dict.fromkeys(
    map(
        ord,
        "\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff\u00ad\u034f\u180e"
        "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
    )
)
_PLAIN = re.compile(r"[\n\t\x20-\x7e]*")
_OVERRIDES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_DIRECTIONS = frozenset("\u200e\u200f\u061c")
_HIDDEN = frozenset(
    "\u200b\u2060\u2061\u2062\u2063\u2064\ufeff\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u3164\uffa0"
)
_JOINERS = frozenset("\u200c\u200d")
_SPACES = frozenset(
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\x85"
)
_DOTS = frozenset("\u3002\uff0e\uff61\u2024\ufe52")
_CONFUSABLE = frozenset(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u0458\u0501\u04bb\u051b\u051d\u0475\u0432\u043a\u043c\u043d\u0442\u04cf"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0405\u0408\u0501\u051a\u0474"
    "\u03bf\u03bd\u03b1\u03b9\u03ba\u03c1\u03c5\u03c7\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
    "\u0261\u0251\u1d00\u0131\u217c\u2170\u2174\u2179\u212e\u0585\u0578\u057d\u0581\u13a1\u13aa\u13cf\u13da\u13df\u2c9f\u2ca3"
)
_LETTERS = re.compile(r"[^\W\d_]+")
_FLAG = "\U0001f3f4"


def as_seen(text: str) -> str:
    """The text with look-alikes replaced by what they look like, and unseen signs left out."""
    # A carriage return is Enter to a terminal, whatever bash makes of it in a file.
    seen = text.replace("\r\n", "\n").replace("\r", "\n")
    if seen.isascii():
        return seen
    from unicodedata import normalize

    plain: dict[int, str] = {}
    for char in frozenset(seen):
        if not char.isascii():
            same = normalize("NFKC", char)
            if same != char and same.isascii():
                plain[ord(char)] = same
    return seen.translate({**plain, **_LOOKALIKES, **_SIGNS, **_UNSEEN})


def deceptions(text: str) -> list[Fact]:
    """A fact for each kind of misleading character, at its first place."""
    if _PLAIN.fullmatch(text):
        return []
    found: dict[str, tuple[int, int]] = {}
    letters = frozenset(text)
    suspects = frozenset(char for char in letters if _is_suspect(char))
    quoted = _quoted(text) if suspects else []
    for index, char in enumerate(text) if suspects else ():
        if char in suspects:
            kind = _kind(text, index, char, ord(char), quoted=quoted[index])
            if kind and kind not in found:
                found[kind] = (index, index + 1)
    confusable = any(char in _CONFUSABLE or _is_foreign(char) for char in letters)
    for match in _LETTERS.finditer(text) if confusable else ():
        word = match[0]
        if not word.isascii() and _mixes_scripts(word):
            found.setdefault("lookalike", match.span())
            break
    return [
        Fact(effect=Effect.DECEIVES, span=span, tags=frozenset((kind,)), detail=kind)
        for kind, span in found.items()
    ]


def _is_suspect(char: str) -> bool:
    """Whether a character can mislead at all, wherever it stands."""
    code = ord(char)
    if code < 0x20 or 0x7F <= code < 0xA0:
        return char not in "\n\t"
    return (
        char in _OVERRIDES
        or char in _DIRECTIONS
        or char in _JOINERS
        or char in _HIDDEN
        or char in _SPACES
        or char in _DOTS
        or 0xD800 <= code < 0xE000
        or char in DASHES
        or 0xFE00 <= code <= 0xFE0F
        or 0xFF01 <= code <= 0xFF5E
        or 0xE0000 <= code <= 0xE01EF
    )


def _is_mathematical(char: str) -> bool:
    return 0x1D400 <= ord(char) <= 0x1D7FF


def _quoted(text: str) -> list[bool]:
    """For each character whether it stands in quotes, as far as counting them tells."""
    out: list[bool] = []
    quote = ""
    escaped = False
    for char in text:
        out.append(bool(quote))
        if escaped:
            escaped = False
        elif char == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
    return out


def _kind(text: str, index: int, char: str, code: int, *, quoted: bool) -> str:
    before = text[index - 1] if index else ""
    after = text[index + 1] if index + 1 < len(text) else ""
    if char == "\0":
        return "nul"
    if char == "\r":
        return "carriage-return"
    if char == "\x1b" or (0x80 <= code < 0xA0 and char not in _SPACES):
        return "escape"
    if code < 0x20 or code == 0x7F:
        return "control"
    if char in _OVERRIDES:
        return "bidi"
    if char in _DIRECTIONS:
        return "" if _right_to_left(before) or _right_to_left(after) else "bidi"
    if char in _JOINERS:
        # Emoji families and Persian or Indic words need joiners; between ASCII nobody does.
        return "" if before > "\x7f" and after > "\x7f" else "hidden"
    if 0xE0000 <= code <= 0xE007F:
        return "" if _FLAG in text[max(0, index - 8) : index] else "hidden"
    if char in _HIDDEN or 0xE0100 <= code <= 0xE01EF:
        return "hidden"
    if 0xFE00 <= code <= 0xFE0F:
        # A variation belongs to the sign before it; letters of ASCII have none.
        return "hidden" if before.isascii() and before.isalpha() else ""
    if char in DASHES:
        return _dash(before, after, quoted=quoted)
    if char in _SPACES:
        return "" if quoted else "space"
    if char in _DOTS:
        return "lookalike" if _ascii_word(before) and _ascii_word(after) else ""
    if 0xD800 <= code < 0xE000:
        return "invalid"
    if 0xFF01 <= code <= 0xFF5E:
        beside = _ascii_word(before) or _ascii_word(after)
        return "lookalike" if beside and (not quoted or char.isalnum()) else ""
    return ""


def _dash(before: str, after: str, *, quoted: bool) -> str:
    """A dash of print where an option would begin; elsewhere it is only text."""
    begins = not before or before.isspace() or before in DASHES
    return "lookalike" if begins and not quoted and _ascii_word(after) else ""


def _right_to_left(char: str) -> bool:
    return "\u0590" <= char <= "\u08ff" or "\ufb1d" <= char <= "\ufefc"


def _ascii_word(char: str) -> bool:
    return char.isascii() and char.isalnum()


def _mixes_scripts(word: str) -> bool:
    """ASCII letters beside letters of another alphabet that look like ASCII, in one run."""
    latin = any(char.isascii() for char in word)
    return latin and any(char in _CONFUSABLE or _is_foreign(char) for char in word)


def _is_foreign(char: str) -> bool:
    return "\u0400" <= char <= "\u052f" or _is_mathematical(char)
