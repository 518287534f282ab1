"""A command as it looks: what a reader sees or a terminal takes, where bash reads otherwise."""

from __future__ import annotations

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
_LETTERS = str.maketrans(
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
    return seen.translate({**plain, **_LETTERS, **_SIGNS, **_UNSEEN})
