"""Languages whose statements are lines of words: Tcl, expect, AppleScript."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import NETWORK, UNKNOWN, Arg, Stream
from redoma.judge.languages.others.tokens import STRING, tokens
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

_TCL_COMMANDS = re.compile(
    r"(?:^|[;\n\[{])[^\S\n]*+(exec|spawn|system|open|socket|source|eval|file|send)\b([^;\n\]}]*)"
)


def read_tcl(call: Call, text: Arg) -> Stream:
    """Tcl and expect: `exec`, `spawn`, `open "|…"`, `socket`, `file delete`."""
    call.fact(Effect.EXECUTES, tags=("code",), at=text.span, detail="tcl")
    _unseen(call, text)
    connects = spawns = False
    taint = 0
    for match in _TCL_COMMANDS.finditer(text):
        call.walker.step()
        verb = match[1]
        rest = match[2].replace("{*}", " ").replace("{", " ").replace("}", " ").strip()
        rest = re.sub(r"\$\{?\w+\}?", UNKNOWN, rest)
        if verb in ("exec", "spawn", "system"):
            spawns = True
            words = rest.split()
            while words and words[0].startswith("-"):
                words.pop(0)
            taint |= call.run_shell(text.like(" ".join(words).strip('"'))).taint
        elif verb == "open":
            spawns = spawns or _tcl_open(call, text, rest)
        elif verb == "socket":
            connects = True
            words = [w for w in rest.split() if not w.startswith("-")]
            call.host(text.like(words[0] if words else UNKNOWN), "raw")
        elif verb == "source":
            call.executes_file(text.like(rest.split()[0] if rest.split() else UNKNOWN), "tcl")
        elif verb == "eval" and UNKNOWN in rest:
            call.fact(Effect.UNKNOWN, tags=("code",), at=text.span)
        elif verb == "file":
            _tcl_file(call, text, rest.split())
    if connects and (spawns or "exec" in text):
        call.fact(Effect.NETWORK, tags=("reverse-shell",), at=text.span)
    return Stream(None, taint | text.taint, "tcl")


def _tcl_open(call: Call, text: Arg, rest: str) -> bool:
    words = rest.strip('"').split()
    if rest.startswith(("|", '"|')):
        call.run_shell(text.like(rest.strip('"').lstrip("| ")))
        return True
    if words:
        if len(words) > 1 and words[1].strip('"')[:1] in ("w", "a"):
            call.writes(text.like(words[0].strip('"')))
        else:
            call.reads(text.like(words[0].strip('"')))
    return False


def _tcl_file(call: Call, text: Arg, words: list[str]) -> None:
    if words[:1] == ["delete"]:
        for each in words[1:]:
            if not each.startswith("-"):
                call.deletes(text.like(each.strip('"')), "recursive")
    elif words[:1] in (["rename"], ["copy"]) and len(words) > 2:
        call.writes(text.like(words[-1]))


def read_applescript(call: Call, text: Arg) -> Stream:
    """`do shell script "…"` is a command; the rest steers applications."""
    call.fact(Effect.EXECUTES, tags=("code", "desktop"), at=text.span, detail="applescript")
    _unseen(call, text)
    found = tokens(str(text), "applescript")
    taint = 0
    for index, token in enumerate(found):
        if token.text == "script" and index > 1 and found[index - 1].text == "shell":
            following = found[index + 1] if index + 1 < len(found) else None
            if following is not None and following.kind == STRING:
                taint |= call.run_shell(text.like(following.text)).taint
            else:
                call.fact(Effect.UNKNOWN, tags=("code",), at=text.span)
        elif token.text == "administrator":
            call.fact(Effect.PRIVILEGE, at=text.span)
        elif token.text == "do" and index + 1 < len(found) and found[index + 1].text == "script":
            following = found[index + 2] if index + 2 < len(found) else None
            if following is not None and following.kind == STRING:
                call.run_shell(text.like(following.text))
    if ".doShellScript" in text or "doShellScript" in text:
        for token in found:
            if token.kind == STRING:
                call.run_shell(text.like(token.text))
    return Stream(None, taint | text.taint, "applescript")


def _unseen(call: Call, text: Arg) -> None:
    if text.taint & NETWORK:
        call.fact(Effect.DOWNLOADS_AND_EXECUTES, at=text.span)
    if not text.strip(UNKNOWN + " "):
        call.fact(Effect.UNKNOWN, tags=("code",), at=text.span)
