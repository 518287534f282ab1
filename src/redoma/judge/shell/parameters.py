"""Reads `${name…}`: length, indirection, subscripts, and every operator with its argument."""

from __future__ import annotations

import re

from redoma.judge.shell import bracketed, quotes
from redoma.judge.shell.pieces import Pieces
from redoma.model.script import Parameter, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.shell.reader import Reader

# `${#x}`, `${#@}` are lengths, `${#}` and `${#-x}` are about `$#`; `${!x}` and `${!}` likewise.
LENGTH = re.compile(r"#([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-](?=\}))")
INDIRECT = re.compile(r"!([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-](?=\})|[@*#](?=[^}]))")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?!-]|\$(?![({\['\"])")
OPERATOR = re.compile(r":[-=?+]|##|%%|//|/#|/%|\^\^|,,|~~|[-=?+#%/^,~@:*]")
# Operators whose argument is a pattern: quotes in it quote even inside double quotes.
PATTERN_OPERATORS = frozenset(("#", "##", "%", "%%", "/", "//", "/#", "/%", "^", "^^", ",", ",,"))


def parameter(r: Reader, *, quoted: bool) -> Parameter:
    """`${…}` from its `$`; where bash would say "bad substitution", a parameter without a name.

    The nameless one keeps what was read between the braces as its subscript and argument.
    """
    start = r.pos
    r.spend(2)
    r.pos = start + 2
    if not r.deeper():
        return Parameter("", (start, r.pos), quoted=quoted)
    prefix, name = _name(r)
    subscript = argument = None
    operator = ""
    good = name != ""
    if good and r.text.startswith("[", r.pos, r.end) and (name[0] == "_" or name[0].isalpha()):
        # The first brace ends it all, even before the `]`: `${x[1}` is a bad substitution.
        subscript = bracketed.subscript(r, stop="}")
        good = r.pos > subscript.span[1]
    if not r.text.startswith("}", r.pos, r.end):
        found = OPERATOR.match(r.text, r.pos, r.end)
        good = good and found is not None and (found.group() != "*" or prefix == "!")
        if good and found is not None:
            operator = found.group()
            r.pos = found.end()
        argument = _argument(r, operator, quoted=quoted)
    r.depth -= 1
    if r.text.startswith("}", r.pos, r.end):
        r.pos += 1
    else:
        r.fail("no } to end a parameter", start, r.end)
    return Parameter(
        name if good else "",
        (start, r.pos),
        quoted=quoted,
        prefix=prefix if good else "",
        subscript=subscript,
        op=operator,
        argument=argument,
    )


def _name(r: Reader) -> tuple[str, str]:
    for pattern in (LENGTH, INDIRECT):
        found = pattern.match(r.text, r.pos, r.end)
        if found is not None:
            r.pos = found.end()
            return found.group()[0], found[1]
    found = NAME.match(r.text, r.pos, r.end)
    if found is None:
        return "", ""
    r.pos = found.end()
    return "", found.group()


def _argument(r: Reader, operator: str, *, quoted: bool) -> Word:
    start = r.pos
    pieces = Pieces()
    if quoted and operator not in PATTERN_OPERATORS:
        quotes.quoted_text(r, pieces, "}")
    else:
        bracketed.text_until(r, pieces, "", "}", calculated=operator == ":")
    return Word(pieces.done(), (start, r.pos))
