"""The parser: text in, tree out; nothing raises, and an error never hides what follows it."""

from __future__ import annotations

import gc
import re

from redoma.judge.shell import simple
from redoma.judge.shell.cursor import HEAD, NESTED_TOO_DEEPLY, TOO_LARGE, Cursor
from redoma.model.message import Message
from redoma.model.script import (
    Command,
    Literal,
    Pipeline,
    Redirect,
    Script,
    Sequence,
    Simple,
    Unread,
    Word,
)

SEPARATOR = re.compile(r"[ \t]*(;;&|;;|;&|;|&&|&|\|\||\n|#)?")
PIPE = re.compile(r"[ \t]*\|(?!\|)&?")
PIPE_STARTS = (" ", "\t", "|")
STRAY = re.compile(r"(?s);;&|;;|;&|&&|\|\||\|&|[;&|)]|[^ \t\n;&|<>()]+|.")
# Reserved words that begin a compound command.
OPENERS = frozenset(
    ("{", "[[", "case", "for", "if", "select", "until", "while", "coproc", "function")
)
# Reserved words that only ever continue or end something.
CLOSERS = frozenset(("then", "elif", "else", "fi", "do", "done", "esac", "}", "in", "]]", "!"))
NOTHING: frozenset[str] = frozenset()
LARGE = 4096


def parse(text: str, *, extglob: bool = True) -> Script:
    """The tree of `text` as bash would read it; what cannot be read is there as `Unread`.

    Never raises. With `extglob` patterns like `@(a|b)` are words; without, as in a shell where
    the option is off, they are syntax errors or subshells.
    """
    # A tree has no cycles. Looking for some after every few hundred nodes would make the largest
    # texts half as slow again, and in a process with much in memory far more than that.
    pause = len(text) > LARGE and gc.isenabled()
    if pause:
        gc.disable()
    try:
        return _parse(text, extglob=extglob)
    except RecursionError:
        # Only where the caller had used up nearly all of the stack itself.
        unread = Unread(NESTED_TOO_DEEPLY, (0, len(text)))
        body = Sequence((unread,), ("",), unread.span)
        return Script(text, body, (unread,), unread.span)
    finally:
        if pause:
            gc.enable()


def _parse(text: str, *, extglob: bool) -> Script:
    r = Cursor(text, read_commands=read_commands, extglob=extglob)
    body = read_commands(r, NOTHING)
    r.read_bodies()
    if r.pending:
        # Here-documents announced on the last line.
        late: tuple[Command, ...] = tuple(r.pending)
        marks = (*body.after, *(";" for _ in late))
        body = Sequence((*body.commands, *late), marks, body.span)
    script = Script(text, body, tuple(r.unread), (0, len(r.text)))
    if r.offsets is not None:
        from redoma.judge.shell.rewrites import relocate

        relocate((script,), r.offsets)
    return script


def read_commands(r: Cursor, stop: frozenset[str]) -> Sequence:
    """Commands up to one of `stop`, which is left standing, or to the end of the text.

    Operators and reserved words that belong to nothing are noted as unread and passed over.
    """
    commands: list[Command] = []
    after: list[str] = []
    owed_before = len(r.pending)
    joined = ""
    start = r.pos
    r.deeper(2)
    while r.lines():
        r.steps -= 1
        if r.steps < 0:
            r.give_up(TOO_LARGE)
            break
        begin = r.pos
        command = pipeline(r)
        if command is None:
            stray = STRAY.match(r.text, begin, r.end)
            token = stray.group() if stray is not None else ""
            if token in stop:
                break
            r.pos = begin + max(len(token), 1)
            r.fail(f"unexpected {token}", begin, r.pos)
        else:
            commands.append(command)
            joined = separator(r, command)
            after.append(joined)
        if len(r.pending) > owed_before:
            _take_unread(r, commands, after, owed_before)
    if joined in ("&&", "||"):
        r.fail(Message("nothing after {opener}", opener=joined), r.pos, r.pos)
    if len(r.pending) > owed_before:
        _take_unread(r, commands, after, owed_before)
    r.depth -= 2
    if after and after[-1] in ("&&", "||"):
        after[-1] = ""
    span = (commands[0].span[0], commands[-1].span[1]) if commands else (start, start)
    return Sequence(tuple(commands), tuple(after), span)


