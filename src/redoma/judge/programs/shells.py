"""Shells: code given by `-c`, by a file, or by what flows in."""

from __future__ import annotations

from redoma.judge.interpret.arg import ANYTHING, NOTHING, Stream
from redoma.model.risk import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.arg import Arg
    from redoma.judge.interpret.call import Call


def shell(call: Call) -> Stream:
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


def _standard_input(call: Call, positional: list[Arg]) -> Stream:
    stdin = call.stdin
    if stdin.text is None and not stdin.source and not stdin.taint:
        if call.walker.forks:
            return call.executes_stream(stdin)
        target = Target(text=call.name, place=Place.WORKSPACE)
        call.fact(Effect.EXECUTES, target, tags=("interactive",))
        return ANYTHING
    return call.executes_stream(stdin, positional=positional)
