"""Cuts code of many languages into names, strings, backtick commands and signs."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import UNKNOWN

NAME, STRING, COMMAND, SIGN = "name", "string", "command", "sign"
MOST = 8_000

_NAME = re.compile(r"[$@%&]?[A-Za-z_][\w]*(?:(?:\.|::|->|:(?=[A-Za-z_]))[A-Za-z_]\w*[?!]?)*[?!]?")
_NUMBER = re.compile(r"0[xX][0-9A-Fa-f]+|\d+")
_BLANKS = re.compile(r"[ \t\r]+")
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[0-7]{3}|.)", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "e": "\x1b"}
# What nothing closes reaches to the end, so that it is looked through once.
_HOLES = {
    "javascript": re.compile(r"\$\{[^}]*+(?:\}|\Z)"),
    "ruby": re.compile(r"#\{[^}]*+(?:\}|\Z)"),
    "perl": re.compile(r"[$@]\{?\w++\}?(?:\[[^\]]*+(?:\]|\Z)|\{[^}]*+(?:\}|\Z))?"),
    "php": re.compile(r"\{\$[^}]*+(?:\}|\Z)|\$\w++(?:\[[^\]]*+(?:\]|\Z)|->\w++)*+"),
    "julia": re.compile(r"\$\([^)]*+(?:\)|\Z)|\$\w+"),
    "elixir": re.compile(r"#\{[^}]*+(?:\}|\Z)"),
    "groovy": re.compile(r"\$\{[^}]*+(?:\}|\Z)|\$\w+"),
    "tcl": re.compile(r"\$\w+|\[[^\]]*+(?:\]|\Z)"),
}
_LINE_COMMENTS = {
    **dict.fromkeys(("javascript", "php", "groovy"), "//"),
    **dict.fromkeys(("lua", "applescript", "haskell"), "--"),
    **dict.fromkeys(("perl", "ruby", "r", "julia", "elixir"), "#"),
}
_QUOTE_WORDS = {
    "perl": re.compile(r"(q[qwx]?)\s*([(\[{<|!/~])"),
    "ruby": re.compile(r"(%[qQxwWrs]?)([(\[{<|!/~])"),
}
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}


class Token:
    """One piece of code: its kind, its text, and what stood in it before escapes were read."""

    __slots__ = ("kind", "text")

    def __init__(self, kind: str, text: str) -> None:
        self.kind = kind
        self.text = text

    def __repr__(self) -> str:
        return f"{self.kind}:{self.text!r}"


def tokens(text: str, language: str, held: dict[str, str] | None = None) -> list[Token]:
    """The tokens in order; what an interpolation would put into a string is marked unknown."""
    cutter = _Cutter(text, language, held or {})
    out: list[Token] = []
    while cutter.at < len(text) and len(out) < MOST:
        token = cutter.next(out[-1] if out else None)
        if token is not None:
            out.append(token)
    return out


class _Cutter:
    def __init__(self, text: str, language: str, held: dict[str, str]) -> None:
        self.text = text
        self.language = language
        self.held = held
        self.at = 0
        self.comment = _LINE_COMMENTS.get(language, "")

    def next(self, before: Token | None) -> Token | None:
        text, at = self.text, self.at
        blank = _BLANKS.match(text, at)
        if blank:
            self.at = blank.end()
            return None
        if (
            self.comment
            and text.startswith(self.comment, at)
            and not (self.comment == "#" and text[at + 1 : at + 2] == "{")
        ):
            self.at = text.find("\n", at) if "\n" in text[at:] else len(text)
            return None
        if text.startswith("/*", at) and self.language in ("javascript", "php", "groovy"):
            end = text.find("*/", at + 2)
            self.at = end + 2 if end >= 0 else len(text)
            return None
        quoted = self._quoted(at)
        if quoted is not None:
            return quoted
        name = _NAME.match(text, at)
        if name:
            self.at = name.end()
            return Token(NAME, name[0])
        number = _NUMBER.match(text, at)
        if number:
            self.at = number.end()
            return Token(SIGN, number[0])
        self.at += 1
        del before
        return Token(SIGN, text[at])

    def _quoted(self, at: int) -> Token | None:
        text, language = self.text, self.language
        words = _QUOTE_WORDS.get(language)
        if words is not None:
            match = words.match(text, at)
            if match:
                body, self.at = _balanced(text, match.end(), match[2])
                if match[1] in ("qx", "%x"):
                    return Token(COMMAND, self._filled(body))
                return Token(STRING, self._filled(body) if match[1] in ("qq", "%", "%Q") else body)
        if text.startswith("[[", at) and language == "lua":
            end = text.find("]]", at)
            self.at = end + 2 if end >= 0 else len(text)
            return Token(STRING, text[at + 2 : end if end >= 0 else len(text)])
        char = text[at]
        if char not in "'\"`":
            return None
        triple = char * 3
        if text.startswith(triple, at) and language in ("julia", "elixir", "groovy"):
            end = text.find(triple, at + 3)
            self.at = end + 3 if end >= 0 else len(text)
            return Token(STRING, self._filled(text[at + 3 : end if end >= 0 else len(text)]))
        body, self.at = _until(text, at + 1, char)
        if char == "`":
            if language == "javascript":
                return Token(STRING, self._filled(_unescaped(body)))
            return Token(COMMAND, self._filled(body))
        if char == "'":
            plain = language in ("perl", "ruby", "php")
            return Token(STRING, body.replace("\\'", "'") if plain else _unescaped(body))
        if language == "javascript":
            return Token(STRING, _unescaped(body))
        return Token(STRING, _unescaped(self._filled(body)))

    def _filled(self, body: str) -> str:
        holes = _HOLES.get(self.language)
        if holes is None:
            return body
        return holes.sub(
            lambda m: self.held.get(m[0].strip("${}#"), self.held.get(m[0], UNKNOWN)), body
        )


def _until(text: str, at: int, quote: str) -> tuple[str, int]:
    start = at
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        if text[at] == quote:
            return text[start:at], at + 1
        at += 1
    return text[start:], len(text)


def _balanced(text: str, at: int, opening: str) -> tuple[str, int]:
    closing = _CLOSING.get(opening, opening)
    start, depth = at, 1
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        if text[at] == closing:
            depth -= 1
            if depth == 0:
                return text[start:at], at + 1
        elif text[at] == opening:
            depth += 1
        at += 1
    return text[start:], len(text)


def _unescaped(body: str) -> str:
    if "\\" not in body:
        return body

    def meant(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "xu" and len(code) > 1:
            return chr(int(code[1:], 16))
        if len(code) == 3:
            return chr(int(code, 8))
        return _SIMPLE.get(code, code)

    return _ESCAPE.sub(meant, body)
