"""What the shell does itself: directories, variables, aliases, traps, `eval`, `source`, `exec`."""

from __future__ import annotations

from redoma.judge.interpret import assignments as inputs
from redoma.judge.interpret import variables
from redoma.judge.interpret.arg import ANYTHING, NETWORK, NOTHING, SECRET, UNKNOWN, Stream, arg
from redoma.judge.interpret.formats import echoed, formatted
from redoma.judge.interpret.places import normal
from redoma.model.risk import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.judge.interpret.invocation import Invocation

judge_variable = variables.judge_variable
_USUAL_ALIASES = frozenset(("ll", "la", "l"))
"""No programs, but names that nearly every person gives to `ls`."""
_QUIET = (
    ": true false break continue return exit wait jobs fg bg help times suspend "
    "logout dirs compgen complete compopt caller disown"
).split()
_OPTIONS = ("shopt", "unalias", "setopt", "unsetopt", "bind", "ulimit", "umask")


def _nothing(_call: Invocation) -> Stream:
    return NOTHING


def cd(call: Invocation) -> Stream:
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
    start = before
    searched = call.environment.get("CDPATH") or state.variables.get("CDPATH")
    if searched and words and target[:1] not in ("/", ".", "-"):
        # Where a name is looked for elsewhere, it is found there rather than here.
        start = normal(searched.partition(":")[0] or before, before)
    state.cwd = normal(target, start) if target else before
    state.variables["OLDPWD"] = arg(before, call.span)
    state.variables["PWD"] = arg(state.cwd, call.span)
    return Stream(f"{state.cwd}\n") if words and words[0] == "-" else NOTHING


def pwd(call: Invocation) -> Stream:
    return Stream(f"{call.state.cwd}\n" if UNKNOWN not in call.state.cwd else None)


def echo(call: Invocation) -> Stream:
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


def _printed_into(call: Invocation, taint: int) -> Stream:
    """`printf -v NAME …` and `printf -vNAME …`: an assignment in disguise."""
    words = call.args
    attached = words[0][2:]
    name = attached or (words[1] if len(words) > 1 else "")
    rest = words[1:] if attached else words[2:]
    text = formatted([str(w) for w in rest])
    inputs.assigned(call, str(name), arg(UNKNOWN if text is None else text, call.span, taint))
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
        inputs.names(call, word.like(name))
        if "i" in letters:
            call.state.integers.add(name)
            call.walker.expander.number(word.like(value), call.state)
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


def unset(call: Invocation) -> Stream:
    for word in call.args:
        if not word.startswith("-"):
            inputs.names(call, word)
            call.state.forget(word)
            variables.judge_unset(call, word)
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
    count = int(call.args[0]) if call.args and call.args[0].isdigit() else 1
    call.state.positional = call.state.positional[count:]
    return NOTHING


def alias(call: Invocation) -> Stream:
    for word in call.args:
        name, equals, body = word.partition("=")
        if not equals:
            continue
        call.state.aliases[name] = body
        if UNKNOWN in body or (name in call.walker.knowledge and name not in _USUAL_ALIASES):
            call.fact(Effect.WRITES, tags=("shadows",), at=word.span, detail=name)
        call.walker.nested(arg(body, word.span, word.taint), call.state.copy())
    return NOTHING


def trap(call: Invocation) -> Stream:
    words = [w for w in call.args if w not in ("--", "-p", "-l")]
    if len(words) >= 2 and words[0] not in ("-", ""):
        call.run_shell(words[0])
    return NOTHING


def eval_(call: Invocation) -> Stream:
    words = [w for i, w in enumerate(call.args) if not (i == 0 and w == "--")]
    if not words:
        return NOTHING
    taint = 0
    for word in words:
        taint |= word.taint
    span = (words[0].span[0], words[-1].span[1])
    text = arg(" ".join(words), span, taint)
    call.fact(Effect.EXECUTES, tags=("eval",), at=call.span)
    if text.taint & NETWORK:
        call.fact(Effect.DOWNLOADS_AND_EXECUTES, at=span)
    if not text.strip(UNKNOWN + " "):
        call.fact(Effect.UNKNOWN, tags=("code",), at=span)
        return ANYTHING
    return call.walker.nested(text, call.state, call.stdin)


