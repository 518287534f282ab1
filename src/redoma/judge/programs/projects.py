"""Tools that run a project's code, and other agents: `make`, task and test runners, editors."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import ANYTHING, NETWORK, UNKNOWN, Arg, Stream
from redoma.judge.interpret.places import normal
from redoma.judge.programs.cards import action_of, card_of, follow, options_of
from redoma.judge.programs.packages import flows_in, is_address, runs_project
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation


def project(call: Invocation) -> Stream:
    """Follows the card; where that runs the project's code, asks where the project came from."""
    card = card_of(call)
    options = options_of(call)
    action = action_of(card, options) if card.get("actions") else card.get("otherwise", "")
    if action in ("build", "serve", "sync"):
        runs_project(call)
    return follow(call)


def just(call: Invocation) -> Stream:
    words = call.args
    for index, word in enumerate(words):
        if word in ("-c", "--command"):
            inner = words[index + 1 :]
            if len(inner) == 1:
                return call.run_shell(inner[0])
            return call.run_args(inner) if inner else ANYTHING
    return project(call)


def deno(call: Invocation) -> Stream:
    """`deno run` and its kind take a file or an address; `eval` takes code."""
    options = options_of(call)
    words = options.operands
    first = str(words[0]) if words else ""
    if not words and flows_in(call):
        return call.executes_stream(call.stdin, "javascript")
    if first == "eval":
        from redoma.judge.programs.knowledge import read_code

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


def go(call: Invocation) -> Stream:
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


def query(call: Invocation) -> Stream:
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


def proxied(call: Invocation) -> Stream:
    """`rtk` shortens the output of the command that it runs."""
    words = call.args[1:] if call.args[:1] == ["proxy"] else call.args
    if not words or words[0] in ("help", "version", "gain", "discover", "--help", "--version"):
        call.fact(Effect.READS if words else Effect.UNKNOWN, tags=("about",), detail="rtk")
        return ANYTHING
    return call.run_args(list(words))


_MAKE_FILES = ("GNUmakefile", "makefile", "Makefile")
_SHELL_CALL = re.compile(r"\$[({]shell\s++([^)}\n]*+)(?:[)}]|$)", re.MULTILINE)
_FILE_CALL = re.compile(r"\$[({]file\s+>{1,2}\s*([^,)}\s]+)")


def make(call: Invocation) -> Stream:
    """Runs recipes: those of the project, or those that the caller hands over."""
    options = options_of(call)
    for where in options.values("-C", "--directory"):
        call.state = call.state.copy()
        call.state.cwd = normal(where, call.state.cwd)
    for text in options.values("--eval", "-E"):
        call.fact(Effect.EXECUTES, tags=("arbitrary",), at=text.span)
        recipes(call, text)
    for word in options.operands:
        name, equals, value = word.partition("=")
        if equals and name.rstrip("?:+!") in ("SHELL", ".SHELLFLAGS", "MAKE", "MAKEFLAGS"):
            call.fact(Effect.EXECUTES, tags=("hooked",), at=word.span, detail=name)
            call.run_shell(word.like(value))
        elif equals and value.partition(" ")[0].rpartition("/")[2] in call.walker.knowledge:
            # `make CC='…'`: recipes run what the variable holds.
            call.run_shell(word.like(value))
        elif equals and ("$(shell" in value or "`" in value):
            recipes(call, word.like(value))
    if options.has(
        "-n", "--just-print", "--dry-run", "--recon", "-q", "--question", "-v", "--version"
    ):
        call.fact(Effect.READS, tags=("project",))
        return Stream(None)
    given = options.values("-f", "--file", "--makefile")
    for file in given:
        _makefile(call, file)
    if not given:
        for name in _MAKE_FILES:
            held = call.walker.files.get(f"{call.state.cwd}/{name}")
            if held is not None and held.text is not None:
                recipes(call, call.word.like(held.text))
        runs_project(call)
        call.fact(Effect.EXECUTES, tags=("project",))
    return ANYTHING


def _makefile(call: Invocation, file: Arg) -> None:
    if file in ("-", "/dev/stdin"):
        if call.stdin.taint & NETWORK:
            call.fact(Effect.DOWNLOADS_AND_EXECUTES, detail=call.stdin.source)
        if call.stdin.text is not None:
            recipes(call, file.like(call.stdin.text))
        else:
            call.fact(Effect.EXECUTES, tags=("stream",))
        call.fact(Effect.EXECUTES, tags=("project",))
        return
    held = call.walker.files.get(call.path(file))
    if held is not None and held.text is not None:
        recipes(call, file.like(held.text))
    call.executes_file(file, "make")


def recipes(call: Invocation, text: Arg) -> None:
    """Runs what stands in a makefile: recipes, `$(shell …)`, and `$(file >…)` writes."""
    body = text.replace("\\\n", " ")
    for found in _SHELL_CALL.finditer(body):
        call.run_shell(text.like(found.group(1).replace("$$", "$")))
    for found in _FILE_CALL.finditer(body):
        call.writes(text.like(found.group(1)))
    for line in body.split("\n")[:200]:
        if line.startswith("\t"):
            command = line.strip()
        elif ":" in line and ";" in line.partition(":")[2]:
            command = line.partition(":")[2].partition(";")[2].strip()
        elif "!=" in line:
            command = line.partition("!=")[2].strip()
        else:
            continue
        command = re.sub(r"\$[({](\w+)[)}]", r"${\1}", command.lstrip("@-+ ").replace("$$", "$"))
        if command:
            call.run_shell(text.like(command))


