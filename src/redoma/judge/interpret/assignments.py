"""Builtins that set variables: `export`, `read`, `mapfile`, `getopts`; what their names hide."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import ANYTHING, NOTHING, SECRET, UNKNOWN, Arg, Stream, arg
from redoma.judge.interpret.formats import formatted
from redoma.judge.interpret.variables import judge_steering, judge_unset, judge_variable
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.interpret.state import State
    from redoma.judge.interpret.walker import Walker

_NAME = re.compile(r"[A-Za-z_]\w*$")
_ARITHMETIC = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_NAMED = frozenset(("-v", "-R"))
CALCULATED = frozenset("RANDOM SRANDOM SECONDS LINENO HISTCMD OPTIND BASHPID EPOCHSECONDS".split())
"""Names whose values bash calculates without being told to."""
_MEANINGS = frozenset(("BASH_ALIASES", "BASH_CMDS"))
_PLAIN_KEY = re.compile(r"[A-Za-z_]\w*")
MOST_LINES = 64


def assigned(call: Invocation, name: str, value: Arg) -> None:
    """A builtin sets a variable or an element that it was given by name."""
    plain, bracket, key = name.partition("[")
    names(call, value.like(name))
    if not _NAME.match(plain):
        return
    if bracket:
        put_element(call.walker, plain, value.like(key.removesuffix("]")), value, call.state)
    else:
        call.state.assign(plain, value)
    if plain in CALCULATED or plain in call.state.integers:
        call.walker.expander.number(value, call.state)
    judge_variable(call.walker, plain, value, call.state, kept=True)


def put_element(walker: Walker, name: str, key: Arg, value: Arg, state: State) -> None:
    """`name[key]=value`: bash calculates the subscript of what is no table of names."""
    number = walker.expander.number(key, state)
    if number is not None and (not _PLAIN_KEY.fullmatch(key) or key in state.variables):
        key = key.like(str(number))
    if name in _MEANINGS:
        walker.note(Effect.WRITES, value.span, tags=("shadows",), detail=str(key))
        walker.nested(value, state.copy())
    state.put_element(name, str(key), value)


def names(call: Invocation, word: Arg) -> None:
    """Attack: `read 'a[$(cmd)]'`: bash expands the subscript of a name that a builtin gets."""
    if "[" in word and ("$(" in word or "`" in word):
        call.walker.hidden_text(word, call.state)


def printed_into(call: Invocation, taint: int) -> Stream:
    """`printf -v NAME …` and `printf -vNAME …`: an assignment in disguise."""
    words = call.args
    attached = words[0][2:]
    name = attached or (words[1] if len(words) > 1 else "")
    rest = words[1:] if attached else words[2:]
    text = formatted([str(w) for w in rest])
    assigned(call, str(name), arg(UNKNOWN if text is None else text, call.span, taint))
    return NOTHING


def shows_environment(call: Invocation) -> Stream:
    """Every variable with its value, tokens and passwords among them."""
    target = Target(text="environment", place=Place.SECRET)
    call.fact(Effect.SECRETS, target, tags=("environment",))
    return Stream(None, SECRET, "environment")


def export(call: Invocation) -> Stream:
    listing = True
    letters = "".join(w for w in call.args if w.startswith("-"))
    points = "n" in letters and call.name != "export"
    for word in call.args:
        if word.startswith("-"):
            listing = listing and "p" in word
            continue
        listing = False
        name, equals, value = word.partition("=")
        name = name.removesuffix("+")
        names(call, word.like(name))
        if "i" in letters:
            call.state.integers.add(name)
            call.walker.expander.number(word.like(value), call.state)
        if call.walker.running and call.name in ("local", "declare", "typeset"):
            call.walker.locals.setdefault(name, call.state.variables.get(name))
        if points and equals:
            names(call, word.like(value))
            call.state.references[name] = value
            continue
        if value[:1] == "(" and set("aA") & set(letters):
            # Attack: `declare -a a='($(cmd))'`: the text is read as a list, and expanded once more.
            call.walker.nested(word.like(f"{name}={value}"), call.state)
            continue
        if not equals:
            call.state.exported.add(name)
            continue
        held = arg(value, word.span, word.taint)
        if name not in call.state.arrays:
            call.state.assign(name, held)
        if name in CALCULATED:
            call.walker.expander.number(held, call.state)
        if call.name in ("export", "declare", "typeset", "readonly", "local", "setenv"):
            call.state.exported.add(name)
        judge_variable(call.walker, name, held, call.state, kept=True)
    if listing and call.name in ("export", "declare", "typeset"):
        return shows_environment(call)
    if call.name in ("export", "declare", "typeset", "readonly", "local"):
        call.fact(Effect.WRITES, tags=("shell-state",))
    return NOTHING


def unset(call: Invocation) -> Stream:
    for word in call.args:
        if not word.startswith("-"):
            names(call, word)
            call.state.forget(word)
            judge_unset(call, word)
    call.fact(Effect.WRITES, tags=("shell-state",))
    return NOTHING


def set_(call: Invocation) -> Stream:
    words = list(call.args)
    if not words:
        return shows_environment(call)
    while words and words[0][:1] in "-+" and words[0] != "--" and words[0] not in ("-", "+"):
        option = words.pop(0)
        if option[-1:] == "o" and words:
            words.pop(0)
    if words and words[0] == "--":
        words.pop(0)
    if words:
        call.state.positional = words
    call.fact(Effect.WRITES, tags=("shell-options",))
    return NOTHING


def shift(call: Invocation) -> Stream:
    for word in call.args:
        names(call, word)
    count = int(call.args[0]) if call.args and call.args[0].isdigit() else 1
    call.state.positional = call.state.positional[count:]
    return NOTHING


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
    for letter in "nNtscO":
        if letter in options:
            names(call, options[letter])
    if "a" in options:
        given = [options["a"]]
        into_array = True
    text = stdin.text
    separators = _separators(call)
    line = None if text is None else text.split(_ending(options), 1)[0]
    if not into_array:
        line = _counted(options, text, line)
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


def _counted(options: dict[str, Arg], text: str | None, line: str | None) -> str | None:
    """`read -n 2`, `read -N 2`: so many characters; `-N` takes line ends for what they are."""
    for letter, whole in (("n", line), ("N", text)):
        most = options.get(letter)
        if most is not None and whole is not None:
            return whole[: int(most)] if most.isdigit() and len(most) < 9 else None
    return line


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
