"""Parameter expansion: `$x`, `${x:-y}`, `${x#y}`, `${x//y/z}`, `${!x}`, `${x@P}` and the rest."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import PLAIN, SECRET, UNKNOWN, Arg, arg
from redoma.judge.interpret.patterns import translate
from redoma.judge.lazy import lazy
from redoma.judge.sensitive import is_secret_variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.expand import Expander
    from redoma.judge.interpret.state import State
    from redoma.model.script import Parameter

_SUBSTRING = lazy(r"\s*(-?\d{1,6})\s*(?::\s*(-?\d{1,6})\s*)?")


def parameter(part: Parameter, state: State, expander: Expander) -> Arg:
    """What one parameter expansion gives, with everything inside it walked."""
    argument = expander.one(part.argument, state) if part.argument is not None else None
    if part.subscript is not None:
        expander.one(part.subscript, state)
    name = part.name
    if part.prefix == "!" and not part.op.startswith("@"):
        pointed = _value(part, state)
        if pointed is None or not pointed.known:
            return arg(UNKNOWN, part.span)
        value = state.variables.get(str(pointed))
    else:
        value = _value(part, state)
    if part.prefix == "#":
        known = value is not None and value.known
        return arg(str(len(value or "")) if known else UNKNOWN, part.span)
    op = part.op
    if op == "@":
        op += argument or ""
    if not op:
        if value is None:
            return arg(UNKNOWN, part.span, _taint_of_name(name))
        return value
    given = argument if argument is not None else arg("", part.span)
    return _operated(op, value, given, part, state, expander)


def _taint_of_name(name: str) -> int:
    return SECRET if is_secret_variable(name) else PLAIN


def _value(part: Parameter, state: State) -> Arg | None:
    name = part.name
    if name in ("@", "*"):
        taint = PLAIN
        for item in state.positional:
            taint |= item.taint
        return arg(" ".join(state.positional), part.span, taint)
    if name.isdigit():
        index = int(name[:4])
        if index == 0:
            return arg("bash", part.span)
        if index <= len(state.positional):
            return state.positional[index - 1]
        return arg("", part.span)
    if name == "#":
        return arg(str(len(state.positional)), part.span)
    if name in ("?", "$", "!", "-", "_"):
        return arg(UNKNOWN, part.span)
    name = state.references.get(name, name)
    items = state.arrays.get(name)
    if items is not None:
        return _element(items, part, state)
    return state.variables.get(name)


def _element(items: list[Arg], part: Parameter, _state: State) -> Arg:
    taint = PLAIN
    for item in items:
        taint |= item.taint
    text = ""
    if part.subscript is not None and len(part.subscript.parts) == 1:
        text = getattr(part.subscript.parts[0], "text", UNKNOWN)
    if text in ("@", "*"):
        return arg(" ".join(items), part.span, taint)
    if not text:
        return items[0] if items else arg("", part.span)
    if re.fullmatch(r"-?\d{1,6}", text):
        index = int(text)
        if -len(items) <= index < len(items):
            return items[index]
        return arg("", part.span)
    return arg(UNKNOWN, part.span, taint)


def _operated(
    op: str, value: Arg | None, given: Arg, part: Parameter, state: State, expander: Expander
) -> Arg:
    name = part.name
    if op in (":-", "-", ":=", "="):
        # An unset variable is the usual case in a one-off command: the default is what runs.
        if value is None or (value == "" and op[0] == ":"):
            if op in (":=", "="):
                state.assign(name, given)
            return given
        return value
    if op in (":+", "+"):
        if value is None:
            return arg(UNKNOWN, part.span, given.taint)
        return given if value or op == "+" else arg("", part.span)
    if op in (":?", "?"):
        return value if value is not None else arg(UNKNOWN, part.span)
    if value is None:
        return arg(UNKNOWN, part.span, _taint_of_name(name))
    if op.startswith("@"):
        if op == "@P":
            expander.walker.hidden_text(value, state)
        return value if op in ("@Q", "@E", "@P") else arg(UNKNOWN, part.span, value.taint)
    if not value.known or not given.known:
        return arg(UNKNOWN, part.span, value.taint | given.taint)
    changed = _changed(op, str(value), str(given))
    if changed is None:
        return arg(UNKNOWN, part.span, value.taint)
    return arg(changed, part.span, value.taint)


def _changed(op: str, value: str, given: str) -> str | None:
    if len(value) > 8192:
        return None
    if op == ":":
        return _substring(value, given)
    if op in ("#", "##"):
        return _without_prefix(value, given, longest=op == "##")
    if op in ("%", "%%"):
        return _without_suffix(value, given, longest=op == "%%")
    if op in ("/", "//", "/#", "/%"):
        return _replaced(op, value, given)
    if op in ("^^", ",,"):
        return value.upper() if op == "^^" else value.lower()
    if op in ("^", ","):
        head = value[:1].upper() if op == "^" else value[:1].lower()
        return head + value[1:]
    return None


def _substring(value: str, given: str) -> str | None:
    match = _SUBSTRING.fullmatch(given)
    if match is None:
        return None
    start = int(match[1])
    start = max(len(value) + start, 0) if start < 0 else start
    if match[2] is None:
        return value[start:]
    length = int(match[2])
    return value[start : len(value) + length] if length < 0 else value[start : start + length]


def _without_prefix(value: str, given: str, *, longest: bool) -> str | None:
    pattern = translate(given, greedy=longest)
    if pattern is None:
        return None
    match = pattern.match(value)
    return value[match.end() :] if match else value


def _without_suffix(value: str, given: str, *, longest: bool) -> str | None:
    pattern = translate(given)
    if pattern is None:
        return None
    starts = range(len(value) + 1) if longest else range(len(value), -1, -1)
    for start in starts:
        if len(value) > 1024 and start > 1024:
            return None
        if pattern.fullmatch(value, start):
            return value[:start]
    return value


def _replaced(op: str, value: str, given: str) -> str | None:
    if op == "/" and given[:1] in ("/", "#", "%"):
        op, given = "/" + given[0], given[1:]
    searched, _, replacement = _cut(given)
    pattern = translate(searched)
    if pattern is None or not searched:
        return None if pattern is None else value
    if op == "/#":
        match = pattern.match(value)
        return replacement + value[match.end() :] if match else value
    if op == "/%":
        cut = _without_suffix(value, searched, longest=True)
        return None if cut is None else (cut + replacement if cut != value else value)
    return pattern.sub(lambda _m: replacement, value, count=0 if op == "//" else 1)


def _cut(given: str) -> tuple[str, str, str]:
    index = 0
    while index < len(given):
        if given[index] == "\\":
            index += 2
            continue
        if given[index] == "/":
            return given[:index], "/", given[index + 1 :]
        index += 1
    return given, "", ""
