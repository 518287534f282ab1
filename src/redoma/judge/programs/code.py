"""Code in other languages given on a command line: read where it can be, named where it cannot."""

from __future__ import annotations

from redoma.judge.interpret.arg import Stream
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.arg import Arg
    from redoma.judge.interpret.call import Call

LANGUAGES = frozenset(
    "javascript typescript node perl ruby php lua r julia elixir erlang groovy java "
    "scala kotlin haskell".split()
)


def read_code(call: Call, language: str, text: Arg) -> Stream:
    """Notes what a piece of code in `language` would do; gives what it prints, if that is known."""
    if language == "shell":
        return call.run_shell(text)
    if language == "python":
        from redoma.judge.languages.python.reader import read_python

        return read_python(call, text)
    if language == "sql":
        from redoma.judge.programs.database import read_sql

        read_sql(call, text)
        return Stream(None, text.taint)
    if language in LANGUAGES:
        from redoma.judge.languages.others.reader import read_foreign

        return read_foreign(call, language, text)
    if language in ("tcl", "expect"):
        from redoma.judge.languages.others.lines import read_tcl

        return read_tcl(call, text)
    if language == "applescript":
        from redoma.judge.languages.others.lines import read_applescript

        return read_applescript(call, text)
    if language == "powershell":
        from redoma.judge.languages.others.powershell import read_powershell

        return read_powershell(call, text)
    call.fact(Effect.EXECUTES, tags=("code",), at=text.span, detail=language)
    call.fact(Effect.UNKNOWN, tags=("code",), at=text.span)
    return Stream(None, text.taint)
