"""Parameter expansion: `$x`, `${x:-y}`, `${x#y}`, `${x//y/z}`, `${!x}`, `${x@P}` and the rest."""

from __future__ import annotations

from redoma.judge.interpret.arg import PLAIN, SECRET, UNKNOWN, UNSET, Arg, arg
from redoma.judge.interpret.formats import unescaped
from redoma.judge.interpret.sensitive import is_secret_variable
from redoma.judge.interpret.variables import judge_steering
from redoma.judge.text.glob import glob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.expansion import Expander
    from redoma.judge.interpret.state import State
    from redoma.judge.text.glob import Glob
    from redoma.model.script import Parameter, Word

_LISTS = ("@", "*")


def parameter(part: Parameter, state: State, expander: Expander) -> Arg:
    """What one parameter expansion gives, with everything inside it walked."""
    listed = items_of(part, state, expander)
    if listed is not None:
        return _joined(listed, part, state)
    argument = expander.one(part.argument, state) if part.argument is not None else None
    name = part.name
    if part.prefix == "!" and not part.op.startswith("@"):
        pointed = _value(part, state, expander)
        if pointed is None or not pointed.known:
            return arg(UNKNOWN, part.span)
        value = _pointed(str(pointed), part, state, expander)
    else:
        value = _value(part, state, expander)
    if part.prefix == "#":
        known = value is not None and value.known
        return arg(str(len(value or "")) if known else UNKNOWN, part.span)
    op = part.op
    if op == "@":
        op += argument or ""
    if not op:
        if value is None:
            return arg(UNKNOWN, part.span, _taint_of_name(name) | UNSET)
        return value
    given = argument if argument is not None else arg("", part.span)
    return _operated(op, value, given, part, state, expander)


def _taint_of_name(name: str) -> int:
    return SECRET if is_secret_variable(name) else PLAIN


def items_of(part: Parameter, state: State, expander: Expander) -> list[Arg] | None:
    """The words that `$@`, `${a[@]}` and parts of them stand for; None where one value is meant."""
    if part.prefix:
        return None
    if part.name in _LISTS:
        items = state.positional
    else:
        if part.subscript is None or _literal(part.subscript) not in _LISTS:
            return None
        held = state.arrays.get(state.references.get(part.name, part.name))
        if held is None:
            return None
        items = held
    op = part.op
    if not op:
        return list(items)
    given = expander.one(part.argument, state)
    if op == ":":
        # Positional parameters count from $0.
        zero = [_zero(part, state)] if part.name in _LISTS else []
        return _slice([*zero, *items], str(given), state, expander)
    if op[0] in "#%/^,":
        changed = [_changed(op, item, given, state, expander) for item in items]
        return [
            arg(UNKNOWN if text is None else text, part.span, item.taint)
            for item, text in zip(items, changed, strict=True)
        ]
    return None


def _slice(items: list[Arg], given: str, state: State, expander: Expander) -> list[Arg] | None:
    first, colon, second = given.partition(":")
    start, length = expander.number(first, state), expander.number(second, state)
    if start is None or (colon and length is None):
        return None
    start = max(len(items) + start, 0) if start < 0 else start
    return items[start:] if not colon else items[start : start + max(length or 0, 0)]


def _joined(items: list[Arg], part: Parameter, state: State) -> Arg:
    taint = PLAIN
    for item in items:
        taint |= item.taint
    between = " "
    star = part.name == "*" or (part.subscript is not None and _literal(part.subscript) == "*")
    separators = state.variables.get("IFS")
    if star and part.quoted and separators is not None and separators.known:
        between = separators[:1]
    return arg(between.join(items), part.span, taint)


def _literal(word: Word) -> str:
    return getattr(word.parts[0], "text", "") if len(word.parts) == 1 else ""


def _zero(part: Parameter, state: State) -> Arg:
    """`$0`: the shell's name, or the word after the code of `bash -c`."""
    return state.variables.get("0") or arg("bash", part.span)


def _pointed(name: str, part: Parameter, state: State, expander: Expander) -> Arg | None:
    """What `${!x}` finds behind the name that x holds."""
    if name.isdigit():
        index = int(name[:4])
        within = 0 < index <= len(state.positional)
        return state.positional[index - 1] if within else _zero(part, state)
    plain, bracket, key = name.partition("[")
    if not bracket:
        return state.variables.get(state.references.get(name, name))
    items = state.arrays.get(plain)
    key = key.removesuffix("]")
    expander.number(arg(key, part.span), state)
    if items is None or key in _LISTS:
        return arg(" ".join(items), part.span) if items else None
    return _element(plain, items, arg(key, part.span), part, state, expander)


