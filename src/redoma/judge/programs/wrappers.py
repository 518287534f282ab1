"""Shells, and programs that run another: what they wrap is judged, what they add is noted."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import ANYTHING, NOTHING, SECRET, UNKNOWN, Arg, Stream, arg
from redoma.judge.interpret.variables import judge_variable
from redoma.judge.programs.cards import options_of
from redoma.judge.programs.options import split
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.arg import Arg
    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.programs.options import ProgramOptions

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_ENV_UNSET = re.compile(r"-[iv0]*u")


def sudo(call: Invocation) -> Stream:
    """`sudo`, `doas`, `pkexec`: the same command with another user's rights."""
    options = options_of(call)
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
    if options.has("-e", "--edit"):
        for word in words:
            call.writes(word)
        return NOTHING
    if options.has("-s", "--shell", "-i", "--login"):
        if not words:
            call.fact(Effect.EXECUTES, tags=("interactive",))
            return ANYTHING
        span = (words[0].span[0], words[-1].span[1])
        taint = 0
        for word in words:
            taint |= word.taint
        words = [words[0].like("sh"), words[0].like("-c"), arg(" ".join(words), span, taint)]
    for word in options.values("-D", "--chdir"):
        call.reads(word)
    return _privileged(call, words, environment)


def _privileged(call: Invocation, words: list[Arg], environment: dict[str, Arg]) -> Stream:
    walker = call.walker
    before = walker.privileged
    walker.privileged = True
    try:
        return call.run_args(words, environment=environment) if words else ANYTHING
    finally:
        walker.privileged = before


def su(call: Invocation) -> Stream:
    """`su`: its `-c` is shell code."""
    options = options_of(call)
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


def env(call: Invocation) -> Stream:
    """`env`: variables, then a command; alone it prints the environment."""
    words = list(call.args)
    environment: dict[str, Arg] = {}
    while words:
        word = words[0]
        if word in ("-S", "--split-string") and len(words) > 1:
            return _split_string(call, words[1], words[2:])
        if word.startswith("--split-string="):
            return _split_string(call, word.like(word.partition("=")[2]), words[1:])
        if word[:1] == "-" and word[1:2] != "-" and "S" in word:
            attached = word.partition("S")[2]
            if attached or len(words) < 2:
                return _split_string(call, word.like(attached), words[1:])
            return _split_string(call, words[1], words[2:])
        if word.startswith(("-C", "--chdir")):
            attached = word.partition("=")[2] if word.startswith("--") else word[2:]
            folder = word.like(attached) if attached else (words[1] if len(words) > 1 else word)
            call.state = call.state.copy()
            call.state.cwd = call.path(folder)
            words = words[1:] if attached else words[2:]
        elif word.startswith(("-a", "--argv0")):
            call.fact(Effect.UNKNOWN, tags=("subcommand",), detail="env --argv0", at=word.span)
            words = words[2 if word in ("-a", "--argv0") else 1 :]
        elif word in ("--unset", "-P") or (word[:1] == "-" and _ENV_UNSET.fullmatch(word)):
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


def _split_string(call: Invocation, text: Arg, rest: list[Arg]) -> Stream:
    words = [text.like(piece) for piece in text.replace("\\_", " ").split()]
    inner = [*words, *rest]
    if not inner:
        return NOTHING
    call.fact(Effect.EXECUTES, tags=("rewrapped",), at=text.span)
    nested = [inner[0].like("env"), *inner]
    return call.run_args(nested)


