"""Interpreters and `java`: code given as an option, a file, an archive, or by what flows in."""

from __future__ import annotations

from redoma.judge.interpret.arg import ANYTHING, NOTHING, UNKNOWN, Arg, Stream
from redoma.judge.programs.card_actions import do
from redoma.judge.programs.cards import card_of, options_of
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation


_BUNDLES = frozenset("perl ruby php lua r javascript python julia elixir groovy haskell".split())
"""Languages whose interpreters take letters together: `-we CODE`."""


class Interpreter:
    """How one interpreter takes its code, as its card says."""

    __slots__ = ("checks", "code", "language", "loads", "prints", "runs", "values")

    def __init__(self, call: Invocation) -> None:
        words = card_of(call)["words"]
        none: frozenset[str] = frozenset()
        self.language: str = next(iter(words["language"]))
        self.code: frozenset[str] = words.get("code", none)
        self.values: frozenset[str] = words.get("values", none)
        self.checks: frozenset[str] = words.get("checks", none)
        self.loads: frozenset[str] = words.get("loads", none)
        self.runs: frozenset[str] = words.get("runs", none)
        self.prints: frozenset[str] = words.get("prints", none)


def interpreter(call: Invocation) -> Stream:
    """Finds the code that an interpreter is given, and has it read."""
    kind = Interpreter(call)
    words = list(call.args)
    out: Stream | None = None
    checks = runs = False
    while words and words[0].startswith("-") and words[0] not in ("-", "--"):
        word = words.pop(0)
        option, equals, attached = word.partition("=") if word.startswith("--") else (word, "", "")
        if option in kind.prints and not kind.code & {option}:
            return Stream(None)
        if option in kind.runs:
            runs = True
        if option in kind.checks:
            checks = True
        elif equals and option in kind.code:
            out = _code(call, kind, word.like(attached), out)
        elif option in kind.code:
            out = _code(call, kind, words.pop(0) if words else call.word.like(UNKNOWN), out)
        elif option in kind.loads:
            target = word.like(attached) if equals else (words.pop(0) if words else None)
            if target is not None:
                _loaded(call, kind, target)
        elif option in kind.values:
            if not equals and words:
                words.pop(0)
        else:
            out = _bundle(call, kind, word, words, out)
            checks = checks or (
                not word.startswith("--") and any(f"-{c}" in kind.checks for c in word[1:])
            )
    if words and words[0] == "--":
        words.pop(0)
    if checks:
        return NOTHING
    if out is not None:
        return out
    if not words and call.args and (runs or kind.language not in _BUNDLES):
        # `node --test`, `sbcl --script FILE`: no session, but what the project has.
        call.fact(Effect.EXECUTES, tags=("project",))
        return ANYTHING
    return _script(call, kind, words)


def _bundle(
    call: Invocation, kind: Interpreter, word: Arg, words: list[Arg], out: Stream | None
) -> Stream | None:
    """`-we CODE`, `-i.bak`, `-Mmodule`, `-run`: letters together, some with a value attached."""
    name = kind.language
    if word.startswith("--") or name not in _BUNDLES:
        return out
    if name == "perl":
        return _perl_letters(call, kind, word, words, out)
    if name == "ruby" and word == "-run":
        do(call, "serve")
        return Stream(None)
    if name == "php" and word.startswith("-S"):
        do(call, "serve")
        return Stream(None)
    letters = word[1:]
    for position, letter in enumerate(letters):
        if f"-{letter}" in kind.code:
            attached = letters[position + 1 :]
            if attached and name in ("ruby", "lua", "r", "php"):
                return _code(call, kind, word.like(attached), out)
            return _code(call, kind, words.pop(0) if words else call.word.like(UNKNOWN), out)
        if name == "ruby" and letter == "r":
            call.modules = (*call.modules, letters[position + 1 :])
        if name == "ruby" and letter in "rI":
            return out
        if name == "ruby" and letter == "i":
            call.fact(Effect.WRITES, tags=("project",))
            return out
    return out


