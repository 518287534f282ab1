"""What the arguments of a call are worth: strings joined, decoded, or held by a name."""

from __future__ import annotations

import base64
import binascii
import codecs
import re

from redoma.judge.interpret.arg import UNKNOWN
from redoma.judge.languages.others.languages import DECODERS
from redoma.judge.languages.others.tokens import NAME, SIGN, STRING, Token

_JOINING = frozenset(("+", ".", "~", "<>", "&"))
_ENDING = frozenset((";", "\n", "}", ")"))
_STATEMENT_WORDS = frozenset("if unless or and while for until do then end foreach".split())
LONGEST_ARGUMENTS = 300
_HOME = re.compile(
    r"(?:require\((?:node:)?os\)\.homedir\(\)|os\.homedir\(\)|homedir\(\)|Dir\.home(?:\(\))?"
    r"|ENV(?:\.fetch)?[\[(]HOME[\])]|process\.env\.HOME|process\.env\[HOME\]|\$ENV\{HOME\}"
    r"|(?:os\.|Sys\.|System\.)?getenv\(HOME\)|\$_(?:SERVER|ENV)\[HOME\])"
)
_WRAPPERS = frozenset(
    "glob Dir.glob Dir.children File.expand_path path.resolve path.join path.normalize realpath "
    "File.join Pathname.new Path.expand path.expand normalizePath".split()
)
"""Functions whose result is, for what a path is worth, what they are given."""


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
        special = self._special(part) if part and part[0].kind != SIGN else None
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
        if part[0].text == "pack" and len(part) > 2:
            inner = self.arguments(part, 1)
            if len(inner) == 2 and (self.folded(inner[0]) or "").startswith("H"):
                return _unpacked("H", self.folded(inner[1]) or "")
        if part[0].kind == STRING and len(part) > 3 and "unpack" in part[2].text:
            return _unpacked(part[-2].text, part[0].text)
        return None

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
