"""The door to the parser: text in, tree out, whatever the text."""

from __future__ import annotations

import gc

from redoma.judge.shell.grammar import read_commands
from redoma.judge.shell.reader import NESTED_TOO_DEEPLY, Reader
from redoma.model.script import Command, Script, Sequence, Unread

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
    r = Reader(text, read_commands=read_commands, extglob=extglob)
    body = read_commands(r, NOTHING)
    r.read_bodies()
    if r.pending:
        # Here-documents announced on the last line.
        late: tuple[Command, ...] = tuple(r.pending)
        marks = (*body.after, *(";" for _ in late))
        body = Sequence((*body.commands, *late), marks, body.span)
    script = Script(text, body, tuple(r.unread), (0, len(r.text)))
    if r.offsets is not None:
        from redoma.judge.shell.offsets import relocate

        relocate((script,), r.offsets)
    return script
