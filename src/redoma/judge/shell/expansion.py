"""Reads what begins with `$`; what is rare is read by modules that are loaded when it is met.

A cold process that judges one plain command has no time to load all of a parser.
"""

from __future__ import annotations

import re

from redoma.model.script import Arithmetic, CommandSubstitution, Parameter, Script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.shell.pieces import Pieces
    from redoma.judge.shell.reader import Reader

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
BRACED_NAME = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")

PARENTHESIS = frozenset((")",))
BRACE = frozenset(("}",))
NOTHING: frozenset[str] = frozenset()


def dollar(r: Reader, pieces: Pieces, *, quoted: bool) -> None:
    """`$x`, `${…}`, `$(…)`, `$((…))`, `$[…]`; a `$` before anything else is itself."""
    start = r.pos
    r.steps -= 1
    name = NAME.match(r.text, start + 1, r.end)
    if name is not None:
        r.pos = name.end()
        pieces.put(Parameter(name.group(), (start, r.pos), quoted=quoted))
        return
    follows = r.text[start + 1] if start + 1 < r.end else ""
    if follows == "{":
        braced(r, pieces, quoted=quoted)
    elif r.text.startswith("((", start + 1, r.end):
        double_parenthesised(r, pieces, quoted=quoted)
    elif follows == "(":
        r.pos = start + 2
        script = script_until(r, PARENTHESIS, start)
        pieces.put(CommandSubstitution(script, quoted, (start, r.pos)))
    elif follows == "[":
        from redoma.judge.shell import arithmetic

        r.pos = start + 2
        expression = arithmetic.bracket_expression(r)
        pieces.put(Arithmetic(expression, quoted, (start, r.pos)))
    else:
        r.pos = start + 1
        pieces.add("$", start, r.pos, quoted=quoted)


def braced(r: Reader, pieces: Pieces, *, quoted: bool) -> None:
    """`${…}` in all its forms."""
    start = r.pos
    simple = BRACED_NAME.match(r.text, start + 1, r.end)
    if simple is not None:
        r.pos = simple.end()
        pieces.put(Parameter(simple[1], (start, r.pos), quoted=quoted))
        return
    follows = r.text[start + 2] if start + 2 < r.end else ""
    if follows and follows in " \t\n|":
        # `${ command; }`: newer shells run it, so it is read as running.
        r.pos = start + 3
        script = script_until(r, BRACE, start)
        pieces.put(CommandSubstitution(script, quoted, (start, r.pos)))
        return
    from redoma.judge.shell import parameters

    pieces.put(parameters.parameter(r, quoted=quoted))


def double_parenthesised(r: Reader, pieces: Pieces, *, quoted: bool) -> None:
    """`$((…))` where the brackets pair up so, else `$(…)` that begins with a subshell."""
    from redoma.judge.shell import arithmetic

    start = r.pos
    r.pos = start + 3
    expression, close = arithmetic.substitution(r)
    if expression is not None:
        pieces.put(Arithmetic(expression, quoted, (start, r.pos)))
        return
    # `$((a) | b)`: commands after all, but bash has found their end by counting brackets.
    r.pos = start + 2
    if close >= 0:
        limit = r.confine(close)
        script = script_of_region(r)
        r.release(limit, close + 1)
    else:
        script = script_until(r, PARENTHESIS, start)
    pieces.put(CommandSubstitution(script, quoted, (start, r.pos)))


def script_until(r: Reader, closer: frozenset[str], start: int) -> Script:
    """The commands from here to `closer`, which is consumed, as a script of their own.

    Here-documents that were announced outside begin after the newline that ends the outer line,
    so newlines in here are not theirs.
    """
    begin = r.pos
    r.steps -= 4
    first_unread = len(r.unread)
    outer_bodies, r.bodies = r.bodies, []
    was_in_substitution, r.in_substitution = r.in_substitution, closer is PARENTHESIS
    body = r.read_commands(r, closer)
    finish = r.pos
    if r.pos < r.end:
        r.pos += 1
    else:
        r.fail(f"no {')' if closer is PARENTHESIS else '}'} to end a substitution", start, r.end)
    r.in_substitution = was_in_substitution
    # bash reads a body that was announced but not begun here from the lines after this one.
    r.bodies = outer_bodies + r.bodies
    return Script(r.text[begin:finish], body, tuple(r.unread[first_unread:]), (begin, finish))


def script_of_region(r: Reader) -> Script:
    """All that is left up to the reader's limit, as a script of its own."""
    begin, finish = r.pos, max(r.pos, r.end)
    r.steps -= 5
    first_unread = len(r.unread)
    outer_bodies, r.bodies = r.bodies, []
    was_in_substitution, r.in_substitution = r.in_substitution, False
    body = r.read_commands(r, NOTHING)
    r.read_bodies()
    r.in_substitution = was_in_substitution
    r.bodies = outer_bodies
    return Script(r.text[begin:finish], body, tuple(r.unread[first_unread:]), (begin, finish))
