"""Reads words: plain runs, quotes, escapes, extended globs, and what begins with `$`.

What is rare is read by modules that load when it is met: a cold process that judges one plain
command has no time to load all of a parser.
"""

from __future__ import annotations

import re

from redoma.judge.shell.cursor import Cursor, Pieces
from redoma.model.script import (
    Arithmetic,
    CommandSubstitution,
    Literal,
    Parameter,
    ProcessSubstitution,
    Script,
    Word,
)

# A whole word that needs no thought: no quoting, no `$`, and it ends where the match ends.
PLAIN_WORD = re.compile(r"[ \t]*([^ \t\n;&|<>()\\'\"$`#][^ \t\n;&|<>()\\'\"$`]*)(?=[ \t\n;&|)]|\Z)")
WORD_RUN = re.compile(r"[^ \t\n;&|<>()\\'\"$`]+")
GLOB_OPENERS = frozenset("?*+@!")
ESCAPES = re.compile(r"(?:\\[^\n])+")
QUOTED_RUN = {
    '"': re.compile(r"[^\"\\$`]+"),
    "}": re.compile(r"[^}\"'\\$`]+"),
    "": re.compile(r"[^\\$`]+"),
}
# After a backslash, what loses it: in `"…"`, in `"${x-…}"`, in a here-document.
ESCAPABLE = {'"': '$`"\\', "}": '$`"\\}', "": "$`\\"}
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
BRACED_NAME = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
PARENTHESIS = frozenset((")",))
BRACE = frozenset(("}",))
NOTHING: frozenset[str] = frozenset()


def word(r: Cursor) -> Word | None:
    """The word that stands here, blanks before it skipped; None where no word begins."""
    plain = PLAIN_WORD.match(r.text, r.pos, r.end)
    if plain is not None:
        span = plain.span(1)
        r.pos = span[1]
        return Word((Literal(plain[1], quoted=False, span=span),), span)
    if r.blanks() == "#":
        return None
    start = r.pos
    pieces = Pieces()
    unquoted(r, pieces, globs=r.extglob)
    parts = pieces.done()
    return Word(parts, (start, r.pos)) if parts else None


def unquoted(
    r: Cursor,
    pieces: Pieces,
    *,
    globs: bool,
    run: re.Pattern[str] = WORD_RUN,
    groups: bool = False,
) -> None:
    """Read on to the end of the word, which is a blank, a newline or an operator.

    Where there are `globs`, `@(` and its like open a pattern; where there are `groups`, as in a
    regular expression, every bracket does.
    """
    text = r.text
    expanded = False  # `$@(a)`: the `@` that was expanded opens a glob as well
    while r.pos < r.end:
        pos = r.pos
        found = run.match(text, pos, r.end)
        if found is not None:
            r.pos = found.end()
            pieces.add(found.group(), pos, r.pos, quoted=False)
            if r.pos >= r.end:
                return
        char = text[r.pos]
        if quoting(r, pieces, char):
            expanded = char == "$"
            continue
        if char in ("<", ">") and text.startswith("(", r.pos + 1, r.end):
            process(r, pieces)
        elif char == "(" and (
            groups or (globs and (found or expanded) and text[r.pos - 1] in GLOB_OPENERS)
        ):
            from redoma.judge.shell import brackets

            brackets.group(r, pieces)
        else:
            return


def process(r: Cursor, pieces: Pieces) -> None:
    """`<(…)` and `>(…)`."""
    start = r.pos
    direction = r.text[start]
    r.pos += 2
    script = script_until(r, PARENTHESIS, start)
    pieces.put(ProcessSubstitution(direction, script, (start, r.pos)))


def quoting(r: Cursor, pieces: Pieces, char: str) -> bool:
    """Read one quote, escape or `$…` of unquoted text, if that is what stands here."""
    if char == "'":
        single_quote(r, pieces)
    elif char == '"':
        double_quote(r, pieces)
    elif char == "\\":
        escapes(r, pieces)
    elif char == "$":
        if r.text.startswith("$'", r.pos, r.end):
            from redoma.judge.shell import rewrites

            rewrites.ansi_quote(r, pieces)
        elif r.text.startswith('$"', r.pos, r.end):
            r.pos += 1
            double_quote(r, pieces)
        else:
            dollar(r, pieces, quoted=False)
    elif char == "`":
        from redoma.judge.shell import rewrites

        rewrites.backtick(r, pieces, quoted=False)
    else:
        return False
    r.spend(2)
    return True