def source(call: Invocation) -> Stream:
    words = [w for w in call.args if w != "--"]
    if not words:
        return NOTHING
    call.fact(Effect.EXECUTES, tags=("source",), at=call.span)
    return call.executes_file(words[0], positional=words[1:] or None, here=True)


def exec_(call: Invocation) -> Stream:
    words = list(call.args)
    while words and words[0].startswith("-") and words[0] != "--":
        option = words.pop(0)
        if option.endswith("a") and words:
            words.pop(0)
    if words and words[0] == "--":
        words.pop(0)
    return call.run_args(words) if words else NOTHING


def command(call: Invocation) -> Stream:
    words = list(call.args)
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option == "--":
            break
        if set(option[1:]) & set("vV"):
            # Where it lies is not known, but its name is all that counts.
            return Stream("".join(f"/usr/bin/{word}\n" for word in words if "v" in option))
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


def type_(call: Invocation) -> Stream:
    """`type -P NAME` prints where a program lies; its name is all that counts."""
    words = [word for word in call.args if word[:1] != "-"]
    if not any(word in ("-P", "-p") for word in call.args):
        return Stream(None)
    return Stream("".join(f"/usr/bin/{word}\n" for word in words))


def hash_(call: Invocation) -> Stream:
    """Attack: `hash -p /bin/rm ls` makes `ls` another program, as an alias would."""
    words = call.args
    if words[:1] == ["-p"] and len(words) > 2:
        call.state.aliases[str(words[2])] = str(words[1])
        call.fact(Effect.WRITES, tags=("shadows",), at=words[2].span, detail=str(words[2]))
    return NOTHING


def enable(call: Invocation) -> Stream:
    if any(w.startswith("-") and "f" in w for w in call.args):
        call.fact(Effect.EXECUTES, tags=("library",))
    else:
        call.fact(Effect.WRITES, tags=("shell-options",))
    return NOTHING


def history(call: Invocation) -> Stream:
    if call.name == "fc":
        call.fact(Effect.UNKNOWN, tags=("history",))
        return ANYTHING
    if any(w[:2] in ("-c", "-d", "-w", "-r") for w in call.args):
        call.fact(Effect.DELETES, Target(text="history", place=Place.SECRET), tags=("history",))
        return NOTHING
    return Stream(None, SECRET, "history")


def shell_options(call: Invocation) -> Stream:
    call.fact(Effect.WRITES, tags=("shell-options",))
    return NOTHING


BUILTINS: dict[str, Callable[[Invocation], Stream]] = {
    **dict.fromkeys(_QUIET, _nothing),
    **dict.fromkeys(("cd", "chdir", "pushd", "popd"), cd),
    "pwd": pwd,
    **dict.fromkeys(("echo", "printf", "print"), echo),
    **dict.fromkeys(("export", "declare", "typeset", "local", "readonly", "setenv"), export),
    "unset": unset,
    "set": set_,
    "shift": shift,
    **dict.fromkeys(("read", "mapfile", "readarray"), inputs.read),
    **dict.fromkeys(("test", "["), inputs.test),
    "let": inputs.let,
    "getopts": inputs.getopts,
    "alias": alias,
    "trap": trap,
    "eval": eval_,
    **dict.fromkeys(("source", "."), source),
    "exec": exec_,
    **dict.fromkeys(("command", "builtin", "noglob", "nocorrect"), command),
    "enable": enable,
    "type": type_,
    "hash": hash_,
    **dict.fromkeys(("history", "fc"), history),
    **dict.fromkeys(_OPTIONS, shell_options),
}