def _perl_letters(
    call: Invocation, kind: Interpreter, word: Arg, words: list[Arg], out: Stream | None
) -> Stream | None:
    letters = word[1:]
    position = 0
    while position < len(letters):
        letter = letters[position]
        position += 1
        if letter in "eE":
            return _code(call, kind, words.pop(0) if words else call.word.like(UNKNOWN), out)
        if letter in "Mm":
            call.modules = (*call.modules, letters[position:])
            return out
        if letter in "IxFdDC":
            return out
        if letter == "i":
            # Edits the files that follow in place.
            for each in words[1:] if words else []:
                if not each.startswith("-"):
                    call.writes(each)
            rest = letters[position:]
            if not rest.endswith(("e", "E")) or rest.startswith("."):
                return out
    return out


def _code(call: Invocation, kind: Interpreter, text: Arg, before: Stream | None) -> Stream:
    from redoma.judge.programs.knowledge import read_code

    language = kind.language
    if language == "applescript" and "JavaScript" in call.args:
        language = "javascript"
    if call.modules:
        # `-MLWP::Simple`: what is loaded beside the code decides what its names mean.
        text = text.like(f"{text}\n# {' '.join(call.modules)}\n")
    out = read_code(call, language, text)
    if before is None:
        return out
    return Stream(None, before.taint | out.taint, out.source)


def _loaded(call: Invocation, kind: Interpreter, target: Arg) -> None:
    if "/" in target or target.startswith("."):
        call.executes_file(target, kind.language)
    else:
        call.fact(Effect.EXECUTES, tags=("project",), at=target.span)


def _script(call: Invocation, kind: Interpreter, words: list[Arg]) -> Stream:
    if words and words[0] not in ("-", "/dev/stdin", "/dev/fd/0"):
        if words[0].rpartition("/")[2] in ("artisan", "console"):
            _framework(call, words[1:])
        return script_file(call, words[0], kind.language)
    return from_input(call, kind.language)


def _framework(call: Invocation, words: list[Arg]) -> None:
    """Laravel's and Symfony's commands that end the project's data."""
    from redoma.judge.programs.card_actions import says_it_destroys
    from redoma.judge.programs.carried import judge_telling

    judge_telling(call, words)
    commands = [word for word in words if word[:1] != "-"]
    if says_it_destroys(commands[:1]):
        call.fact(Effect.SCHEMA_CHANGE, tags=("destroy",), at=words[0].span, detail=commands[0])
    elif (
        commands
        and commands[0].startswith(("migrate", "db:", "doctrine:migrations:migrate"))
        and commands[0] != "migrate:status"
    ):
        call.fact(Effect.SCHEMA_CHANGE, tags=("migration",), at=words[0].span, detail=commands[0])


def script_file(call: Invocation, word: Arg, language: str) -> Stream:
    """A script by its name; an address is code from elsewhere."""
    if word.startswith(("http://", "https://")):
        call.host(word, "download")
        call.fact(Effect.DOWNLOADS_AND_EXECUTES, at=word.span)
        return ANYTHING
    call.executes_file(word, language)
    return Stream(None, call.stdin.taint)


def from_input(call: Invocation, language: str) -> Stream:
    """Code that flows in; at a terminal this is a session."""
    stdin = call.stdin
    if call.redirects is not None and call.redirects.hosts:
        call.fact(Effect.NETWORK, tags=("reverse-shell",))
    if stdin.text is None and not stdin.source and not stdin.taint and not call.walker.forks:
        target = Target(text=call.name, place=Place.WORKSPACE)
        call.fact(Effect.EXECUTES, target, tags=("interactive",))
        return ANYTHING
    return call.executes_stream(stdin, language)


_PWSH_TAKES = frozenset(
    (
        "-executionpolicy -ep -ex -exec -version -v -workingdirectory -wd -windowstyle -w "
        "-inputformat -outputformat -of -if -configurationname -custompipename -settingsfile "
        "-psconsolefile"
    ).split()
)


