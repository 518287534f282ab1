"""make: recipes of the project, or recipes that the caller hands over."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import ANYTHING, NETWORK, Arg, Stream
from redoma.judge.interpret.paths import normal
from redoma.judge.programs.cards import options_of
from redoma.judge.programs.packages import runs_project
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

_MAKE_FILES = ("GNUmakefile", "makefile", "Makefile")
_SHELL_CALL = re.compile(r"\$[({]shell\s++([^)}\n]*+)(?:[)}]|$)", re.MULTILINE)
_FILE_CALL = re.compile(r"\$[({]file\s+>{1,2}\s*([^,)}\s]+)")


def make(call: Call) -> Stream:
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


def _makefile(call: Call, file: Arg) -> None:
    if file in ("-", "/dev/stdin"):
        if call.stdin.taint & NETWORK:
            call.fact(Effect.DOWNLOADS_AND_EXECUTES, detail=call.stdin.source)
        if call.stdin.text is not None:
            recipes(call, file.like(call.stdin.text))
        call.fact(Effect.EXECUTES, tags=("stream",))
        return
    held = call.walker.files.get(call.path(file))
    if held is not None and held.text is not None:
        recipes(call, file.like(held.text))
    call.executes_file(file, "make")


def recipes(call: Call, text: Arg) -> None:
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
