"""What a program makes of tainted files carries their taint: copies, encoders, compilers."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import NETWORK, SECRET, Stream
from redoma.judge.interpret.sensitive import is_secret
from redoma.model.decision import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.arg import Arg
    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.interpret.walker import Walker
    from redoma.model.script import Span

_COMPILERS = frozenset("gcc cc g++ c++ clang clang++ tcc ld rustc ghc gfortran".split())
_RUNNABLE = (".go", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".sh", ".java", ".kts", ".groovy")
_BEFORE_PATH = re.compile(r"(?:.*[=@])?(?:file:(?://)?)?")
_IMPORTS = r"(?:import|from|-m|require\(?|include|load|use|source)\W{{1,4}}{}\b"
MOST_WORDS = 64


def carry(call: Invocation, noted: int) -> None:
    """Taints what the call wrote with what its words named.

    Attack: a key goes through `gpg -o`, a script through a compiler, and what comes out is taken
    for something else. So what a program writes is taken to hold what it was given to read.
    """
    walker = call.walker
    facts = walker.facts[noted:]
    paths = [t.path for f in facts if f.effect is Effect.WRITES for t in f.targets if t.path]
    stranger = any("program" in f.tags and f.effect is Effect.UNKNOWN for f in facts)
    if not (paths or stranger or walker.files.by_path):
        return
    taint, given = _taint(call)
    if not taint:
        return
    if call.name in _COMPILERS:
        paths.append(f"{call.state.cwd}/a.out")
    if stranger:
        # Which of its words a program that nobody knows writes to is not known either.
        paths += [path for path, held in given if not held]
    for path in paths:
        before = walker.files.by_path.get(path)
        if before is None:
            walker.files.put(path, Stream(None, taint, call.name))
        elif before.taint | taint != before.taint:
            walker.files.by_path[path] = Stream(
                before.text, before.taint | taint, before.source or call.name
            )
    ran = any(f.effect is Effect.EXECUTES for f in facts)
    for path, held in given:
        known = walker.scripts.was_read(path)
        if ran and held & NETWORK and path.endswith(_RUNNABLE) and not known:
            call.fact(Effect.DOWNLOADS_AND_EXECUTES, detail=path)


def _taint(call: Invocation) -> tuple[int, list[tuple[str, int]]]:
    """What the files that its words name carry: all together, and each."""
    taint = 0
    given: list[tuple[str, int]] = []
    for word in call.args[:MOST_WORDS]:
        if not word or (word[0] == "-" and "=" not in word) or not word.known:
            continue
        path = _path(call, word)
        held = call.walker.files.get(path)
        carried = held.taint & (SECRET | NETWORK) if held is not None else 0
        if is_secret(path):
            carried |= SECRET
        taint |= carried
        given.append((path, carried))
    return taint, given


def _path(call: Invocation, word: Arg) -> str:
    """The path in a word such as `file`, `@file`, `--key=file`."""
    before = _BEFORE_PATH.match(word)
    return call.path(word.like(word[before.end() :] if before is not None else word))


def imports(walker: Walker, path: str, span: Span) -> None:
    """Notes that a fetched module is loaded by its name: `curl -o a.py …; python3 -m a`."""
    folder, _, name = path.rpartition("/")
    stem, dot, _ = name.rpartition(".")
    near = folder == walker.ground.workspace or folder.startswith(f"{walker.ground.workspace}/")
    loaded = dot and stem and near and name.endswith(_RUNNABLE)
    if loaded and re.search(_IMPORTS.format(re.escape(stem)), walker.text):
        walker.note(Effect.DOWNLOADS_AND_EXECUTES, span, detail=path)
