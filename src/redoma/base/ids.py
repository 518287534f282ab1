"""Names for things that happen: unguessable, and made without importing anything."""

from __future__ import annotations

import os

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that is read as another: no i, l, o, 0, 1


def short_id() -> str:
    """A name that a person can type: ten letters and digits, about fifty bits."""
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in os.urandom(10))


def uuid() -> str:
    """A random UUID (version 4) in its usual spelling."""
    drawn = bytearray(os.urandom(16))
    drawn[6] = drawn[6] & 0x0F | 0x40
    drawn[8] = drawn[8] & 0x3F | 0x80
    text = drawn.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
