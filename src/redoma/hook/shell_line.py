"""The line that Claude Code hands to its shell prefix, taken apart: pure, text in, value out.

Claude Code wraps what the model wrote: it sources a snapshot of the person's shell, evaluates the
command, and writes the directory where that ended into a file, by which `cd` lasts from call to
call. The judge has to judge the model's command and not the wrapping.
"""

from __future__ import annotations

import re

from redoma.model.value import Value

_SOURCE = r"source (?P<snapshot>[\w@%+=:,./-]+) 2>/dev/null \|\| true && "
_OPTIONS = r"(?:\{ shopt -u extglob \|\| setopt [A-Z_ ]+; \} >/dev/null 2>&1 \|\| true && )?"
_BEFORE = re.compile(rf"(?P<before>(?:{_SOURCE})?{_OPTIONS})eval ")
_AFTER = re.compile(r" && pwd -P >\| (?P<place>/[\w@%+=:,./-]+-cwd)\Z")
_NO_INPUT = " < /dev/null"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-")


class ShellLine(Value):
    """One command of the model, and the wrapping that the agent put around it."""

    command: str
    before: str = ""  # what the agent runs first, ending where `eval` would stand
    snapshot: str = ""  # the file with the person's functions and aliases
    place: str = ""  # where the last directory is written
    no_input: bool = False

    def script(self, place: str) -> str:
        """The same line, made anew from what was judged, with the last directory at `place`."""
        from shlex import quote as quoted

        evaluated = f"{self.before}eval {quoted(self.command)}"
        return f"{evaluated}{_NO_INPUT if self.no_input else ''} && pwd -P >| {quoted(place)}"


def read_line(text: str) -> ShellLine | None:
    """The parts of a line of Claude Code; None where it has another form.

    What is run is put together again from these parts. Attack: a line that we read in one way and
    the shell in another; then something else would run than what was judged.
    """
    before, after = _BEFORE.match(text), _AFTER.search(text)
    if before is None or after is None or before.end() > after.start():
        return None
    middle = text[before.end() : after.start()]
    no_input = middle.endswith(_NO_INPUT)
    command = unquoted(middle.removesuffix(_NO_INPUT) if no_input else middle)
    if command is None:
        return None
    return ShellLine(
        command=command,
        before=before["before"],
        snapshot=before["snapshot"] or "",
        place=after["place"],
        no_input=no_input,
    )


def unquoted(word: str) -> str | None:
    """What one word of a shell says; None where it is more than one, or does more than say."""
    made: list[str] = []
    at, end = 0, len(word)
    while at < end:
        char = word[at]
        if char == "'":
            close = word.find("'", at + 1)
            if close < 0:
                return None
            made.append(word[at + 1 : close])
            at = close + 1
        elif char == '"':
            found = _double(word, at + 1)
            if found is None:
                return None
            said, at = found
            made.append(said)
        elif char == "\\" and at + 1 < end and word[at + 1] != "\n":
            made.append(word[at + 1])
            at += 2
        elif char in _PLAIN:
            made.append(char)
            at += 1
        else:
            return None
    return "".join(made) if word else None


def _double(word: str, at: int) -> tuple[str, int] | None:
    """The text between double quotes, and where it ends; None where something is expanded."""
    made: list[str] = []
    while at < len(word):
        char = word[at]
        if char == '"':
            return "".join(made), at + 1
        if char in "$`":
            return None
        if char == "\\":
            if word[at + 1 : at + 2] == "\n":
                return None
            if word[at + 1 : at + 2] in ("$", "`", '"', "\\"):
                at += 1
                char = word[at]
        made.append(char)
        at += 1
    return None