def _value(part: Parameter, state: State, expander: Expander) -> Arg | None:
    name = part.name
    if name in _LISTS:
        return _joined(state.positional, part, state)
    if name.isdigit():
        index = int(name[:4])
        if index == 0:
            return _zero(part, state)
        if index <= len(state.positional):
            return state.positional[index - 1]
        return arg("", part.span)
    if name == "#":
        return arg(str(len(state.positional)), part.span)
    if name in ("?", "$", "!", "-"):
        return arg(UNKNOWN, part.span)
    name = state.references.get(name, name)
    key = expander.one(part.subscript, state) if part.subscript is not None else None
    items = state.arrays.get(name)
    if items is not None:
        return _element(name, items, key, part, state, expander)
    if key is not None and key not in _LISTS:
        expander.number(key, state)
    return state.variables.get(name)


def _element(
    name: str,
    items: list[Arg],
    key: Arg | None,
    part: Parameter,
    state: State,
    expander: Expander,
) -> Arg:
    if key is None or key in _LISTS:
        joined = _joined(items, part, state)
        return joined if key is not None else items[0] if items else arg("", part.span)
    keyed = state.keyed.get(name)
    if keyed is not None and key in keyed:
        return keyed[key]
    index = expander.number(str(key), state)
    if index is not None:
        if keyed is not None:
            return keyed.get(str(index), arg("", part.span))
        return items[index] if -len(items) <= index < len(items) else arg("", part.span)
    return arg(UNKNOWN, part.span, _joined(items, part, state).taint)


def _operated(
    op: str, value: Arg | None, given: Arg, part: Parameter, state: State, expander: Expander
) -> Arg:
    name = part.name
    if op == ":" and value is None:
        _substring(arg(UNKNOWN, part.span), given, state, expander)
    if op in (":-", "-", ":=", "="):
        # An unset variable is the usual case in a one-off command: the default is what runs.
        if value is None or (value == "" and op[0] == ":"):
            if op in (":=", "="):
                state.assign(name, given)
                judge_steering(expander.walker, name, given, state)
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
        made = _transformed(op, str(value))
        return arg(UNKNOWN if made is None else made, part.span, value.taint)
    changed = _changed(op, value, given, state, expander)
    if changed is None:
        return arg(UNKNOWN, part.span, value.taint)
    return arg(changed, part.span, value.taint)


def _transformed(op: str, value: str) -> str | None:
    """`${x@U}` and its kin."""
    if op in ("@Q", "@P"):
        return value
    if op == "@E":
        return unescaped(value)
    if op == "@L":
        return value.lower()
    if op == "@U":
        return value.upper()
    return value[:1].upper() + value[1:] if op == "@u" else None


def _changed(op: str, value: Arg, given: Arg, state: State, expander: Expander) -> str | None:
    if op == ":":
        return _substring(value, given, state, expander)
    if not value.known or not given.known or len(value) > 8192:
        return None
    extended = expander.walker.extglob
    if op in ("#", "##", "%", "%%"):
        return _without(op, value, glob(str(given), extended=extended))
    if op in ("/", "//", "/#", "/%"):
        return _replaced(op, value, str(given), extended=extended)
    if op in ("^^", ",,"):
        return value.upper() if op == "^^" else value.lower()
    if op in ("^", ","):
        head = value[:1].upper() if op == "^" else value[:1].lower()
        return head + value[1:]
    return None


def _substring(value: Arg, given: Arg, state: State, expander: Expander) -> str | None:
    first, colon, second = map(given.like, given.partition(":"))
    start, length = expander.number(first, state), expander.number(second, state)
    if start is None or (colon and length is None) or not value.known or len(value) > 8192:
        return None
    start = max(len(value) + start, 0) if start < 0 else start
    if length is None or not colon:
        return value[start:]
    return value[start : len(value) + length] if length < 0 else value[start : start + length]


def _without(op: str, value: str, pattern: Glob | None) -> str | None:
    if pattern is None:
        return None
    if op[0] == "#":
        end = pattern.prefix(value, longest=op == "##")
        return value if end is None else value[end:]
    start = pattern.suffix(value, longest=op == "%%")
    return value if start is None else value[:start]


def _replaced(op: str, value: str, given: str, *, extended: bool) -> str | None:
    if op == "/" and given[:1] in ("/", "#", "%"):
        op, given = "/" + given[0], given[1:]
    searched, _, replacement = _cut(given)
    pattern = glob(searched, extended=extended)
    if pattern is None or not searched:
        return None if pattern is None else value
    if op == "/#":
        end = pattern.prefix(value, longest=True)
        return value if end is None else replacement + value[end:]
    if op == "/%":
        start = pattern.suffix(value, longest=True)
        return value if start is None else value[:start] + replacement
    return pattern.replaced(value, replacement, every=op == "//")


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