def xargs(call: Invocation) -> Stream:
    """`xargs`: its command gets words that flow in."""
    options = options_of(call)
    words = list(options.operands)
    stdin = call.stdin
    for name in options.values("-a", "--arg-file"):
        stdin = call.reads(name)
    if options.has("-p", "--interactive", "-o", "--open-tty"):
        call.fact(Effect.UNKNOWN, tags=("subcommand",), detail="xargs asks at the terminal")
    if not words:
        call.fact(Effect.EXECUTES, tags=("echo",), at=call.word.span)
        return call.run_args([call.word.like("echo"), *incoming(call, stdin)])
    marker = options.value("-I", "-J", "--replace", "-i") or None
    if marker is None and options.has("-i", "--replace", "-I"):
        marker = words[0].like("{}")
    given = incoming(
        call,
        stdin,
        whole_lines=marker is not None and not options.has("-J"),
        ending=_ending(options),
    )
    last: Stream = ANYTHING
    if marker is not None:
        for item in given:
            filled = [_filled(word, str(marker), item) for word in words]
            last = call.run_args(filled, stdin=NOTHING)
        return last
    if options.value("-n", "--max-args", "-L") == "1" and options.has("-n", "--max-args"):
        for item in given:
            last = call.run_args([*words, item], stdin=NOTHING)
        return last
    return call.run_args([*words, *given], stdin=NOTHING)


def _ending(options: ProgramOptions) -> str:
    """What ends an item by option; "" where blanks do. A NUL stands in texts as U+FFFD."""
    if options.has("-0", "--null"):
        return "\ufffd"
    given = options.value("-d", "--delimiter")
    if given is None:
        return ""
    from redoma.judge.interpret.formats import unescaped

    return unescaped(str(given))[:1]


def _filled(word: Arg, marker: str, item: Arg) -> Arg:
    if marker not in word:
        return word
    return arg(word.replace(marker, item), word.span, word.taint | item.taint)


def incoming(
    call: Invocation, stdin: Stream, *, whole_lines: bool = False, ending: str = ""
) -> list[Arg]:
    """The words that flow in, or one unknown word that keeps the stream's taint."""
    span = call.word.span
    if stdin.text is not None:
        if ending:
            words = [item for item in stdin.text.split(ending) if item.strip()]
        elif whole_lines:
            text = stdin.text.replace("\ufffd", "\n")
            words = [line.strip() for line in text.splitlines() if line.strip()]
        else:
            words = _unquoted(stdin.text.replace("\ufffd", "\n"))
        if len(words) <= 16:
            return [arg(word, span, stdin.taint) for word in words] or [arg("", span)]
    return [arg(UNKNOWN, span, stdin.taint)]


_ITEM = re.compile(r"(?:'[^'\n]*'|\"[^\"\n]*\"|\\.|[^\s'\"\\]|['\"\\])+", re.DOTALL)
_QUOTING = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"|\\(.)", re.DOTALL)


def _unquoted(text: str) -> list[str]:
    """Items as `xargs` cuts them: at blanks, with quotes and backslashes taken away."""
    found = _ITEM.findall(text)
    return [_QUOTING.sub(lambda m: m[1] or m[2] or m[3] or "", item) for item in found]


_TIMEOUT_KNOWN = frozenset(
    "-k --kill-after -s --signal -v --verbose -p -f --foreground --preserve-status "
    "--help --version".split()
)


def timeout(call: Invocation) -> Stream:
    """`timeout`: a time, then a command."""
    options = options_of(call)
    for name in options.given:
        if name not in _TIMEOUT_KNOWN:
            call.fact(Effect.UNKNOWN, tags=("subcommand",), detail=f"timeout {name}")
    if not options.operands[1:]:
        call.fact(Effect.UNKNOWN, tags=("subcommand",), detail="timeout without a command")
    return _wrapped(call, options.operands[1:])


def _wrapped(call: Invocation, words: list[Arg]) -> Stream:
    """The command behind a wrapper; settings before it are judged as those of `env`."""
    environment: dict[str, Arg] = {}
    while words and _ASSIGNMENT.match(words[0]):
        word = words[0]
        name, _, value = word.partition("=")
        environment[name] = arg(value, word.span, word.taint)
        judge_variable(call.walker, name, environment[name], call.state, kept=False)
        words = words[1:]
    return call.run_args(words, environment=environment) if words else NOTHING


