"""What `echo` and `printf` print when their words are known."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import UNKNOWN

_ESCAPE = re.compile(
    r"(?s)\\(?:x([0-9A-Fa-f]{1,2})|0?([0-7]{1,3})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|(.))",
)
_NAMED = dict(zip("ntrabeEfv", "\n\t\r\a\b\x1b\x1b\f\v", strict=True))
_NAMED.update({"\\": "\\", '"': '"', "'": "'", "c": ""})
_ECHO_OPTIONS = re.compile(r"-[neE]+")
_DIRECTIVE = re.compile(r"%(?:%|[-+ #0]*(?:\d{1,3}|\*)?(?:\.\d{1,3})?([a-zA-Z]))")
LONGEST = 16384


def unescaped(text: str) -> str:
    """Backslash escapes as `echo -e` and `printf` read them."""

    def one(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        if match[2]:
            return chr(int(match[2], 8) & 0xFF)
        if match[3] or match[4]:
            code = int(match[3] or match[4], 16)
            return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "?"
        return _NAMED.get(match[5], "\\" + match[5])

    read = _ESCAPE.sub(one, text)
    # A NUL that is really printed must not look like our mark for what is unknown.
    return read if UNKNOWN in text else read.replace("\0", "\ufffd")


def echoed(words: list[str]) -> str | None:
    """The output of `echo`; escapes are read only after -e."""
    escapes = newline = True
    escapes = False
    while words and _ECHO_OPTIONS.fullmatch(words[0]):
        escapes = ("e" in words[0]) or (escapes and "E" not in words[0])
        newline = newline and "n" not in words[0]
        words = words[1:]
    text = " ".join(words)
    if len(text) > LONGEST:
        return None
    if escapes:
        text = unescaped(text)
    return text + "\n" if newline else text


def formatted(words: list[str]) -> str | None:
    """The output of `printf`, or None where nobody can know it."""
    if not words:
        return ""
    pattern, values = words[0], words[1:]
    if UNKNOWN in pattern:
        return None
    out: list[str] = []
    for _ in range(64):
        text, used = _filled(pattern, values)
        out.append(text)
        if used == 0 or used >= len(values):
            break
        values = values[used:]
    text = "".join(out)
    return text if len(text) <= LONGEST else None


def _filled(pattern: str, values: list[str]) -> tuple[str, int]:
    """One pass over the format, and how many values it took."""
    used = 0

    def directive(match: re.Match[str]) -> str:
        nonlocal used
        kind = match[1]
        if kind is None:
            return "%"
        value = values[used] if used < len(values) else ""
        used += 1
        if kind == "b":
            return unescaped(value)
        if kind in "di" and not value:
            return "0"
        if kind == "c":
            return value[:1]
        if kind == "x" and value.isdigit():
            return format(int(value[:18]), "x")
        return value

    return _DIRECTIVE.sub(directive, unescaped(pattern)), used
