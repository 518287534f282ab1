"""What the arguments of a call are worth: strings joined, decoded, or held by a name."""

from __future__ import annotations

import base64
import binascii
import builtins
import codecs
import re

from redoma.judge.interpret.arg import UNKNOWN
from redoma.judge.languages.others.known_calls import DECODERS

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
_JOINING = frozenset(("+", ".", "~", "<>", "&"))
_ENDING = frozenset((";", "\n", "}", ")"))
_STATEMENT_WORDS = frozenset("if unless or and while for until do then end foreach".split())
LONGEST_ARGUMENTS = 300
_HOME = re.compile(
    r"(?:require\((?:node:)?os\)\.homedir\(\)|os\.homedir\(\)|homedir\(\)|Dir\.home(?:\(\))?"
    r"|ENV(?:\.fetch)?[\[(]HOME[\])]|process\.env\.HOME|process\.env\[HOME\]|\$ENV\{HOME\}"
    r"|(?:os\.|Sys\.|System\.)?getenv\(HOME\)|\$_(?:SERVER|ENV)\[HOME\])"
)
_REVERSING = frozenset(("strrev", "reverse", "scalar"))
_REVERSED = re.compile(r"^\.(?:reverse|split\(\)\.reverse\(\)\.join\(\))")
_LARGEST_CHARACTER = 0x110000
_WRAPPERS = frozenset(
    "glob Dir.glob Dir.children File.expand_path path.resolve path.join path.normalize realpath "
    "File.join Pathname.new Path.expand path.expand normalizePath".split()
)
"""Functions whose result is, for what a path is worth, what they are given."""


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
            if language == "javascript" and text[at - 1 : at] != "$":
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


