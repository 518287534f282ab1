"""Untrusted text made fit for a terminal: nothing in it acts, and its width is known.

Attack: a command carries an escape sequence that moves the cursor, a direction override that
reorders what a person reads, or a blank that is not a space. Whoever is asked to approve the
command must see what the shell would see, so every such character is shown as an escape.
"""

from __future__ import annotations

TAB = "    "
INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# Letters, symbols and marks that have a category of their own and yet show nothing.
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def cell(char: str) -> tuple[str, int]:
    """What to show for one character, and how many columns that takes."""
    if " " <= char <= "~":
        return char, 1
    if char == "\t":
        return TAB, len(TAB)
    from unicodedata import category, east_asian_width

    kind = category(char)
    if kind in INVISIBLE or char in BLANK or _selects_a_variant(char):
        shown = escape(char)
        return shown, len(shown)
    if kind in ("Mn", "Me"):
        return char, 0
    return char, 2 if east_asian_width(char) in ("W", "F") else 1


def _selects_a_variant(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def escape(char: str) -> str:
    """A character by its number, as a shell's `$'…'` or Python would write it."""
    number = ord(char)
    if char == "\n":
        return "\\n"
    if char == "\r":
        return "\\r"
    if number <= 0xFF:
        return f"\\x{number:02x}"
    if 0xDC80 <= number <= 0xDCFF:  # a byte that is no UTF-8, as Python keeps it
        return f"\\x{number - 0xDC00:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def harmless(text: str) -> str:
    """The text on one line, with everything invisible or active shown as an escape."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(cell(char)[0] for char in text)


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters, with the cut marked."""
    return text if len(text) <= limit else text[: limit - 3] + "..."