_UNGUARDED = frozenset(
    "--dangerously-skip-permissions --dangerously-bypass-approvals-and-sandbox --yolo --yes-always "
    "--allow-dangerously-skip-permissions --allow-all-tools --trust-all-tools --allow-all-paths "
    "--dangerously-allow-all --no-sandbox --disable-sandbox --skip-permissions "
    "--dangerously-bypass-hook-trust --skip-permissions-unsafe --allow-all".split()
)
_LOOSE_VALUES = frozenset(
    "bypasspermissions danger-full-access never yolo dontask full-access".split()
)


def agent(call: Invocation) -> Stream:
    """An agent started without its guard may do anything; with it, it is a program like others."""
    words = call.args
    for index, word in enumerate(words):
        name, _, value = word.partition("=")
        following = words[index + 1] if index + 1 < len(words) else None
        given = value or (str(following) if following is not None else "")
        loose = given.strip("\"'").rpartition("=")[2].strip("\"'").lower() in _LOOSE_VALUES
        if name in _UNGUARDED or (name == "-y" and call.name in ("gemini", "qwen")):
            call.fact(Effect.TAMPERS, at=word.span, detail=name)
        elif name in _GUARD_OPTIONS and loose:
            call.fact(Effect.TAMPERS, at=word.span, detail=f"{name} {given}")
        elif word == "--":
            break
    if words[:1] == ["sandbox"] and len(words) > 2 and call.name == "codex":
        inner = [w for w in words[2:] if w not in ("--full-auto", "--")]
        return call.run_args(inner) if inner else ANYTHING
    if words[:2] == ["mcp", "add"]:
        call.fact(Effect.EXECUTES, tags=("hooked",), detail="mcp add")
    return follow(call)


_GUARD_OPTIONS = frozenset(
    "--permission-mode --sandbox -s --ask-for-approval -a --approval-mode -c --config "
    "--approval-policy".split()
)
_RUNNING = ("run", "preview", "plan", "shell")


def guard(call: Invocation) -> Stream:
    """The guard itself: asking it is harmless, taking it away or changing it is not."""
    words = _own_words(call)
    if words[:1] in (["check"], ["doctor"], ["pending"], ["version"], ["help"]) or not words:
        call.fact(Effect.READS, tags=("about",))
    elif words[:1] == ["answer"]:
        # Attack: whoever asked for a command answers the question about it, in place of a person.
        call.fact(Effect.TAMPERS, detail="redoma answer")
    elif words[:1] in (["trust"], ["allow"]):
        # Attack: whoever is held by the sandbox gives itself what the sandbox does not.
        call.fact(Effect.TAMPERS, detail=f"redoma {words[0]}")
    elif words[:1] == ["vault"] and words[1:2] not in ([], ["list"]):
        # Attack: a token of someone else's in the place of the user's, so that what the user's
        # next command sends goes to that other's account.
        vault = Target(text="the vault", place=Place.SECRET)
        call.fact(Effect.SECRETS, vault, tags=("outside",), detail=" ".join(words[:2]))
    elif words[:1] == ["vault"]:
        call.fact(Effect.READS, tags=("about",))
    elif _may_have_credential(call, words[0]):
        # Attack: whoever may not have a token has the gate use it for a command of their own.
        vault = Target(text="the vault", place=Place.SECRET)
        call.fact(Effect.SECRETS, vault, tags=("outside",), detail="--credential")
    elif words[:1] == ["hook"] and words[1:2] not in (["install"], ["status"]):
        call.fact(Effect.TAMPERS, detail=" ".join(words[:2]))
    else:
        call.fact(Effect.UNKNOWN, tags=("subcommand",), detail=f"redoma {words[0]}")
    return Stream(None)


def _may_have_credential(call: Invocation, command: str) -> bool:
    """Whether an option of ours is that one, or what nobody knows may be."""
    for word in call.args:
        if word == "--":
            return False
        option = str(word).partition("=")[0]
        known = option.partition(UNKNOWN)[0]
        unknown = UNKNOWN in option and command in _RUNNING and "--credential".startswith(known)
        if option == "--credential" or unknown:
            return True
    return False


def _own_words(call: Invocation) -> list[str]:
    """The words of a command line of ours, the first of which is its command."""
    words: list[str] = []
    # Attack: the value of an option that stands before the command is taken for the command; or
    # what nobody knows is taken for that value, and is several words.
    for before, word in zip(("", *call.args), call.args, strict=False):
        value = before == "--language" and UNKNOWN not in word
        if not value and word[:1] != "-":
            words.append(str(word))
    return words


def extension(call: Invocation) -> Stream:
    """Editors: an extension from a file or another's address is code that nobody reviewed."""
    for index, word in enumerate(call.args):
        if word.startswith("--install-extension"):
            value = word.partition("=")[2] or (
                call.args[index + 1] if index + 1 < len(call.args) else ""
            )
            if str(value).endswith(".vsix") or is_address(str(value)):
                call.fact(Effect.INSTALLS, tags=("url",), at=word.span, detail=str(value))
    return follow(call)
