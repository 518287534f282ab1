"""Tools that run a project's code: task and test runners, Deno, `go run`."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import ANYTHING, UNKNOWN, Stream
from redoma.judge.programs.cards import card_of, deed_of, follow, options_of
from redoma.judge.programs.packages import flows_in, runs_project
from redoma.model.risk import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call


def project(call: Call) -> Stream:
    """Follows the card; where that runs the project's code, asks where the project came from."""
    card = card_of(call)
    options = options_of(call)
    deed = deed_of(card, options) if card.get("deeds") else card.get("otherwise", "")
    if deed in ("build", "serve", "sync"):
        runs_project(call)
    return follow(call)


def just(call: Call) -> Stream:
    words = call.args
    for index, word in enumerate(words):
        if word in ("-c", "--command"):
            return call.run_args(words[index + 1 :]) if words[index + 1 :] else ANYTHING
    return project(call)


def deno(call: Call) -> Stream:
    """`deno run` and its kind take a file or an address; `eval` takes code."""
    options = options_of(call)
    words = options.operands
    first = str(words[0]) if words else ""
    if not words and flows_in(call):
        return call.executes_stream(call.stdin, "javascript")
    if first == "eval":
        from redoma.judge.programs.code import read_code

        for text in words[1:2]:
            read_code(call, "javascript", text)
        return ANYTHING
    code = (
        words[1:2]
        if first in ("run", "serve", "test", "bench", "compile", "install", "x")
        else words[:1]
    )
    for word in code:
        if word.startswith(("http://", "https://", "data:")):
            call.fact(Effect.DOWNLOADS_AND_EXECUTES, at=word.span, detail=str(word))
        elif word.startswith(("npm:", "jsr:")):
            call.fact(Effect.EXECUTES, tags=("package",), at=word.span, detail=str(word))
        elif word == "-":
            return call.executes_stream(call.stdin, "javascript")
        elif first == "run" and UNKNOWN not in word:
            call.executes_file(word, "javascript")
    return follow(call)


def go(call: Call) -> Stream:
    """`go run` of a module that is not here fetches and runs it; `go install` of one keeps it."""
    options = options_of(call)
    words = options.operands
    if words and words[0] == "run":
        for word in words[1:2]:
            if "@" in word or (
                "." in word.partition("/")[0][1:] and not word.endswith(".go") and "/" in word
            ):
                call.fact(Effect.EXECUTES, tags=("package",), at=word.span, detail=str(word))
        runs_project(call)
    elif words and words[0] in ("build", "test", "generate"):
        runs_project(call)
    for name, value in call.environment.items():
        if name in (
            "GOPROXY",
            "GONOSUMDB",
            "GOINSECURE",
            "GOFLAGS",
            "GONOSUMCHECK",
        ) and value not in ("", "direct", "off"):
            tags = ("url",) if words[:1] in (["get"], ["install"], ["run"]) else ("locked",)
            call.fact(Effect.INSTALLS, tags=tags, at=value.span, detail=name)
    return follow(call)


def query(call: Call) -> Stream:
    """`jq`, `yq`: the filter is an expression, not a file; `env` in it shows the environment."""
    if call.name == "yq" and call.args[:1] and call.args[0] in ("eval", "e", "eval-all", "ea"):
        call.args = call.args[1:]
    options = options_of(call)
    from_file = options.has("-f", "--from-file") and call.name != "yq"
    expression = "" if from_file or not options.operands else str(options.operands[0])
    if _WHOLE_ENVIRONMENT.search(expression):
        target = Target(text="environment", place=Place.SECRET)
        call.fact(Effect.SECRETS, target, tags=("environment",))
    if from_file and options.operands:
        call.reads(options.operands[0])
    return follow(call)


_WHOLE_ENVIRONMENT = re.compile(r"(?<![\w.$])env(?![\w.(])|\$ENV(?!\.\w)|strenv\(|envsubst")


def proxied(call: Call) -> Stream:
    """`rtk` shortens the output of the command that it runs."""
    words = call.args[1:] if call.args[:1] == ["proxy"] else call.args
    if not words or words[0] in ("help", "version", "gain", "discover", "--help", "--version"):
        call.fact(Effect.READS if words else Effect.UNKNOWN, tags=("about",), detail="rtk")
        return ANYTHING
    return call.run_args(list(words))
