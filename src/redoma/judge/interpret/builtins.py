"""What the shell does itself: directories, variables, aliases, traps, `eval`, `source`, `exec`."""

from __future__ import annotations

from redoma.judge.interpret import variables
from redoma.judge.interpret.arg import ANYTHING, NOTHING, SECRET, UNKNOWN, Arg, Stream, arg
from redoma.judge.interpret.formats import echoed, formatted
from redoma.judge.lazy import lazy
from redoma.judge.places import normal
from redoma.model.risk import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.judge.interpret.call import Call

judge_variable = variables.judge_variable
_NAME = lazy(r"[A-Za-z_]\w*$")


def _nothing(_call: Call) -> Stream:
    return NOTHING


def cd(call: Call) -> Stream:
    words = [w for w in call.args if not (w.startswith("-") and w != "-")]
    state = call.state
    if call.name == "popd":
        state.cwd = state.directories.pop() if state.directories else UNKNOWN
        return NOTHING
    before = state.cwd
    if call.name == "pushd":
        state.directories.append(before)
    if not words:
        target = state.variables.get("HOME") or arg(UNKNOWN, call.span)
    elif words[0] == "-":
        target = state.variables.get("OLDPWD") or arg(UNKNOWN, call.span)
    else:
        target = words[0]
    state.cwd = normal(target, before) if target else before
    state.variables["OLDPWD"] = arg(before, call.span)
    state.variables["PWD"] = arg(state.cwd, call.span)
    return Stream(f"{state.cwd}\n") if words and words[0] == "-" else NOTHING


def pwd(call: Call) -> Stream:
    return Stream(f"{call.state.cwd}\n" if UNKNOWN not in call.state.cwd else None)


def echo(call: Call) -> Stream:
    taint = 0
    for word in call.args:
        taint |= word.taint
    if call.name == "printf":
        words = call.args
        if words and words[0].startswith("-v"):
            return _printed_into(call, taint)
        text = formatted([str(w) for w in words if w != "--"])
    else:
        text = echoed([str(w) for w in call.args])
    if text is not None and ("\x1b]" in text or "\x1b[" in text or "\x1bP" in text):
        call.fact(Effect.DECEIVES, tags=("escape",))
    return Stream(text, taint)


def _printed_into(call: Call, taint: int) -> Stream:
    """`printf -v NAME …` and `printf -vNAME …`: an assignment in disguise."""
    words = call.args
    attached = words[0][2:]
    name = attached or (words[1] if len(words) > 1 else "")
    rest = words[1:] if attached else words[2:]
    text = formatted([str(w) for w in rest])
    _assigned(call, str(name), arg(UNKNOWN if text is None else text, call.span, taint))
    return NOTHING


def _assigned(call: Call, name: str, value: Arg) -> None:
    plain = name.partition("[")[0]
    if _NAME.match(plain):
        call.state.assign(plain, value if plain == name else value.like(UNKNOWN))
        judge_variable(call.walker, plain, value, call.state, kept=True)


def shows_environment(call: Call) -> Stream:
    """Every variable with its value, tokens and passwords among them."""
    target = Target(text="environment", place=Place.SECRET)
    call.fact(Effect.SECRETS, target, tags=("environment",))
    return Stream(None, SECRET, "environment")


def export(call: Call) -> Stream:
    listing = True
    points = any(w.startswith("-") and "n" in w for w in call.args) and call.name != "export"
    for word in call.args:
        if word.startswith("-"):
            listing = listing and "p" in word
            continue
        listing = False
        name, equals, value = word.partition("=")
        name = name.removesuffix("+")
        if call.walker.running and call.name in ("local", "declare", "typeset"):
            call.walker.locals.setdefault(name, call.state.variables.get(name))
        if points and equals:
            call.state.references[name] = value
            continue
        if not equals:
            call.state.exported.add(name)
            continue
        held = arg(value, word.span, word.taint)
        if name not in call.state.arrays:
            call.state.assign(name, held)
        if call.name in ("export", "declare", "typeset", "readonly", "local", "setenv"):
            call.state.exported.add(name)
        judge_variable(call.walker, name, held, call.state, kept=True)
    if listing and call.name in ("export", "declare", "typeset"):
        return shows_environment(call)
    if call.name in ("export", "declare", "typeset", "readonly", "local"):
        call.fact(Effect.WRITES, tags=("shell-state",))
    return NOTHING


def unset(call: Call) -> Stream:
    for word in call.args:
        if not word.startswith("-"):
            call.state.forget(word)
            variables.judge_unset(call, word)
    call.fact(Effect.WRITES, tags=("shell-state",))
    return NOTHING


def set_(call: Call) -> Stream:
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


def shift(call: Call) -> Stream:
    count = int(call.args[0]) if call.args and call.args[0].isdigit() else 1
    call.state.positional = call.state.positional[count:]
    return NOTHING


def read(call: Call) -> Stream:
    into_array = call.name in ("mapfile", "readarray")
    names, options = _read_options(call, "dnOsuCc" if into_array else "adinNptu")
    stdin = call.stdin
    if "u" in options:
        held = call.state.descriptors.get(str(options["u"]))
        stdin = (call.walker.files.get(held) if held is not None else None) or ANYTHING
    if "C" in options:
        call.run_shell(options["C"])
    if "a" in options:
        names = [options["a"]]
        into_array = True
    text = stdin.text
    line = text.split("\n", 1)[0] if text is not None else None
    if into_array:
        lines = text.splitlines() if text is not None else [UNKNOWN]
        if "a" in options and line is not None:
            lines = line.split()
        name = str(names[0]) if names else "MAPFILE"
        call.state.arrays[name] = [arg(each, call.span, stdin.taint) for each in lines[:64]]
        return NOTHING
    for index, name in enumerate(names or [call.word.like("REPLY")]):
        value = UNKNOWN if line is None else line
        if line is not None and len(names) > 1:
            fields = line.split(None, len(names) - 1)
            value = fields[index] if index < len(fields) else ""
        _assigned(call, str(name), arg(value, call.span, stdin.taint))
    return NOTHING