def powershell(call: Invocation) -> Stream:
    """`pwsh`, `powershell`: `-Command`, `-EncodedCommand`, `-File`, or what flows in."""
    from redoma.judge.languages.others.lines import decode_command
    from redoma.judge.programs.knowledge import read_code

    words = list(call.args)
    while words:
        word = words.pop(0)
        option = word.lower().replace("/", "-", 1) if word.startswith("/") else word.lower()
        if (option in ("-version", "--version", "-v") and not words) or option in (
            "-help",
            "-h",
            "-?",
            "--help",
        ):
            return Stream(None)
        if not option.startswith("-"):
            if option.endswith(".ps1"):
                return script_file(call, word, "powershell")
            return read_code(call, "powershell", word.like(" ".join([word, *words])))
        if option in ("-ec", "-e", "-enc", "-en") or (
            len(option) > 2 and "-encodedcommand".startswith(option)
        ):
            call.fact(Effect.UNKNOWN, tags=("code",), at=word.span)
            return read_code(call, "powershell", decode_command(words[0])) if words else ANYTHING
        if option == "-" or (len(option) > 1 and "-command".startswith(option)):
            if not words or words[0] == "-":
                return call.executes_stream(call.stdin, "powershell")
            return read_code(call, "powershell", words[0].like(" ".join(words)))
        if len(option) > 1 and "-file".startswith(option) and words:
            return script_file(call, words[0], "powershell")
        if option in _PWSH_TAKES and words:
            words.pop(0)
    return from_input(call, "powershell")


def windows_shell(call: Invocation) -> Stream:
    """`cmd.exe /c …`: the rest of its words is a command line."""
    from redoma.judge.programs.knowledge import read_code

    for index, word in enumerate(call.args):
        if word.lower() in ("/c", "/k", "/r"):
            rest = call.args[index + 1 :]
            return read_code(call, "powershell", word.like(" ".join(rest))) if rest else ANYTHING
    call.fact(Effect.UNKNOWN, tags=("program",), at=call.word.span, detail=call.name)
    return ANYTHING


_REMOTE_DELETES = (
    "delete-",
    "delete_",
    "remove-",
    "destroy-",
    "purge-",
    "safe-shutdown",
    "shutdown",
    "quiet-down",
    "disable-",
    "clear-",
)


def java(call: Invocation) -> Stream:
    """Finds what is run: `-jar FILE`, a class, or a source file."""
    if any(
        w in ("-version", "--version", "-help", "--help", "-h", "-?", "-X") for w in call.args[:1]
    ):
        return Stream(None)
    options = options_of(call)
    for name, _, word in options.order:
        if name.startswith(
            (
                "-javaagent",
                "-agentpath",
                "-agentlib",
                "-Xrun",
                "-XX:OnError",
                "-XX:OnOutOfMemoryError",
            )
        ):
            call.fact(Effect.EXECUTES, tags=("library",), at=word.span)
    archive = options.value("-jar")
    if archive is not None:
        call.executes_file(archive, "")
    elif options.operands:
        first = options.operands[0]
        if first.endswith(".java"):
            call.executes_file(first, "java")
        else:
            do(call, "build")
    if archive is not None and archive.endswith("-cli.jar"):
        _client(call, [str(w) for w in options.operands])
    return Stream(None, call.stdin.taint)


def _client(call: Invocation, words: list[str]) -> None:
    """A service's command line (such as that of Jenkins): verbs that delete are its worst."""
    for word in words:
        if word.startswith(_REMOTE_DELETES):
            call.fact(Effect.REMOTE, tags=("destroy",), detail=word)
            return
    verb = next(
        (
            w
            for w in words
            if w.isascii() and w.replace("-", "").isalpha() and not w.startswith("-")
        ),
        "",
    )
    reads = verb.startswith(("list-", "get-", "who-am-i", "help", "version", "console", "tail"))
    call.fact(Effect.READS if reads else Effect.REMOTE, detail=verb)
