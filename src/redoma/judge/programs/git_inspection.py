"""git's subcommands that only look, and the few options by which even these write or run."""

from __future__ import annotations

from redoma.judge.interpret.arg import NOTHING, UNKNOWN, Arg, Stream
from redoma.judge.interpret.sensitive import is_secret
from redoma.model.decision import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.programs.git import Verb

_DIFFERS = frozenset(
    "diff log show whatchanged diff-tree diff-index diff-files range-diff stash reflog".split()
)


def look(verb: Verb) -> Stream:
    """Reads; `--output` writes, `--no-index` reads any file, `--ext-diff` runs programs."""
    call = verb.call
    taint = 0
    plain = True
    after = False
    words = verb.words
    for index, word in enumerate(words):
        if word == "--" and not after:
            after = True
        elif after or word[:1] != "-":
            taint |= _path(verb, word)
        elif word.startswith("--output="):
            call.writes(word.like(word.partition("=")[2]))
            plain = False
        elif word == "--output" and verb.name in _DIFFERS:
            if index + 1 < len(words):
                call.writes(words[index + 1])
            plain = False
        elif word in ("--ext-diff", "--textconv") and verb.name != "cat-file":
            verb.builds(str(word))
            plain = False
    if plain:
        verb.looks()
    return Stream(None, taint, f"git {verb.name}")


def _path(verb: Verb, word: Arg) -> int:
    """What a word such as `HEAD:.env` would show: a secret stays one in the repository."""
    if "--no-index" in verb.words or verb.name in ("hash-object", "check-attr"):
        return verb.call.reads(word).taint
    inside = word.partition(":")[2] if ":" in word else word
    named = verb.name in ("show", "cat-file", "blame", "annotate", "diff", "log", "whatchanged")
    if named and inside and UNKNOWN not in inside and is_secret("/" + inside):
        return verb.call.reads(word.like(inside)).taint
    return 0


def grep(verb: Verb) -> Stream:
    """Searches; `-O` hands what was found to a program."""
    options = verb.options()
    for name in ("-O", "--open-files-in-pager"):
        if options.has(name):
            pager = options.value(name)
            if pager is None:
                verb.builds(name)
            else:
                verb.runs(pager, name)
    for file in options.values("-f"):
        verb.call.reads(file)
    taint = 0
    if options.has("--no-index"):
        for word in options.operands[0 if options.has("-e", "-f") else 1 :]:
            taint |= verb.call.reads(word).taint
    verb.looks()
    return Stream(None, taint)


def difftool(verb: Verb) -> Stream:
    options = verb.options()
    for command in options.values("-x", "--extcmd"):
        verb.runs(command, "--extcmd")
    verb.looks()
    return NOTHING


def mergetool(verb: Verb) -> Stream:
    verb.builds()
    return NOTHING


def format_patch(verb: Verb) -> Stream:
    """Writes a file for each commit unless told to print."""
    words = verb.words
    if "--stdout" in words:
        verb.looks()
        return Stream(None)
    named = False
    for index, word in enumerate(words):
        target: Arg | None = None
        if word in ("-o", "--output-directory", "--output"):
            target = words[index + 1] if index + 1 < len(words) else None
        elif word.startswith(("--output-directory=", "--output=")):
            target = word.like(word.partition("=")[2])
        elif word.startswith("-o") and not word.startswith("--"):
            target = word.like(word[2:])
        if target is not None:
            verb.call.writes(target)
            named = True
    if not named:
        verb.changes()
    return NOTHING


def hash_object(verb: Verb) -> Stream:
    stream = look(verb)
    if "-w" in verb.words:
        verb.changes("-w")
    return stream


def fsck(verb: Verb) -> Stream:
    if "--lost-found" in verb.words:
        verb.changes("--lost-found")
    else:
        verb.looks()
    return Stream(None)


def interpret_trailers(verb: Verb) -> Stream:
    files = [w for w in verb.words if w[:1] != "-"]
    if "--in-place" in verb.words:
        for word in files[-1:]:
            verb.call.writes(word)
    else:
        for word in files:
            verb.call.reads(word)
    return Stream(None, verb.call.stdin.taint)


def refs(verb: Verb) -> Stream:
    if verb.words and verb.words[0] in ("migrate", "optimize"):
        verb.changes(str(verb.words[0]))
    else:
        verb.looks()
    return Stream(None)


def writes_parts(verb: Verb) -> Stream:
    verb.changes()
    return NOTHING


def fast_export(verb: Verb) -> Stream:
    for word in verb.words:
        if word.startswith("--export-marks="):
            verb.call.writes(word.like(word.partition("=")[2]))
    verb.looks()
    return Stream(None)


def show_help(verb: Verb) -> Stream:
    if any(w in ("-w", "--web") for w in verb.words):
        verb.call.fact(Effect.EXECUTES, tags=("desktop",), detail="help --web")
    verb.looks()
    return Stream(None)
