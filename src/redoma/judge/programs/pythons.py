"""`python`: `-c` code, `-m` modules, scripts, and what flows in."""

from __future__ import annotations

from redoma.judge.interpret.arg import ANYTHING, Stream
from redoma.judge.programs.card_actions import do
from redoma.judge.programs.cards import card_words
from redoma.judge.programs.interpreters import from_input, script_file
from redoma.model.decision import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.arg import Arg
    from redoma.judge.interpret.invocation import Invocation

_DJANGO_DESTROYS = frozenset(
    "flush reset_db sqlflush_run remove_stale_contenttypes delete_squashed_migrations".split()
)
_DJANGO_CHANGES = frozenset(
    "migrate loaddata createsuperuser changepassword clearsessions createcachetable syncdb".split()
)


def python(call: Invocation) -> Stream:
    """Finds the code, module or script that Python is given."""
    words = list(call.args)
    while words and words[0].startswith("-") and words[0] not in ("-", "--"):
        word = words.pop(0)
        if word.startswith("--"):
            if word in ("--version", "--help", "--help-all", "--help-env", "--help-xoptions"):
                return Stream(None)
            if word == "--check-hash-based-pycs" and words:
                words.pop(0)
            continue
        found = _letters(call, word, words)
        if found is not None:
            return found
    if words and words[0] == "--":
        words.pop(0)
    if words and words[0] not in ("-", "/dev/stdin", "/dev/fd/0"):
        return _script(call, words)
    return from_input(call, "python")


def _letters(call: Invocation, word: Arg, words: list[Arg]) -> Stream | None:
    """`-vc CODE`, `-mpip`, `-W all`: the first letter that takes a value ends the bundle."""
    letters = word[1:]
    for position, letter in enumerate(letters):
        attached = letters[position + 1 :]
        if letter == "c":
            from redoma.judge.programs.knowledge import read_code

            code = word.like(attached) if attached else (words[0] if words else word.like("\0"))
            return read_code(call, "python", code)
        if letter == "m":
            module = (
                word.like(attached) if attached else (words.pop(0) if words else word.like("\0"))
            )
            return _module(call, module, words)
        if letter in "WXQ":
            if not attached and words:
                words.pop(0)
            return None
        if letter in "Vh?" and not words:
            return Stream(None)
    return None


def _module(call: Invocation, module: Arg, words: list[Arg]) -> Stream:
    name = str(module)
    if not _isolated(call):
        # Attack: a json.py in the project is found before Python's own.
        call.fact(Effect.EXECUTES, tags=("project",), at=module.span)
    modules = (each.partition(":")[::2] for each in card_words(call, "modules"))
    program = next((of or module for module, of in modules if module == name), "")
    if program:
        if program in call.walker.knowledge:
            return call.run_args([module.like(program), *words])
        call.fact(Effect.EXECUTES, tags=("project",), at=module.span)
        return Stream(None, call.stdin.taint)
    if name == "json.tool":
        return _json_tool(call, words)
    if name in card_words(call, "serving"):
        do(call, "serve")
        return Stream(None)
    if name in card_words(call, "reading"):
        for word in words:
            if not word.startswith("-"):
                call.reads(word)
        return call.passes_on(call.stdin)
    if name == "py_compile":
        do(call, "cache")
        return Stream(None)
    if name in card_words(call, "writing"):
        do(call, "write")
        return Stream(None)
    if name == "timeit" and words:
        from redoma.judge.programs.knowledge import read_code

        # Setup and statements, all of them code.
        return read_code(
            call, "python", words[-1].like("\n".join(w for w in words if w[:1] != "-"))
        )
    if name in ("pdb", "ipdb", "pudb", "bdb"):
        return _debugged(call, words)
    if name in ("code", "asyncio", "IPython", "runpy") and not words:
        return from_input(call, "python")
    call.fact(Effect.EXECUTES, tags=("project",), at=module.span)
    return call.passes_on(call.stdin)


def debugger(call: Invocation) -> Stream:
    """`pdb -c COMMAND FILE`: a command is a statement unless it is one of the debugger's words."""
    return _debugged(call, call.args)


def _debugged(call: Invocation, words: list[Arg]) -> Stream:
    from redoma.judge.programs.knowledge import read_code

    files = list(words)
    while files and files[0][:1] == "-" and files[0] != "-":
        option = files.pop(0)
        if option in ("-c", "--command", "-m") and files:
            value = files.pop(0)
            statement = value.lstrip("! ")
            if option != "-m" and not statement.isalnum():
                read_code(call, "python", value.like(statement))
    call.fact(Effect.EXECUTES, tags=("debugger",))
    return script_file(call, files[0], "python") if files else ANYTHING


def _isolated(call: Invocation) -> bool:
    """`-I` and `-P` keep the current directory off the path."""
    for word in call.args:
        letters = word[1:].partition("m")[0]
        if word[:1] != "-" or word.startswith("--"):
            return False
        if "I" in letters or "P" in letters:
            return True
        if "m" in word:
            return False
    return False


def _json_tool(call: Invocation, words: list[Arg]) -> Stream:
    files = [w for w in words if not w.startswith("-")]
    streams = [call.stdin]
    if files:
        streams.append(call.reads(files[0]))
    if len(files) > 1:
        call.writes(files[1])
    return call.passes_on(*streams)


def _script(call: Invocation, words: list[Arg]) -> Stream:
    script = words[0]
    name = script.rpartition("/")[2]
    if name in ("manage.py", "django-admin", "django-admin.py"):
        django(call, words[1:])
    elif name == "setup.py" and any(w in ("install", "develop") for w in words[1:]):
        do(call, "install")
    elif name == "setup.py" and "upload" in words[1:]:
        do(call, "publish")
    return script_file(call, script, "python")


def django(call: Invocation, words: list[Arg]) -> None:
    """What a management command of Django does beyond running the project's code."""
    commands = [w for w in words if not w.startswith("-")]
    if not commands:
        return
    command = str(commands[0])
    if command in _DJANGO_DESTROYS:
        call.fact(Effect.SCHEMA_CHANGE, tags=("destroy",), at=commands[0].span, detail=command)
    elif command == "migrate" and "zero" in commands:
        call.fact(
            Effect.SCHEMA_CHANGE, tags=("destroy",), at=commands[0].span, detail="migrate zero"
        )
    elif command in _DJANGO_CHANGES:
        call.fact(Effect.SCHEMA_CHANGE, tags=("migration",), at=commands[0].span, detail=command)
    elif command == "dbshell":
        call.fact(Effect.EXECUTES, tags=("arbitrary",), at=commands[0].span)
    elif command in ("shell", "shell_plus"):
        for index, word in enumerate(words):
            if word in ("-c", "--command") and index + 1 < len(words):
                from redoma.judge.programs.knowledge import read_code

                read_code(call, "python", words[index + 1])
        if call.stdin.text:
            call.executes_stream(call.stdin, "python")
