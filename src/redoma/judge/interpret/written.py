"""Code that a script writes and leaves to others to run: build tools, test runners, hooks."""

from __future__ import annotations

from redoma.judge.interpret.arg import NETWORK, NOTHING, UNKNOWN, arg
from redoma.judge.interpret.call import Call
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.arg import Arg
    from redoma.judge.interpret.state import State
    from redoma.judge.interpret.walk import Walker

_LANGUAGES = {
    ".sh": "shell",
    ".bash": "shell",
    ".py": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".ts": "typescript",
    ".rb": "ruby",
    ".pl": "perl",
    ".php": "php",
    ".lua": "lua",
}
_NAMED = {"Rakefile": "ruby", "Gemfile": "ruby", "justfile": "shell", "Justfile": "shell"}
_RUN_BY_NAME = frozenset(
    "Makefile makefile GNUmakefile package.json setup.py conftest.py Rakefile Gemfile justfile "
    "build.rs build.gradle build.gradle.kts CMakeLists.txt noxfile.py tasks.py gulpfile.js "
    "Gruntfile.js vite.config.js jest.config.js sitecustomize.py".split()
)
"""Files that build tools run because of their names."""
_RUNNING = frozenset((Effect.EXECUTES, Effect.INSTALLS))
_EXCUSED = frozenset(("prepared", "eval", "source"))
MOST_FILES = 12


def run_written(walker: Walker, state: State) -> None:
    """Attack: `conftest.py` is written, then `pytest` runs it: the code is read as if it ran.

    Only where something is run at all: a script that only writes files runs nothing.
    """
    if not any(f.effect in _RUNNING and f.tags.isdisjoint(_EXCUSED) for f in walker.facts):
        return
    span = (0, len(walker.text))
    for path, held in list(walker.files.by_path.items())[:MOST_FILES]:
        text = held.text
        if held.taint & NETWORK and path.rpartition("/")[2] in _RUN_BY_NAME:
            walker.note(Effect.DOWNLOADS_AND_EXECUTES, span, detail=path)
        if not text or UNKNOWN in text or path.startswith("/dev/"):
            continue
        call = Call(walker, [arg(path, span)], state.copy(), NOTHING, {}, span)
        name = path.rpartition("/")[2]
        if name == "package.json":
            for script in _scripts(text):
                call.run_shell(arg(script, span))
            continue
        dot = name.rfind(".")
        language = _NAMED.get(name) or _LANGUAGES.get(name[dot:] if dot >= 0 else "")
        if language is not None:
            _read(call, language, arg(text, span))


def _read(call: Call, language: str, text: Arg) -> None:
    from redoma.judge.programs.code import read_code

    read_code(call, language, text)


def _scripts(text: str) -> list[str]:
    """The commands that a `package.json` names; a broken one names none that npm would run."""
    try:
        from json import loads

        held = loads(text)
    except ValueError:
        return []
    scripts = held.get("scripts") if isinstance(held, dict) else None
    if not isinstance(scripts, dict):
        return []
    return [script for script in scripts.values() if isinstance(script, str)][:MOST_FILES]