def escapes(r: Cursor, pieces: Pieces) -> None:
    """`\\x` outside quotes: the character itself, quoted. A lone backslash at the end stays."""
    found = ESCAPES.match(r.text, r.pos, r.end)
    start = r.pos
    if found is None:
        r.pos += 1
        pieces.add("\\", start, r.pos, quoted=True)
    else:
        r.pos = found.end()
        pieces.add(found.group()[1::2], start, r.pos, quoted=True)


def single_quote(r: Cursor, pieces: Pieces) -> None:
    """`'…'`."""
    start = r.pos
    close = closing_apostrophe(r, start)
    if close >= 0:
        r.pos = close + 1
        pieces.add(r.raw(start + 1, close), start, r.pos, quoted=True)


def closing_apostrophe(r: Cursor, start: int) -> int:
    """Where the quote at `start` ends, negative and noted where it does not."""
    close = r.text.find("'", start + 1, r.end)
    if close < 0:
        r.pos = max(r.pos, r.end)
        r.fail("a single quote that never ends", start, r.end)
    return close


def double_quote(r: Cursor, pieces: Pieces) -> None:
    """`"…"`."""
    start = r.pos
    mark = pieces.mark()
    r.pos += 1
    if r.text.startswith('"', r.pos, r.end):
        r.pos += 1
        pieces.add("", start, r.pos, quoted=True)
        return
    r.steps -= 1
    if not r.deeper():
        return
    if quoted_text(r, pieces, '"'):
        r.pos += 1
    else:
        pieces.drop_text(mark)
        r.fail("a double quote that never ends", start, r.end)
    r.depth -= 1


def quoted_text(r: Cursor, pieces: Pieces, closer: str) -> bool:
    """Read text in which only `$`, backticks and backslashes matter, up to `closer`.

    `closer` is `"`, or `}` inside `"${x-…}"`, or "" for the body of a here-document.
    """
    text = r.text
    run = QUOTED_RUN[closer]
    while r.pos < r.end:
        start = r.pos
        found = run.match(text, start, r.end)
        if found is not None:
            r.pos = found.end()
            pieces.add(found.group(), start, r.pos, quoted=True)
            continue
        char = text[start]
        if char == closer:
            return True
        r.spend(1)
        if r.stopped:
            break
        if char == "'" or (closer == "}" and text.startswith("$'", start, r.end)):
            from redoma.judge.shell import rewrites

            (rewrites.live_single if char == "'" else rewrites.live_ansi)(r, pieces)
        elif char == "$":
            dollar(r, pieces, quoted=True)
        elif char == "`":
            from redoma.judge.shell import rewrites

            rewrites.backtick(r, pieces, quoted=True, in_double_quotes=closer != "")
        elif char == "\\":
            escaped_in_quotes(r, pieces, ESCAPABLE[closer])
        else:
            double_quote(r, pieces)
    return closer == ""


def escaped_in_quotes(r: Cursor, pieces: Pieces, escapable: str) -> None:
    """A backslash inside quotes: it goes before what it can escape and stays before the rest."""
    start = r.pos
    follows = r.text[start + 1] if start + 1 < r.end else ""
    r.pos = start + 1 + len(follows)
    kept = follows if follows and follows in escapable else "\\" + follows
    pieces.add(kept, start, r.pos, quoted=True)


def dollar(r: Cursor, pieces: Pieces, *, quoted: bool) -> None:
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
        from redoma.judge.shell import brackets

        r.pos = start + 2
        expression = brackets.bracket_expression(r)
        pieces.put(Arithmetic(expression, quoted, (start, r.pos)))
    else:
        r.pos = start + 1
        pieces.add("$", start, r.pos, quoted=quoted)


def braced(r: Cursor, pieces: Pieces, *, quoted: bool) -> None:
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
    from redoma.judge.shell import brackets

    pieces.put(brackets.parameter(r, quoted=quoted))


def double_parenthesised(r: Cursor, pieces: Pieces, *, quoted: bool) -> None:
    """`$((…))` where the brackets pair up so, else `$(…)` that begins with a subshell."""
    from redoma.judge.shell import brackets

    start = r.pos
    r.pos = start + 3
    expression, close = brackets.arithmetic_substitution(r)
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


def script_until(r: Cursor, closer: frozenset[str], start: int) -> Script:
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


def script_of_region(r: Cursor) -> Script:
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
