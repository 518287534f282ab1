"""`read`, `mapfile`, names given as words: what flows into variables, and what names hide."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import ANYTHING, NOTHING, UNKNOWN, Arg, Stream, arg
from redoma.judge.interpret.variables import judge_steering, judge_variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation

_NAME = re.compile(r"[A-Za-z_]\w*$")
_ARITHMETIC = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_NAMED = frozenset(("-v", "-R"))
MOST_LINES = 64


def assigned(call: Invocation, name: str, value: Arg) -> None:
    """A builtin sets a variable or an element that it was given by name."""
    plain, bracket, key = name.partition("[")
    names(call, value.like(name))
    if not _NAME.match(plain):
        return
    if bracket:
        call.state.put_element(plain, key.removesuffix("]"), value)
    else:
        call.state.assign(plain, value)
    judge_variable(call.walker, plain, value, call.state, kept=True)


def names(call: Invocation, word: Arg) -> None:
    """Attack: `read 'a[$(cmd)]'`: bash expands the subscript of a name that a builtin gets."""
    if "[" in word and ("$(" in word or "`" in word):
        call.walker.hidden_text(word, call.state)


def let(call: Invocation) -> Stream:
    """`let`: every word is arithmetic."""
    for word in call.args:
        call.walker.expander.number(word, call.state)
    return NOTHING


def test(call: Invocation) -> Stream:
    """`test`, `[`: `-v` takes a name, subscript and all."""
    for option, word in zip(call.args, call.args[1:], strict=False):
        if option in _NAMED:
            names(call, word)
    return NOTHING


def condition(call: Invocation) -> None:
    """`[[ … ]]`: besides names, what numbers are compared by is arithmetic."""
    test(call)
    words = call.args
    for index, word in enumerate(words):
        if word in _ARITHMETIC:
            for beside in (*words[max(index - 1, 0) : index], *words[index + 1 : index + 2]):
                call.walker.expander.number(beside, call.state)


def getopts(call: Invocation) -> Stream:
    """`getopts`: a letter of the options becomes a variable."""
    for name in call.args[1:2]:
        assigned(call, str(name), arg(UNKNOWN, call.span))
    return NOTHING


def read(call: Invocation) -> Stream:
    """`read`, `mapfile`: what flows in becomes variables."""
    into_array = call.name in ("mapfile", "readarray")
    given, options = _options(call, "dnOsuCc" if into_array else "adinNptu")
    stdin = call.stdin
    if "u" in options:
        held = call.state.descriptors.get(str(options["u"]))
        stdin = (call.walker.files.get(held) if held is not None else None) or ANYTHING
    if "C" in options:
        call.run_shell(options["C"])
    if "a" in options:
        given = [options["a"]]
        into_array = True
    text = stdin.text
    separators = _separators(call)
    line = None if text is None else text.split(_ending(options), 1)[0]
    if into_array:
        for name in given[:1]:
            names(call, name)
        lines = text.split(_ending(options)) if text is not None else [UNKNOWN]
        if "a" in options and line is not None:
            lines = _fields(line, separators, 0)
        elif lines and not lines[-1]:
            lines.pop()
        array = str(given[0]) if given else "MAPFILE"
        call.state.keyed.pop(array, None)
        first = arg(lines[0] if lines else "", call.span, stdin.taint)
        judge_steering(call.walker, array, first, call.state)
        call.state.arrays[array] = [
            arg(each, call.span, stdin.taint) for each in lines[:MOST_LINES]
        ]
        return NOTHING
    fields = None if line is None else _fields(line, separators, len(given))
    for index, name in enumerate(given or [call.word.like("REPLY")]):
        value = UNKNOWN
        if line is not None and fields is not None:
            value = line if not given else fields[index] if index < len(fields) else ""
        assigned(call, str(name), arg(value, call.span, stdin.taint))
    return NOTHING


def _ending(options: dict[str, Arg]) -> str:
    """What ends a line: `-d ''` is a NUL, which stands in texts as U+FFFD."""
    if "d" not in options:
        return "\n"
    return str(options["d"])[:1] or "\ufffd"


def _separators(call: Invocation) -> str:
    held = call.environment.get("IFS") or call.state.variables.get("IFS")
    return str(held) if held is not None and held.known else " \t\n"


def _fields(line: str, separators: str, most: int) -> list[str]:
    """The line cut as `read` does; the last name gets what is left."""
    if not separators:
        return [line]

    blank = "".join(c for c in separators if c in " \t\n")
    between = f"[{re.escape(separators)}]"
    if blank:
        around = f"[{re.escape(blank)}]*"
        hard = "".join(c for c in separators if c not in blank)
        between = f"{around}[{re.escape(hard)}]{around}|" if hard else ""
        between += f"[{re.escape(blank)}]+"
    line = line.strip(blank) if blank else line
    return re.split(between, line, maxsplit=max(most - 1, 0)) if most != 1 else [line]


def _options(call: Invocation, takes: str) -> tuple[list[Arg], dict[str, Arg]]:
    given: list[Arg] = []
    options: dict[str, Arg] = {}
    words = list(call.args)
    while words:
        word = words.pop(0)
        if not word.startswith("-") or len(word) < 2:
            given.append(word)
            continue
        for position, letter in enumerate(word[1:], 2):
            if letter in takes:
                attached = word[position:]
                if attached:
                    options[letter] = word.like(attached)
                elif words:
                    options[letter] = words.pop(0)
                break
    return given, options
