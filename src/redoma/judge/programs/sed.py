"""`sed`: reads its script for what it writes and runs."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import NOTHING, Arg, Stream
from redoma.judge.programs.cards import options_of
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

_TO_LINE_END = "rRwWe"
_LABEL_END = re.compile(r"[;\n}]")
_TEXT = "aic"
_PLAIN = "=dDgGhHnNpPxzF{}"


def sed(call: Call) -> Stream:
    """`sed`: a script that may write files (`w`), run commands (`e`, `s///e`) or edit in place."""
    options = options_of(call)
    in_place = options.has("-i", "--in-place", "-I")
    operands = list(options.operands)
    if in_place and operands and operands[0] == "":
        operands.pop(0)  # BSD: `sed -i '' …`
    scripts = options.values("-e", "--expression")
    files = options.values("-f", "--file")
    for script in call.scripts_in(files, "sed"):
        _script(call, script)
    if not scripts and not files and operands:
        scripts = [operands.pop(0)]
    if not options.has("--sandbox"):
        for script in scripts:
            _script(call, script)
    streams = [call.stdin] if not operands else []
    for word in operands:
        streams.append(call.reads(word) if word != "-" else call.stdin)
        if in_place:
            call.writes(word, "edit")
    if in_place:
        if not operands:
            call.fact(Effect.WRITES, tags=("project", "edit"))
        return NOTHING
    return call.passes_on(*streams)


def _script(call: Call, script: Arg) -> None:
    text = str(script)
    index = 0
    for _ in range(len(text) + 1):
        index = _skip(text, index)
        if index >= len(text):
            return
        following = _one(call, script, text, index)
        if following <= index:
            call.fact(Effect.UNKNOWN, tags=("subcommand",), at=script.span, detail="sed script")
            return
        index = following


def _skip(text: str, index: int) -> int:
    """Past blanks, separators and addresses to the next command."""
    while index < len(text):
        char = text[index]
        if char in " \t\n;,!~+0123456789$":
            index += 1
        elif char == "/":
            index = _past(text, index + 1, "/")
        elif char == "\\" and index + 1 < len(text):
            index = _past(text, index + 2, text[index + 1])
        elif char in "IM" and index and text[index - 1] not in " \t\n;{}":
            index += 1
        else:
            return index
    return index


def _past(text: str, index: int, end: str) -> int:
    """The place after the next unescaped `end`; brackets protect it."""
    closing = 0
    while index < len(text):
        char = text[index]
        if char == "\\":
            index += 2
            continue
        if char == "[" and end != "[" and closing >= 0:
            closing = text.find("]", index + 2)
            if closing > 0 and end in text[index + 1 : closing]:
                index = closing
        elif char == end:
            return index + 1
        index += 1
    return len(text) + 1


def _one(call: Call, script: Arg, text: str, index: int) -> int:
    """Reads one command; gives the place after it, or the same place for one it does not know."""
    command = text[index]
    if command == "#":
        return _line_end(text, index)
    if command in _PLAIN:
        return index + 1
    if command in "qQlL":
        return index + 1
    if command == "s":
        return _substitute(call, script, text, index)
    if command == "y" and index + 1 < len(text):
        end = text[index + 1]
        return _past(text, _past(text, index + 2, end), end)
    if command in ":btTv":
        ends = _LABEL_END.search(text, index + 1)
        return ends.start() if ends else len(text)
    if command in _TEXT:
        return _text_end(text, index)
    if command in _TO_LINE_END:
        end_ = _line_end(text, index)
        _file_or_command(call, script, command, text[index + 1 : end_].strip())
        return end_
    return index


def _line_end(text: str, index: int) -> int:
    end = text.find("\n", index)
    return len(text) if end == -1 else end + 1


def _text_end(text: str, index: int) -> int:
    while True:
        end = text.find("\n", index)
        if end == -1:
            return len(text)
        if text[end - 1] != "\\":
            return end + 1
        index = end + 1


def _file_or_command(call: Call, script: Arg, command: str, rest: str) -> None:
    if command == "e":
        call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=script.span)
        if rest:
            call.run_shell(script.like(rest))
        else:
            # Without a command, every line of the input is one.
            call.executes_stream(Stream(call.stdin.text, call.stdin.taint, call.stdin.source))
    elif rest:
        if command in "wW":
            call.writes(script.like(rest), content=call.stdin)
        else:
            call.reads(script.like(rest))


def _substitute(call: Call, script: Arg, text: str, index: int) -> int:
    if index + 1 >= len(text) or text[index + 1] in "\n\\":
        return index
    end = text[index + 1]
    middle = _past(text, index + 2, end)
    close = middle
    while close < len(text) and text[close] != end:
        close += 2 if text[close] == "\\" else 1
    if close >= len(text):
        return index
    replacement = text[middle:close]
    place = close + 1
    while place < len(text) and text[place] not in ";\n} ":
        flag = text[place]
        place += 1
        if flag == "w":
            stop = _line_end(text, place)
            _file_or_command(call, script, "w", text[place:stop].strip())
            return stop
        if flag == "e":
            call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=script.span)
            call.run_shell(script.like(replacement.replace("\\n", "\n").replace("\\", "")))
        elif flag not in "gpiImM0123456789":
            return index
    return place
