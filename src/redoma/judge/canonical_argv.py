"""The canonical argv of a command: its words, apart from how it is spelt.

An approval that lasts is matched on this and never on text. `rm  -r "build"` and `rm -r build`
have the same; `rm -r $x`, `rm *` and `rm -r build > log` have none, since what they do is
decided when they run.
"""

from __future__ import annotations

from itertools import pairwise

from redoma.judge.shell.parser import parse
from redoma.model.script import Literal, Pipeline, Simple, Word
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.script import Command, Redirect

MOST_COMMANDS = 16
MOST_CHARACTERS = 16 * 1024
# Unquoted, these make other words of a word; `(` comes with extended globs.
_EXPANDING = frozenset("*?[]{}()")
# They run text as commands, take words from their input, or change what a later word stands for.
_CHANGING = frozenset(
    ". alias at batch builtin command enable eval exec hash parallel source trap xargs".split()
)
_SHELLS = frozenset("ash bash dash ksh sh zsh".split())
# Without a program on the command line they run what comes on standard input, which is no word.
_READING_CODE = frozenset(
    "ash bash bun csh dash deno fish ksh lua node perl php powershell psql mysql sqlite3 pwsh "
    "python python2 python3 R ruby sh tclsh tcsh zsh".split()
)


class CanonicalCommand(Value):
    """One argv for each simple command, and what stands between them; empty: there is none."""

    argvs: tuple[tuple[str, ...], ...] = ()
    joins: tuple[str, ...] = ()


NOTHING = CanonicalCommand()


class _NotCanonical(Exception):
    """Something in the command is not plain."""


def canonical_argv(text: str) -> CanonicalCommand:
    """The command's words, where all of them are known before it runs; else nothing."""
    # Attack: text that people and shells read differently is approved as one, and runs as other.
    if len(text) > MOST_CHARACTERS or not _readable(text):
        return NOTHING
    script = parse(text)
    if script.unread or not script.body.commands:
        return NOTHING
    argvs: list[tuple[str, ...]] = []
    joins: list[str] = []
    try:
        last = len(script.body.commands) - 1
        for at, (command, after) in enumerate(
            zip(script.body.commands, script.body.after, strict=True)
        ):
            _add(command, argvs, joins)
            if at < last:
                joins.append(_join(after))
            elif after not in ("", ";"):
                return NOTHING  # `cmd &` outlives the look of whoever approved it
    except _NotCanonical:
        return NOTHING
    if not argvs or len(argvs) > MOST_COMMANDS:
        return NOTHING
    return CanonicalCommand(argvs=tuple(argvs), joins=tuple(joins))


def canonical_program(argv: tuple[str, ...]) -> CanonicalCommand:
    """The canonical argv of a program that no shell starts: its own words."""
    if not argv or len(" ".join(argv)) > MOST_CHARACTERS or not all(map(_readable, argv)):
        return NOTHING
    return CanonicalCommand(argvs=(argv,)) if _plain(argv) else NOTHING


def _readable(text: str) -> bool:
    return all(char.isprintable() or char in "\n\t" for char in text)


def _join(after: str) -> str:
    if after in ("&&", "||", ";"):
        return after
    raise _NotCanonical


def _add(command: Command, argvs: list[tuple[str, ...]], joins: list[str]) -> None:
    if isinstance(command, Pipeline):
        if command.negated or command.timed or not command.commands:
            raise _NotCanonical
        for at, part in enumerate(command.commands):
            if at:
                joins.append("|")
            _add(part, argvs, joins)
        return
    if not isinstance(command, Simple) or command.assignments or not command.words:
        raise _NotCanonical
    for redirect in command.redirects:
        if not _only_moves_output(redirect):
            raise _NotCanonical
    argv = tuple(_text(word) for word in command.words)
    if not _plain(argv):
        raise _NotCanonical
    argvs.append(argv)


def _plain(argv: tuple[str, ...]) -> bool:
    """Whether the words alone say what runs: no code from elsewhere, none that is not plain."""
    name = argv[0].rpartition("/")[2]
    if name in _CHANGING:
        return False
    if name in _SHELLS:
        for option, code in pairwise(argv[1:]):
            if option[:1] == "-" and option[:2] != "--" and "c" in option:
                return canonical_argv(code) != NOTHING
    return not _takes_code_from_input(name, argv[1:])


def _text(word: object) -> str:
    if not isinstance(word, Word):
        raise _NotCanonical
    made = ""
    for part in word.parts:
        if not isinstance(part, Literal) or (not part.quoted and _expands(part.text, made)):
            raise _NotCanonical
        made += part.text
    return made


def _expands(text: str, before: str) -> bool:
    """Whether the shell makes something else of unquoted text that stands after `before`."""
    if not _EXPANDING.isdisjoint(text):
        return True
    at = text.find("~")
    while at >= 0:
        previous = (before + text)[len(before) + at - 1 : len(before) + at] if before or at else ""
        if previous in ("", ":", "="):
            return True
        at = text.find("~", at + 1)
    return False


def _takes_code_from_input(name: str, arguments: tuple[str, ...]) -> bool:
    if name.rstrip("0123456789.") not in _READING_CODE and name not in _READING_CODE:
        return False
    plain = [word for word in arguments if not word.startswith("-") or word == "-"]
    return not plain or "-" in plain or plain[0] == "/dev/stdin"


def _only_moves_output(redirect: Redirect) -> bool:
    """Whether a redirect joins the standard streams or throws one away, and does nothing else."""
    if len(redirect.target.parts) != 1 or redirect.fd not in ("", "0", "1", "2"):
        return False
    part = redirect.target.parts[0]
    if not isinstance(part, Literal):
        return False
    if redirect.op == ">&":
        return part.text in ("1", "2")
    if redirect.op in (">", ">>", "&>", "&>>"):
        return part.text == "/dev/null" and redirect.fd != "0"
    return redirect.op == "<" and part.text == "/dev/null" and redirect.fd in ("", "0")
