"""Reads JSON strictly and remembers where each value stands.

`json` says neither where a value came from nor that a key was given twice; whoever has to mend a
plan needs the line, and a second key would let a reader see another plan than the one that runs.
"""

from __future__ import annotations

from json.decoder import JSONDecodeError
from json.decoder import scanstring as scan  # type: ignore[attr-defined] # as `json` reads them
from json.scanner import NUMBER_RE

from redoma.model.intent import PlanSyntax
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LARGEST = 1 << 20
DEEPEST = 32
MOST_VALUES = 50_000
LONGEST_NUMBER = 40
# Of all the places that are remembered together, each by the keys that lead there.
MOST_PLACES = 1 << 24
_BLANK = " \t\n\r"
_WORDS = {"true": True, "false": False, "null": None}


class JsonText:
    """One text, the value it holds, and the place of every part of it."""

    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name
        self._values = self._spelt = 0
        self._places: dict[str, int] = {}
        end, self.value = self._any(self._blank(0), "", 0)
        end = self._blank(end)
        if end < len(text):
            raise self._wrong("something stands after the end of the plan", end)

    def location(self, pointer: str) -> str:
        """`name:line:column` of the value at a JSON Pointer, or of what it lies in."""
        while pointer not in self._places:
            pointer = pointer.rpartition("/")[0]
        return self._location(self._places[pointer])

    def _location(self, at: int) -> str:
        line = self._text.count("\n", 0, at) + 1
        return f"{self._name}:{line}:{at - self._text.rfind(chr(10), 0, at)}"

    def _wrong(self, what: str, at: int, pointer: str = "") -> PlanSyntax:
        return PlanSyntax(what, location=self._location(at), pointer=pointer)

    def _blank(self, at: int) -> int:
        text = self._text
        while at < len(text) and text[at] in _BLANK:
            at += 1
        return at

    def _any(self, at: int, pointer: str, depth: int) -> tuple[int, Any]:
        self._values += 1
        if self._values > MOST_VALUES:
            raise self._wrong(
                Message("a plan has at most {most} values", most=MOST_VALUES), at, pointer
            )
        if depth > DEEPEST:
            raise self._wrong(f"this lies deeper than {DEEPEST} levels", at, pointer)
        # Attack: a single long key, and below it many values whose places all begin with it.
        self._spelt += len(pointer)
        if self._spelt > MOST_PLACES:
            raise self._wrong("the keys above this are too long", at)
        self._places[pointer] = at
        first = self._text[at : at + 1]
        if first == "{":
            return self._object(at + 1, pointer, depth)
        if first == "[":
            return self._list(at + 1, pointer, depth)
        if first == '"':
            return self._string(at, pointer)
        for word, value in _WORDS.items():
            if self._text.startswith(word, at):
                return at + len(word), value
        return self._number(at, pointer)

    def _string(self, at: int, pointer: str) -> tuple[int, str]:
        try:
            value, end = scan(self._text, at + 1, True)  # noqa: FBT003 — json's own name
        except JSONDecodeError as error:
            raise self._wrong(
                Message("this is not JSON: {what}", what=error.msg), error.pos, pointer
            ) from None
        if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            raise self._wrong("half of a surrogate pair is no character", at, pointer)
        return end, value

    def _number(self, at: int, pointer: str) -> tuple[int, int | float]:
        found = NUMBER_RE.match(self._text, at)
        if found is None:
            what = "the text ends in the middle" if at >= len(self._text) else "this is not JSON"
            raise self._wrong(what, at, pointer)
        if len(found[0]) > LONGEST_NUMBER:
            raise self._wrong(
                Message("a number has at most {longest} digits", longest=LONGEST_NUMBER),
                at,
                pointer,
            )
        whole, fraction, exponent = found.groups()
        if not fraction and not exponent:
            return found.end(), int(whole)
        value = float(found[0])
        if value in (float("inf"), float("-inf")):
            raise self._wrong("this number is too large", at, pointer)
        return found.end(), value

    def _list(self, at: int, pointer: str, depth: int) -> tuple[int, list[Any]]:
        made: list[Any] = []
        at = self._blank(at)
        if self._text.startswith("]", at):
            return at + 1, made
        while True:
            at, value = self._any(self._blank(at), f"{pointer}/{len(made)}", depth + 1)
            made.append(value)
            at = self._blank(at)
            if self._text.startswith("]", at):
                return at + 1, made
            at = self._past(",", at, pointer)

    def _object(self, at: int, pointer: str, depth: int) -> tuple[int, dict[str, Any]]:
        made: dict[str, Any] = {}
        at = self._blank(at)
        if self._text.startswith("}", at):
            return at + 1, made
        while True:
            start = at = self._blank(at)
            if not self._text.startswith('"', at):
                raise self._wrong("a key in double quotes was expected", at, pointer)
            at, key = self._string(at, pointer)
            inner = f"{pointer}/{escaped(key)}"
            if key in made:
                raise self._wrong(Message("{name} is given twice", name=repr(key)), start, inner)
            at = self._past(":", self._blank(at), inner)
            at, made[key] = self._any(self._blank(at), inner, depth + 1)
            at = self._blank(at)
            if self._text.startswith("}", at):
                return at + 1, made
            at = self._past(",", at, pointer)

    def _past(self, mark: str, at: int, pointer: str) -> int:
        if self._text.startswith(mark, at):
            return at + 1
        what = "the text ends in the middle" if at >= len(self._text) else f"{mark!r} was expected"
        raise self._wrong(what, at, pointer)


def escaped(key: str) -> str:
    """A key as it stands in a JSON Pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def read(data: str | bytes, name: str) -> JsonText:
    """The text of a plan with its places; an error says where it is not what it should be."""
    if len(data) > LARGEST:
        raise PlanSyntax(Message("a plan has at most {most} bytes", most=LARGEST), location=name)
    if isinstance(data, bytes):
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise PlanSyntax("this is not UTF-8", location=f"{name}:{line}") from None
    else:
        text = data
    if not text.strip():
        raise PlanSyntax("the plan is empty", location=name, hint="redoma plan schema")
    return JsonText(text, name)
