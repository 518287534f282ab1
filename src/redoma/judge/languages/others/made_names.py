"""Functions that code finds by a made name, renames, or hands to somebody else to call."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import UNKNOWN
from redoma.judge.languages.others.expressions import (
    COMMAND,
    LONGEST_ARGUMENTS,
    NAME,
    SIGN,
    STRING,
    Expressions,
    Token,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    Table = dict[str, tuple[str, tuple[str, ...]]]

_TAKERS = frozenset(
    "can send public_send __send__ method instance_method const_get tap then invoke ob_start "
    "define_method alias_method try".split()
)
_TAKING = tuple(
    "call map walk filter sort register handler apply callback Callable Reflection".split()
)
_LONGEST = 64
"""Functions that call another one, which they are given by its name or as a value."""
_SPAWNING = ("child_process", "Process", "Runtime", "subprocess", "node:child")
_GLOBALS = frozenset("globalThis global window self this process require Reflect _G _ENV".split())
_ADAPTERS = (".call", ".apply", ".bind", ".curry", ".to_proc", ".unbind")
_ENDS = frozenset((";", "\n", ","))
_CLOSED = {")": "(", "]": "[", "}": "{"}
_SYMBOLIC = frozenset("perl ruby php".split())
_WITHOUT_BRACKETS = frozenset("perl ruby lua".split())
_BY_VALUE = frozenset("javascript typescript node lua r julia".split())
_INDIRECT = frozenset((">", "]", ")"))
_CLOSURE = re.compile(r"\b(?:fn|function|sub|static|lambda)\b|->[ \t]*+[({]|\bnew\b")
_MOST = 64


def _takes(name: str) -> bool:
    """Whether a function by its name calls another that it is given."""
    last = name.replace(">", ".").replace(":", ".").rpartition(".")[2]
    return len(last) < _LONGEST and (last in _TAKERS or any(each in last for each in _TAKING))


class MadeNames:
    """What the code calls without writing its name in front of a bracket."""

    def __init__(
        self, reader: Expressions, found: list[Token], text: str, table: Table, language: str
    ) -> None:
        self.reader, self.found, self.table, self.language = reader, found, table, language
        self.aliases: dict[str, str] = {}
        self.calls: list[tuple[str, int]] = []
        """Known functions under another name, and the token before their arguments."""
        self.escaped = False
        """Whether somebody may call a function that nobody can tell, or that runs programs."""
        self.made = self._put_together()
        self.mentions = "\n".join([text, *self.made])
        self._renamed()
        self._looked_up()
        self._named()
        self._passed()

    def entry(self, name: str) -> str:
        """The name under which the table knows a function, if it can be meant here."""
        name = name.lstrip("&").removeprefix("CORE::").removeprefix("GLOBAL::")
        for each in (name, f".{name}", f".{re.split(r'[.:>]', name)[-1]}"):
            if each in self.table and any(need in self.mentions for need in self.table[each][1]):
                return each
        return ""

    def _acts(self, name: str, *actions: str) -> bool:
        entry = self.entry(name) if name else ""
        return bool(entry) and self.table[entry][0] in (actions or ("run", "eval"))

    def _put_together(self) -> list[str]:
        """Texts that the code makes out of pieces, of numbers, or by decoding."""
        out: list[str] = []
        for start, token in enumerate(self.found):
            if len(out) >= _MOST:
                break
            if token.kind == SIGN and token.text != "[":
                continue
            following = self.found[start + 1].text if start + 1 < len(self.found) else ""
            if token.kind == STRING and following not in ("+", ".", "~"):
                continue
            end = self._end(start)
            text = self.reader.folded(self.found[start:end])
            if text is not None and UNKNOWN not in text and len(text) < LONGEST_ARGUMENTS:
                out.append(text)
        return out

    def _end(self, start: int) -> int:
        """Where the expression that begins at a token ends."""
        depth = 0
        furthest = min(len(self.found), start + LONGEST_ARGUMENTS)
        for index in range(start, furthest):
            text = self.found[index].text if self.found[index].kind == SIGN else ""
            if text in ("(", "[", "{"):
                depth += 1
            elif text in _CLOSED:
                depth -= 1
                if depth < 0:
                    return index
            elif depth == 0 and text in _ENDS:
                return index
        return furthest

    # Renamed -----------------------------------------------------------------------------------

    def _renamed(self) -> None:
        """`const {exec: e} = …`, `import {exec as e}`, `e = c.exec`, `alias e system`."""
        found = self.found
        for index in range(len(found) - 2):
            token, sign, other = found[index : index + 3]
            name, colon, renamed = token.text.partition(":")
            if colon and renamed.isidentifier() and self.entry(name) and self.language != "lua":
                self.aliases[renamed] = self.entry(name)
            if token.kind != NAME or other.kind != NAME:
                if token.kind == NAME and sign.text == "=" and index + 3 < len(found):
                    self._assigned(token.text, index + 2)
                continue
            if sign.text in (":", "as") and self.entry(token.text):
                self.aliases[other.text] = self.entry(token.text)
            elif token.text == "alias" and self.entry(other.text):
                self.aliases[sign.text] = self.entry(other.text)
            elif sign.text == "=":
                self._assigned(token.text, index + 2)

    def _assigned(self, name: str, start: int) -> None:
        end = self._end(start)
        last = self.found[end - 1]
        if last.kind == NAME and self.entry(last.text) and self._end(start) > start:
            self.aliases[name] = self.entry(last.text)

    # Looked up ---------------------------------------------------------------------------------

    def _looked_up(self) -> None:
        """`c["ex"+"ec"](…)`, `$f(…)`, `("sys"."tem")(…)`, `&{"system"}(…)`: made names."""
        opened: list[int] = []
        found = self.found
        for index, token in enumerate(found):
            if token.kind != SIGN:
                if token.kind == NAME and self._is_called(index):
                    self._variable(token.text, index)
                elif token.kind == STRING and self._follows(index, "("):
                    self._function(token.text, index)
                continue
            if token.text in ("(", "[", "{"):
                opened.append(index)
            elif token.text in _CLOSED and opened:
                start = opened.pop()
                called = self._follows(index, "(") or (
                    self.language == "perl" and self._follows(index, "-")
                )
                if called and self._may_name(start):
                    self._computed(start, index)

    def _may_name(self, start: int) -> bool:
        before = self.found[start - 1].text if start else ""
        opening = self.found[start].text
        if opening == "{":
            return before == "&"
        return opening == "[" or (self.language in _SYMBOLIC and before in ("", ";", "=", "\n"))

    def _is_called(self, index: int) -> bool:
        bare = index + 1 < len(self.found) and self.found[index + 1].kind == STRING
        return self._follows(index, "(") or (bare and self.language in _WITHOUT_BRACKETS)

    def _follows(self, index: int, text: str) -> bool:
        return index + 1 < len(self.found) and self.found[index + 1].text == text

    def _computed(self, start: int, end: int) -> None:
        key = self.reader.folded(self.found[start + 1 : end])
        before = self.found[start - 1].text if start else ""
        if key is not None and UNKNOWN not in key:
            name = self.entry(f"{before}.{key}") or self.entry(key)
            if not name and (before == "]" or before in _GLOBALS):
                name = next((each for each in self.table if each.endswith(f".{key}")), "")
            if name:
                self.calls.append((name, end))
        elif self.language in _BY_VALUE and before not in (")", "]") and key is None:
            inside = self.found[start + 1 : end]
            if before in _GLOBALS and inside and not inside[0].text.isdigit():
                self.escaped = True

    def _function(self, name: str, index: int) -> None:
        if self.language in _SYMBOLIC and self.entry(name):
            self.calls.append((self.entry(name), index))

    def _variable(self, name: str, index: int) -> None:
        if name in self.aliases:
            self.calls.append((self.aliases[name], index))
        elif name[:1] in ("$", "&") and self.language in _SYMBOLIC:
            held = self.reader.held.get(name.lstrip("&"))
            if held is None:
                self.escaped |= self.language == "php" and not _CLOSURE.search(self.mentions)
            else:
                self._function(held, index)
        elif name.endswith(_ADAPTERS) and self._acts(name.rpartition(".")[0]):
            self.escaped = True

    # Handed on ---------------------------------------------------------------------------------

    def _named(self) -> None:
        """`array_map("system", …)`, `send("sys" + "tem", …)`: a text that is a function's name."""
        if self.language not in _SYMBOLIC:
            return
        texts = [t.text for t in self.found if t.kind == STRING and len(t.text) < 40]
        named = [each for each in (*texts, *self.made) if self._acts(each)]
        takers = any(t.kind == NAME and _takes(t.text) for t in self.found)
        indirect = any(
            (t.text in _INDIRECT and t.kind == SIGN and self._follows(i, "("))
            or (t.text == "&" and self.language == "perl")
            for i, t in enumerate(self.found)
        )
        if named and (takers or indirect):
            self.escaped = True

    def _passed(self) -> None:
        """`list.forEach(c.exec)`, `&method(:system)`, `\\&system`: a function as a value."""
        opened: list[str] = []
        for index, token in enumerate(self.found):
            if token.kind == SIGN and token.text in ("(", "[", "{"):
                opened.append(token.text)
            elif token.kind == SIGN and token.text in _CLOSED and opened:
                opened.pop()
            if token.kind != NAME:
                continue
            before = self.found[index - 1].text if index else ""
            following = self.found[index + 1].text if index + 1 < len(self.found) else ";"
            ends = following in (",", ")", "]", ";")
            symbol = self.language == "ruby" and before == ":"
            if (symbol or (before == "\\" and token.text[:1] == "&")) and self._acts(token.text):
                self.escaped = True
            elif self.language in _BY_VALUE and ends and opened and opened[-1] != "{":
                self.escaped |= self._acts(token.text)

    def command_lines(self) -> list[str]:
        """Texts that may be what an escaped function is given."""
        texts = [t.text for t in self.found if t.kind in (STRING, COMMAND)]
        return [each for each in (*texts, *self.made) if " " in each.strip()][:_MOST]
