"""What the shell does itself: directories, `echo`, aliases, traps, `eval`, `source`, `exec`."""

from __future__ import annotations

from redoma.judge.interpret import assignments, shell_hooks
from redoma.judge.interpret.arg import ANYTHING, NETWORK, NOTHING, UNKNOWN, Stream, arg
from redoma.judge.interpret.formats import echoed, formatted
from redoma.judge.interpret.places import normal
from redoma.model.decision import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.judge.interpret.invocation import Invocation

_USUAL_ALIASES = frozenset(("ll", "la", "l"))
"""No programs, but names that nearly every person gives to `ls`."""
_QUIET = (
    ": true false break continue return exit wait fg bg help times suspend logout dirs caller "
    "disown"
).split()
_OPTIONS = ("shopt", "unalias", "setopt", "unsetopt", "ulimit", "umask")


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
            return assignments.printed_into(call, taint)
        text = formatted([str(w) for w in words if w != "--"])
    else:
        text = echoed([str(w) for w in call.args])
    if text is not None and ("\x1b]" in text or "\x1b[" in text or "\x1bP" in text):
        call.fact(Effect.DECEIVES, tags=("escape",))
    return Stream(text, taint)


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
        call.unknown_code(span)
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


def enable(call: Invocation) -> Stream:
    if any(w.startswith("-") and "f" in w for w in call.args):
        call.fact(Effect.EXECUTES, tags=("library",))
    else:
        call.fact(Effect.WRITES, tags=("shell-options",))
    return NOTHING


def shell_options(call: Invocation) -> Stream:
    call.fact(Effect.WRITES, tags=("shell-options",))
    return NOTHING


BUILTINS: dict[str, Callable[[Invocation], Stream]] = {
    **dict.fromkeys(_QUIET, shell_hooks.quiet),
    **dict.fromkeys(("cd", "chdir", "pushd", "popd"), cd),
    "pwd": pwd,
    **dict.fromkeys(("echo", "printf", "print"), echo),
    **dict.fromkeys(
        ("export", "declare", "typeset", "local", "readonly", "setenv"), assignments.export
    ),
    "unset": assignments.unset,
    "set": assignments.set_,
    "shift": assignments.shift,
    **dict.fromkeys(("read", "mapfile", "readarray"), assignments.read),
    **dict.fromkeys(("test", "["), assignments.test),
    "let": assignments.let,
    "getopts": assignments.getopts,
    "alias": alias,
    "trap": trap,
    "eval": eval_,
    **dict.fromkeys(("source", "."), source),
    "exec": exec_,
    **dict.fromkeys(("command", "builtin", "noglob", "nocorrect"), command),
    "enable": enable,
    "type": type_,
    "jobs": shell_hooks.jobs,
    **dict.fromkeys(("compgen", "complete", "compopt"), shell_hooks.completion),
    "bind": shell_hooks.bind,
    "hash": shell_hooks.hash_,
    "history": shell_hooks.history,
    "fc": shell_hooks.fc,
    **dict.fromkeys(_OPTIONS, shell_options),
}