def _read_options(call: Call, takes: str) -> tuple[list[Arg], dict[str, Arg]]:
    names: list[Arg] = []
    options: dict[str, Arg] = {}
    words = list(call.args)
    while words:
        word = words.pop(0)
        if not word.startswith("-") or len(word) < 2:
            names.append(word)
            continue
        for position, letter in enumerate(word[1:], 2):
            if letter in takes:
                attached = word[position:]
                if attached:
                    options[letter] = word.like(attached)
                elif words:
                    options[letter] = words.pop(0)
                break
    return names, options


def alias(call: Call) -> Stream:
    for word in call.args:
        name, equals, body = word.partition("=")
        if not equals:
            continue
        call.state.aliases[name] = body
        if UNKNOWN in body or name in call.walker.knowledge:
            call.fact(Effect.WRITES, tags=("shadows",), at=word.span, detail=name)
        call.walker.nested(arg(body, word.span, word.taint), call.state.copy())
    return NOTHING


def trap(call: Call) -> Stream:
    words = [w for w in call.args if w not in ("--", "-p", "-l")]
    if len(words) >= 2 and words[0] not in ("-", ""):
        call.run_shell(words[0])
    return NOTHING


def eval_(call: Call) -> Stream:
    words = [w for i, w in enumerate(call.args) if not (i == 0 and w == "--")]
    if not words:
        return NOTHING
    taint = 0
    for word in words:
        taint |= word.taint
    span = (words[0].span[0], words[-1].span[1])
    text = arg(" ".join(words), span, taint)
    call.fact(Effect.EXECUTES, tags=("eval",), at=call.span)
    if text.taint & 2:
        call.fact(Effect.DOWNLOADS_AND_EXECUTES, at=span)
    if not text.strip(UNKNOWN + " "):
        call.fact(Effect.UNKNOWN, tags=("code",), at=span)
        return ANYTHING
    return call.walker.nested(text, call.state, call.stdin)


def source(call: Call) -> Stream:
    words = [w for w in call.args if w != "--"]
    if not words:
        return NOTHING
    call.fact(Effect.EXECUTES, tags=("source",), at=call.span)
    if words[0] in ("/dev/stdin", "/proc/self/fd/0", "/dev/fd/0"):
        return call.executes_stream(call.stdin)
    return call.executes_file(words[0])


def exec_(call: Call) -> Stream:
    words = list(call.args)
    while words and words[0].startswith("-") and words[0] != "--":
        option = words.pop(0)
        if option.endswith("a") and words:
            words.pop(0)
    if words and words[0] == "--":
        words.pop(0)
    return call.run_args(words) if words else NOTHING


def command(call: Call) -> Stream:
    words = list(call.args)
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option == "--":
            break
        if set(option[1:]) & set("vV"):
            return NOTHING
    if not words:
        return NOTHING
    if words[0] in call.state.functions:
        functions = call.state.functions
        call.state.functions = {k: v for k, v in functions.items() if k != words[0]}
        try:
            return call.run_args(words)
        finally:
            call.state.functions = functions
    return call.run_args(words)


def enable(call: Call) -> Stream:
    if any(w.startswith("-") and "f" in w for w in call.args):
        call.fact(Effect.EXECUTES, tags=("library",))
    else:
        call.fact(Effect.WRITES, tags=("shell-options",))
    return NOTHING


def history(call: Call) -> Stream:
    if call.name == "fc":
        call.fact(Effect.UNKNOWN, tags=("history",))
        return ANYTHING
    if any(w[:2] in ("-c", "-d", "-w", "-r") for w in call.args):
        call.fact(Effect.DELETES, Target(text="history", place=Place.SECRET), tags=("history",))
        return NOTHING
    return Stream(None)


def shell_options(call: Call) -> Stream:
    call.fact(Effect.WRITES, tags=("shell-options",))
    return NOTHING


_QUIET = (
    ": true false test [ break continue return exit wait jobs fg bg hash type help times suspend "
    "logout getopts let dirs compgen complete compopt caller disown"
).split()
_OPTIONS = ("shopt", "unalias", "setopt", "unsetopt", "bind", "ulimit", "umask")

BUILTINS: dict[str, Callable[[Call], Stream]] = {
    **dict.fromkeys(_QUIET, _nothing),
    **dict.fromkeys(("cd", "chdir", "pushd", "popd"), cd),
    "pwd": pwd,
    **dict.fromkeys(("echo", "printf", "print"), echo),
    **dict.fromkeys(("export", "declare", "typeset", "local", "readonly", "setenv"), export),
    "unset": unset,
    "set": set_,
    "shift": shift,
    **dict.fromkeys(("read", "mapfile", "readarray"), read),
    "alias": alias,
    "trap": trap,
    "eval": eval_,
    **dict.fromkeys(("source", "."), source),
    "exec": exec_,
    **dict.fromkeys(("command", "builtin", "noglob", "nocorrect"), command),
    "enable": enable,
    **dict.fromkeys(("history", "fc"), history),
    **dict.fromkeys(_OPTIONS, shell_options),
}