class Expressions:
    """Folds tokens into texts under the names that the code has bound."""

    def __init__(self) -> None:
        self.held: dict[str, str] = {}

    def arguments(self, found: list[Token], at: int) -> list[list[Token]]:
        """The argument lists after a name, with brackets or without."""
        out: list[list[Token]] = [[]]
        while at < len(found) and found[at].text == "\n":
            at += 1
        # Attack: calls in calls in calls; what lies too far away is not looked at again.
        furthest = min(len(found), at + LONGEST_ARGUMENTS)
        bracketed = at < furthest and found[at].text == "("
        at += 1 if bracketed else 0
        depth = 0
        while at < furthest:
            token = found[at]
            at += 1
            if token.kind == SIGN:
                if token.text in ")]}" and depth == 0:
                    break
                if token.text in "([{":
                    depth += 1
                elif token.text in ")]}":
                    depth -= 1
                elif depth == 0 and token.text == ",":
                    out.append([])
                    continue
                elif depth == 0 and not bracketed and token.text in _ENDING:
                    break
            elif token.kind == NAME and not bracketed and token.text in _STATEMENT_WORDS:
                break
            out[-1].append(token)
        return [each for each in out if any(t.text != "\n" for t in each)]

    def folded(self, part: list[Token]) -> str | None:
        """The text of an expression of strings joined together, or decoded; None if unknown."""
        out: list[str] = []
        part = [t for t in part if t.text != "\n"]
        starts = bool(part) and (part[0].kind != SIGN or part[0].text == "[")
        special = self._special(part) if starts else None
        if special is not None:
            return special
        if part and part[0].kind == NAME and part[0].text in DECODERS:
            return self._decoded(part)
        while part and part[0].text == "(" and part[-1].text == ")":
            part = part[1:-1]
        for token in part:
            if token.kind == STRING:
                out.append(token.text)
            elif token.kind == NAME:
                held = self.held.get(token.text)
                out.append(UNKNOWN if held is None else held)
            elif token.text not in _JOINING:
                return None
        if not out or all(each == UNKNOWN for each in out):
            return None
        return "".join(out)

    def _special(self, part: list[Token]) -> str | None:
        """The home directory however it is asked for, patterns, and texts that unpack."""
        spelled = "".join(token.text for token in part[:16])
        home = _HOME.match(spelled)
        if home is not None and home.end() == len(spelled):
            return "~"
        if home is not None and spelled[home.end()] in "+.~":
            rest = [token for token in part if token.kind == STRING and token.text != "HOME"]
            return "~" + "".join(t.text for t in rest if t.text not in ("os", "node:os"))
        if part[0].text in _WRAPPERS:
            inner = self.arguments(part, 1)
            folded = [self.folded(each) for each in inner]
            if folded and all(each is not None for each in folded):
                return "/".join(str(each) for each in folded)
        turned = self._turned(part, spelled)
        if turned is not None:
            return turned
        if part[0].text == "pack" and len(part) > 2:
            inner = self.arguments(part, 1)
            if len(inner) == 2 and (self.folded(inner[0]) or "").startswith("H"):
                return _unpacked("H", self.folded(inner[1]) or "")
        if part[0].kind == STRING and len(part) > 3 and "unpack" in part[2].text:
            return _unpacked(part[-2].text, part[0].text)
        return None

    def _turned(self, part: builtins.list[Token], spelled: str) -> str | None:
        """Texts turned round, joined out of a list, or made of numbers."""
        name = part[0].text
        if name in _REVERSING:
            turned = self.folded([t for t in part[1:] if t.text not in ("(", ")")])
            return turned[::-1] if turned is not None else None
        if part[0].kind == STRING and _REVERSED.search(spelled[len(name) :]):
            return name[::-1]
        if name == "String.fromCharCode":
            numbers = [int(t.text) for t in part if t.kind == SIGN and t.text.isdigit()]
            return "".join(chr(n) for n in numbers if n < _LARGEST_CHARACTER)
        if name in ("implode", "join") and len(part) > 1:
            inner = self.arguments(part, 1)
            glue = self.folded(inner[0]) if inner else None
            pieces = self.list(inner[1]) if len(inner) == 2 else [self.folded(p) for p in inner[1:]]
            if glue is not None and pieces:
                return glue.join(UNKNOWN if each is None else each for each in pieces)
        if name == "[":
            return self._joined(part)
        return None

    def _joined(self, part: builtins.list[Token]) -> str | None:
        """`["a", "b"].join("_")`."""
        end = next((i for i, t in enumerate(part) if t.text == "]" and t.kind == SIGN), 0)
        rest = part[end + 1 :]
        if not end or [t.text for t in rest[:2]] != [".", "join"]:
            return None
        glue = "".join(t.text for t in rest[2:] if t.kind == STRING)
        return glue.join(self.list(part[: end + 1]) or [])

    def _decoded(self, part: list[Token]) -> str | None:
        inner = self.arguments(part, 1)
        value = self.folded(inner[0]) if inner else None
        if value is None or UNKNOWN in value:
            return None
        try:
            if part[0].text == "hex2bin":
                return bytes.fromhex(value).decode("utf-8", "replace")
            if part[0].text == "str_rot13":
                return codecs.decode(value, "rot13")
            return base64.b64decode(value + "=" * (-len(value) % 4)).decode("utf-8", "replace")
        except (ValueError, binascii.Error):
            return None

    def list(self, part: list[Token]) -> list[str] | None:
        """`["a", "b"]` or `qw(a b)` as words."""
        inside = [t for t in part if t.text not in ("\n",)]
        if (
            not inside
            or inside[0].text not in ("[", "{", "(")
            or inside[-1].text not in ("]", "}", ")")
        ):
            return None
        words: list[str] = []
        piece: list[Token] = []
        for token in [*inside[1:-1], Token(SIGN, ",")]:
            if token.text == "," and token.kind == SIGN:
                if piece:
                    value = self.folded(piece)
                    words.append(UNKNOWN if value is None else value)
                piece = []
            else:
                piece.append(token)
        return words


def _unpacked(how: str, text: str) -> str | None:
    """`pack("H*", …)` and `"…".unpack1("m")`: digits or base64 as the text they hide."""
    try:
        if how.startswith("H"):
            return bytes.fromhex(text).decode("utf-8", "replace")
        if how.startswith("m"):
            return base64.b64decode(text + "=" * (-len(text) % 4)).decode("utf-8", "replace")
    except (ValueError, binascii.Error):
        return None
    return None