def _take_unread(r: Cursor, commands: list[Command], after: list[str], first: int) -> None:
    taken: list[Unread] = r.pending[first:]
    del r.pending[first:]
    if after and after[-1] == "":
        after[-1] = ";"
    commands.extend(taken)
    after.extend(";" for _ in taken)


def separator(r: Cursor, command: Command) -> str:
    """What ends `command`: ";", "&", "&&", "||", or "" where the list ends with it."""
    found = SEPARATOR.match(r.text, r.pos, r.end)
    operator = found[1] if found is not None else None
    if found is not None and operator in (";", "&", "&&", "||"):
        r.pos = found.end()
        return operator or ""
    if found is not None and operator in ("\n", "#"):
        r.pos = found.start(1)
        r.end_line()
        return ";"
    char = r.blanks()
    if char and char not in ");":
        # `{ a; } b` is an error, `{ a; } }` is not: a reserved word may follow a compound
        # command directly, unless a redirection stands between.
        ended = not isinstance(command, Simple) and not command.redirects
        if not (ended and char != "!" and r.head() in CLOSERS):
            r.fail("something after the end of a command", r.pos, r.pos + 1)
    return ""


def pipeline(r: Cursor) -> Command | None:
    """Commands joined by pipes; None, with nothing read, where no command can begin."""
    start = r.pos
    negated = timed = False
    char = r.text[start]
    while char in ("!", "t"):
        head = r.head()
        if head == "!" and not _opens_glob(r):
            negated = not negated
        elif head == "time":
            timed = True
        else:
            break
        r.pos += len(head)
        r.spend(1)
        char = r.blanks()
        if timed and head == "time":
            char = _time_options(r, char)
    prefixed = r.pos > start
    first = command(r)
    if first is None:
        if not prefixed:
            return None
        if char not in ("", "\n", ";", "#") or r.text.startswith((";;", ";&"), r.pos, r.end):
            r.fail("no command after ! or time", start, r.pos)
        return Pipeline((), (start, r.pos), negated=negated, timed=timed)
    piped = PIPE.match(r.text, r.pos, r.end) if r.text[r.pos : r.pos + 1] in PIPE_STARTS else None
    if piped is None and not prefixed:
        return first
    commands = [first]
    while piped is not None:
        r.pos = piped.end()
        if piped.group().endswith("&"):
            _with_errors(commands[-1], (r.pos - 2, r.pos))
        r.spend(2)
        following = command(r) if r.lines() else None
        if following is None:
            r.fail("nothing after |", piped.start(), r.pos)
            break
        commands.append(following)
        piped = PIPE.match(r.text, r.pos, r.end)
    return Pipeline(tuple(commands), (start, commands[-1].span[1]), negated=negated, timed=timed)


def _with_errors(command: Command, span: tuple[int, int]) -> None:
    """`a |& b` is `a 2>&1 | b`, and bash keeps it so."""
    target = Word((Literal("1", quoted=False, span=span),), span)
    command.redirects = (*command.redirects, Redirect(">&", "2", target, span))


def _time_options(r: Cursor, char: str) -> str:
    for option in ("-p", "--"):
        if char == "-" and r.head() == option:
            r.pos += 2
            char = r.blanks()
    return char


def command(r: Cursor) -> Command | None:
    """One simple or compound command; None, with nothing read, where none can begin."""
    if r.pos >= r.end or r.stopped:
        return None
    char = r.text[r.pos]
    if char == "(":
        from redoma.judge.shell import compound

        return compound.parenthesis(r)
    if char in ";&|)\n#" and not r.text.startswith("&>", r.pos, r.end):
        return None
    found = HEAD.match(r.text, r.pos, r.end)
    if found is not None:
        head = found.group()
        if head in OPENERS:
            from redoma.judge.shell import compound

            return compound.OPENERS[head](r)
        if head in CLOSERS and not (head == "!" and _opens_glob(r)):
            return None
    return simple.simple_command(r)


def begins_simple_command(r: Cursor) -> bool:
    """Whether what stands here is neither an operator nor a reserved word."""
    if r.pos >= r.end or (r.text[r.pos] in ";&|)\n#(" and not r.text.startswith("&>", r.pos)):
        return False
    head = r.head()
    return head not in OPENERS and (head not in CLOSERS or (head == "!" and _opens_glob(r)))


def _opens_glob(r: Cursor) -> bool:
    """Whether `!` here begins `!(…)`."""
    return r.extglob and r.text.startswith("!(", r.pos, r.end)
