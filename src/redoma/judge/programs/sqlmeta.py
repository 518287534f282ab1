"""Commands of the database clients themselves: those that run programs or touch files."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import Arg, arg
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"|(\S+)")
_BACKTICKS = re.compile(r"`([^`]*)`")


def run_meta(call: Call, dialect: str, line: str, at: Arg) -> None:
    """Notes what one client command does; `line` begins with its sign."""
    line = line.strip()
    if dialect == "postgres":
        _psql(call, line, at)
    elif dialect == "mysql":
        _mysql(call, line, at)
    elif dialect in ("sqlite", "duckdb"):
        _dot(call, line, at)
    elif dialect == "tsql":
        _sqlcmd(call, line, at)


def client_lines(text: str, dialect: str) -> tuple[list[str], str]:
    """The lines that are the client's own commands, and the rest, which is SQL."""
    if dialect in ("sqlite", "duckdb"):
        signs: tuple[str, ...] = (".",)
    elif dialect == "tsql":
        signs = (":", "!!")
    elif dialect == "mysql":
        signs = ("system ", "source ", "tee ", "pager ", "edit", "notee", "delimiter ")
    else:
        return [], text
    own: list[str] = []
    rest: list[str] = []
    for line in text.split("\n"):
        shown = line.strip()
        (own if shown.lower().startswith(signs) else rest).append(shown if shown else line)
    return own, "\n".join(rest)


def _words(text: str) -> list[str]:
    return [a or b or c for a, b, c in _QUOTED.findall(text)]


def _shell(call: Call, text: str, at: Arg) -> None:
    call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=at.span)
    if text.strip():
        call.run_shell(arg(text.strip(), at.span, at.taint))


def _file(call: Call, text: str, at: Arg, *, write: bool) -> None:
    """A file, or a program behind a bar."""
    if text.startswith("|"):
        _shell(call, text[1:], at)
    elif text:
        word = arg(text, at.span, at.taint)
        if write:
            call.writes(word)
        else:
            call.reads(word)


def _psql(call: Call, line: str, at: Arg) -> None:
    for inner in _BACKTICKS.findall(line):
        # psql runs what stands in backticks in any of its own commands.
        _shell(call, inner, at)
    name, _, rest = line[1:].partition(" ")
    if line.startswith("\\!"):
        _shell(call, line[2:], at)
    elif name in ("o", "out", "g", "gx", "w", "write", "s", "log") or line.startswith("\\o|"):
        words = rest if rest.startswith("|") else (_words(rest) or [""])[0]
        _file(call, words or line[2:], at, write=True)
    elif name == "copy":
        found = re.search(r"\b(?:from|to)\s+program\s+('([^']*)'|\S+)", rest, re.IGNORECASE)
        if found:
            _shell(call, found.group(2) or found.group(1), at)
            return
        target = re.search(r"\bto\s+('[^']*'|\S+)", rest, re.IGNORECASE)
        source = re.search(r"\bfrom\s+('[^']*'|\S+)", rest, re.IGNORECASE)
        if target:
            _file(call, target.group(1).strip("'"), at, write=True)
        elif source:
            call.fact(Effect.REMOTE, tags=("rows",), at=at.span, detail="\\copy")
            _file(call, source.group(1).strip("'"), at, write=False)
    elif name in ("i", "ir", "include", "include_relative", "gexec", "e", "edit", "ef", "ev"):
        call.fact(Effect.SCHEMA_CHANGE, tags=("unseen",), at=at.span, detail=line[:60])
    elif name.startswith("lo_"):
        call.fact(Effect.REMOTE, tags=("rows",), at=at.span, detail=line[:60])
    elif name in ("password", "setenv"):
        call.fact(Effect.PRIVILEGE, tags=("grant",), at=at.span)


def _mysql(call: Call, line: str, at: Arg) -> None:
    lower = line.lower()
    if line.startswith("\\!") or lower.startswith("system "):
        _shell(call, line.partition(" ")[2] if lower.startswith("system ") else line[2:], at)
    elif line.startswith("\\.") or lower.startswith("source "):
        call.fact(Effect.SCHEMA_CHANGE, tags=("unseen",), at=at.span, detail=line[:60])
    elif line.startswith("\\T") or lower.startswith("tee "):
        _file(call, line.partition(" ")[2] or line[2:], at, write=True)
    elif line.startswith("\\P") or lower.startswith("pager "):
        _shell(call, line.partition(" ")[2] or line[2:], at)
    elif line.startswith("\\e") or lower.startswith("edit"):
        call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=at.span)


_DOT_SHELL = frozenset((".shell", ".system", ".sh"))
_DOT_WRITES = frozenset(
    (".output", ".once", ".save", ".backup", ".log", ".clone", ".trace", ".cd", ".excel")
)


def _dot(call: Call, line: str, at: Arg) -> None:
    name, _, rest = line.partition(" ")
    rest = rest.strip()
    # A dot command may be shortened as long as it stays its own.
    if (
        name in _DOT_SHELL
        or (len(name) > 3 and ".shell".startswith(name))
        or (len(name) > 3 and ".system".startswith(name))
    ):
        _shell(call, " ".join(_words(rest)) if '"' in rest[:1] else rest, at)
    elif name in _DOT_WRITES or name in (".out", ".outp"):
        words = _words(rest)
        target = words[-1] if words else ""
        _file(call, rest if rest.startswith("|") else target, at, write=True)
    elif name in (".read", ".import", ".restore"):
        words = _words(rest)
        source = next((w for w in words if not w.startswith("-")), "")
        if source.startswith("|"):
            _shell(call, source[1:], at)
        elif name == ".import":
            call.fact(Effect.REMOTE, tags=("rows",), at=at.span, detail=".import")
            _file(call, source, at, write=False)
        else:
            call.fact(Effect.SCHEMA_CHANGE, tags=("unseen",), at=at.span, detail=line[:60])
    elif name in (".load", ".edit"):
        call.fact(Effect.EXECUTES, tags=("library",), at=at.span)
    elif name in (".open", ".archive", ".ar"):
        words = [w for w in _words(rest) if not w.startswith("-")]
        if words:
            _file(call, words[0], at, write=True)


def _sqlcmd(call: Call, line: str, at: Arg) -> None:
    bare = line.lstrip(":")
    name, _, rest = bare.partition(" ")
    if bare.startswith("!!"):
        _shell(call, bare[2:], at)
    elif name.lower() == "r":
        call.fact(Effect.SCHEMA_CHANGE, tags=("unseen",), at=at.span, detail=line[:60])
    elif name.lower() in ("out", "error", "perftrace"):
        _file(call, rest.strip(), at, write=True)
    elif name.lower() == "ed":
        call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=at.span)