def nice(call: Invocation) -> Stream:
    words = list(call.args)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in ("-n", "--adjustment") and words:
            words.pop(0)
        if word == "--":
            break
    return _wrapped(call, words)


def nohup(call: Invocation) -> Stream:
    words = [w for i, w in enumerate(call.args) if not (i == 0 and w == "--")]
    return _wrapped(call, words)


_SCHEDULING_TAKES = {
    "ionice": "-c --class -n --classdata",
    "taskset": "",
    "chrt": "-T --sched-runtime -P --sched-period -D --sched-deadline",
    "choom": "-n --adjust",
    "prlimit": "-o --output",
}
_RESOURCES = frozenset(
    "-c -d -e -f -i -l -m -n -q -r -s -t -u -v -x -y --core --data --nice --fsize --sigpending "
    "--memlock --rss --nofile --msgqueue --rtprio --stack --cpu --nproc --as --locks "
    "--rttime".split()
)


def scheduling(call: Invocation) -> Stream:
    """`ionice`, `taskset`, `chrt`, `choom`, `prlimit`: for a command, or for one that runs."""
    name = call.name
    limits = _RESOURCES if name == "prlimit" else frozenset[str]()
    takes = frozenset(_SCHEDULING_TAKES.get(name, "").split())
    running = frozenset("-p --pid -P --pgid -u --uid".split()) - takes - limits
    if name in ("taskset", "chrt"):
        # Here `-p` is a switch: `taskset -p MASK PID`.
        options = split(call.args, takes, stops=True, optional=limits)
        held = options.has("-p", "--pid")
        sets = held and len(options.operands) > 1
        words = [] if held else options.operands[1:]
    else:
        options = split(call.args, takes | running, stops=True, optional=limits)
        held = options.has(*running)
        given = (takes - {"-o", "--output"}) | limits
        sets = held and options.has(*given)
        words = options.operands if not held else []
    if sets:
        call.fact(Effect.SYSTEM, tags=("service",), detail=f"{name} of a running process")
    return _wrapped(call, words) if words else NOTHING


def shell(call: Invocation) -> Stream:
    """Runs what it is given; reading only (`-n`) runs nothing."""
    if call.redirects is not None and call.redirects.hosts:
        call.fact(Effect.NETWORK, tags=("reverse-shell",))
    words = list(call.args)
    code = False
    reads_stdin = False
    checks_only = False
    while words and words[0][:1] in ("-", "+") and words[0] not in ("-", "--"):
        word = words.pop(0)
        if word in ("--rcfile", "--init-file") and words:
            call.executes_file(words.pop(0))
        elif word.startswith("--"):
            if word in ("--version", "--help"):
                return NOTHING
            if word == "--command":
                code = True
        else:
            letters = word[1:]
            code = code or "c" in letters
            reads_stdin = reads_stdin or "s" in letters
            checks_only = checks_only or (word[0] == "-" and "n" in letters)
            if letters[-1:] in ("o", "O") and words:
                words.pop(0)
    if words and words[0] in ("-", "--"):
        words.pop(0)
    if checks_only:
        return NOTHING
    if code:
        if not words:
            # `curl … | xargs -0 bash -c`: the code comes from elsewhere.
            call.fact(Effect.UNKNOWN, tags=("code",))
            return ANYTHING
        return call.run_shell(words[0], words[2:], zero=words[1] if words[1:] else None)
    if words and not reads_stdin:
        return call.executes_file(words[0], positional=words[1:])
    return _standard_input(call, words)


def _standard_input(call: Invocation, positional: list[Arg]) -> Stream:
    stdin = call.stdin
    if stdin.text is None and not stdin.source and not stdin.taint:
        if call.walker.forks:
            return call.executes_stream(stdin)
        target = Target(text=call.name, place=Place.WORKSPACE)
        call.fact(Effect.EXECUTES, target, tags=("interactive",))
        return ANYTHING
    return call.executes_stream(stdin, positional=positional)
