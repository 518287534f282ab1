"""Programs that run another program: what they wrap is judged, what they add is noted."""

from __future__ import annotations

from redoma.judge.interpret.arg import ANYTHING, NOTHING, SECRET, UNKNOWN, Arg, Stream, arg
from redoma.judge.interpret.variables import judge_variable
from redoma.judge.programs.options import split
from redoma.model.risk import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

_SUDO_TAKES = frozenset(
    "-u --user -g --group -C --close-from -h --host -p --prompt -r --role -t --type -T "
    "--command-timeout -U --other-user -D --chdir -R --chroot".split()
)


def sudo(call: Call) -> Stream:
    """`sudo`, `doas`, `pkexec`: the same command with another user's rights."""
    options = split(call.args, _SUDO_TAKES, stops=True)
    words = list(options.operands)
    environment: dict[str, Arg] = {}
    while words and "=" in words[0] and not words[0].startswith(("/", "=")):
        word = words.pop(0)
        name, _, value = word.partition("=")
        environment[name] = arg(value, word.span, word.taint)
        judge_variable(call.walker, name, environment[name], call.state, kept=False)
    call.fact(Effect.PRIVILEGE, at=call.word.span)
    if options.has("-l", "--list", "-V", "--version", "-v", "--validate", "-k", "-K") and not words:
        return NOTHING
    return _privileged(call, words, environment)


def _privileged(call: Call, words: list[Arg], environment: dict[str, Arg]) -> Stream:
    walker = call.walker
    before = walker.privileged
    walker.privileged = True
    try:
        return call.run_args(words, environment=environment) if words else ANYTHING
    finally:
        walker.privileged = before


def su(call: Call) -> Stream:
    """`su`: its `-c` is shell code."""
    options = split(
        call.args, frozenset("-c --command -s --shell -g --group -G --supp-group -w".split())
    )
    call.fact(Effect.PRIVILEGE, at=call.word.span)
    walker = call.walker
    before = walker.privileged
    walker.privileged = True
    try:
        for text in options.values("-c", "--command"):
            call.run_shell(text)
    finally:
        walker.privileged = before
    return ANYTHING


def env(call: Call) -> Stream:
    """`env`: variables, then a command; alone it prints the environment."""
    words = list(call.args)
    environment: dict[str, Arg] = {}
    while words:
        word = words[0]
        if word in ("-S", "--split-string") and len(words) > 1:
            return _split_string(call, words[1], words[2:])
        if word.startswith("--split-string="):
            return _split_string(call, word.like(word.partition("=")[2]), words[1:])
        if word.startswith("-") and word != "-" and not word.startswith("--") and "S" in word:
            return _split_string(call, word.like(word.partition("S")[2]), words[1:])
        if word.startswith(("-C", "--chdir")):
            attached = word.partition("=")[2] if word.startswith("--") else word[2:]
            target = word.like(attached) if attached else (words[1] if len(words) > 1 else word)
            call.state = call.state.copy()
            call.state.cwd = call.path(target)
            words = words[1:] if attached else words[2:]
        elif word in ("-u", "--unset", "-P", "-a", "--argv0"):
            words = words[2:]
        elif word == "--":
            words = words[1:]
            break
        elif word.startswith("-"):
            words = words[1:]
        elif "=" in word:
            name, _, value = word.partition("=")
            environment[name] = arg(value, word.span, word.taint)
            judge_variable(call.walker, name, environment[name], call.state, kept=False)
            words = words[1:]
        else:
            break
    while words and "=" in words[0] and "/" not in words[0].partition("=")[0]:
        words = words[1:]
    if words:
        return call.run_args(words, environment=environment)
    target = Target(text="environment", place=Place.SECRET)
    call.fact(Effect.SECRETS, target, tags=("environment",))
    return Stream(None, SECRET, "environment")


def _split_string(call: Call, text: Arg, rest: list[Arg]) -> Stream:
    words = [text.like(piece) for piece in text.replace("\\_", " ").split()]
    inner = [*words, *rest]
    if not inner:
        return NOTHING
    call.fact(Effect.EXECUTES, tags=("rewrapped",), at=text.span)
    nested = [inner[0].like("env"), *inner]
    return call.run_args(nested)


_XARGS_TAKES = frozenset(
    "-a --arg-file -d --delimiter -E -I -L -n --max-args -P --max-procs -s --max-chars "
    "--process-slot-var -J -R -S".split()
)
_XARGS_OPTIONAL = frozenset(("-i", "-e", "-l"))


def xargs(call: Call) -> Stream:
    """`xargs`: its command gets words that flow in."""
    options = split(call.args, _XARGS_TAKES, stops=True, optional=_XARGS_OPTIONAL)
    words = list(options.operands)
    stdin = call.stdin
    for name in options.values("-a", "--arg-file"):
        stdin = call.reads(name)
    given = incoming(call, stdin)
    if not words:
        call.fact(Effect.EXECUTES, tags=("echo",), at=call.word.span)
        return Stream(None, stdin.taint)
    marker = options.value("-I", "-J", "--replace")
    if marker is None and options.has("-i", "--replace", "-I"):
        attached = options.value("-i")
        marker = attached if attached is not None else words[0].like("{}")
    last: Stream = ANYTHING
    if marker is not None:
        for item in given:
            filled = [_filled(word, str(marker), item) for word in words]
            last = call.run_args(filled, stdin=NOTHING)
        return last
    return call.run_args([*words, *given], stdin=NOTHING)


def _filled(word: Arg, marker: str, item: Arg) -> Arg:
    if marker not in word:
        return word
    return arg(word.replace(marker, item), word.span, word.taint | item.taint)


def incoming(call: Call, stdin: Stream) -> list[Arg]:
    """The words that flow in, or one unknown word that keeps the stream's taint."""
    span = call.word.span
    if stdin.text is not None and UNKNOWN not in stdin.text:
        words = stdin.text.replace("\ufffd", " ").split()
        if len(words) <= 16:
            return [arg(word, span, stdin.taint) for word in words] or [arg("", span)]
    return [arg(UNKNOWN, span, stdin.taint)]


_TIMEOUT_TAKES = frozenset(("-k", "--kill-after", "-s", "--signal"))


def timeout(call: Call) -> Stream:
    options = split(call.args, _TIMEOUT_TAKES, stops=True)
    return call.run_args(options.operands[1:])


def nice(call: Call) -> Stream:
    words = list(call.args)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in ("-n", "--adjustment") and words:
            words.pop(0)
        if word == "--":
            break
    return call.run_args(words) if words else NOTHING


def nohup(call: Call) -> Stream:
    words = [w for i, w in enumerate(call.args) if not (i == 0 and w == "--")]
    return call.run_args(words) if words else NOTHING


PROGRAMS = {
    "sudo": sudo,
    "doas": sudo,
    "pkexec": sudo,
    "su": su,
    "env": env,
    "xargs": xargs,
    "timeout": timeout,
    "nice": nice,
    "nohup": nohup,
}
