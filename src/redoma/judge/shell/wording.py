"""Reads words: plain runs, quotes, escapes, extended globs, and `$…` by way of `expansion`."""

from __future__ import annotations

import re

from redoma.judge.shell import expansion
from redoma.judge.shell.ansi import decode
from redoma.judge.shell.pieces import Pieces
from redoma.judge.shell.reader import Reader
from redoma.model.script import Literal, ProcessSubstitution, Word

# A whole word that needs no thought: no quoting, no `$`, and it ends where the match ends.
PLAIN_WORD = re.compile(r"[ \t]*([^ \t\n;&|<>()\\'\"$`#][^ \t\n;&|<>()\\'\"$`]*)(?=[ \t\n;&|)]|\Z)")
# A whole word in one pair of quotes with nothing to expand in it.
QUOTED_WORD = re.compile(r"[ \t]*(?:'([^']*)'|\"([^\"\\$`]*)\")(?=[ \t\n;&|)]|\Z)")

RUN = re.compile(r"[^ \t\n;&|<>()\\'\"$`]+")
REGEX_RUN = re.compile(r"[^ \t\n;&<>()\\'\"$`]+")
ESCAPES = re.compile(r"(?:\\[^\n])+")
GLOB_OPENERS = frozenset("?*+@!")

# What stands between brackets, for each closing bracket: `${x:-…}`, `a[…]`, `@(…)`.
BRACKETED_RUN = {
    "}": re.compile(r"[^}\\'\"$`<>]+"),
    "]": re.compile(r"[^\[\]\\'\"$`<>]+"),
    ")": re.compile(r"[^()\\'\"$`<>]+"),
}
QUOTED_RUN = {
    '"': re.compile(r"[^\"\\$`]+"),
    "}": re.compile(r"[^}\"'\\$`]+"),
    "": re.compile(r"[^\\$`]+"),
}
# After a backslash, what loses it: in `"…"`, in `"${x-…}"`, in a here-document.
ESCAPABLE = {'"': '$`"\\', "}": '$`"\\}', "": "$`\\"}


def word(r: Reader, *, globs: bool = False, regex: bool = False) -> Word | None:
    """The word that stands here, blanks before it skipped; None where no word begins.

    `globs` reads extended globs whatever the shell option says, `regex` reads what may follow
    `=~`: both as `[[ … ]]` does.
    """
    if not regex:
        plain = PLAIN_WORD.match(r.text, r.pos, r.end)
        if plain is not None:
            span = plain.span(1)
            r.pos = span[1]
            return Word((Literal(plain[1], quoted=False, span=span),), span)
    r.blanks()
    start = r.pos
    pieces = Pieces()
    unquoted(r, pieces, globs=globs or r.extglob, regex=regex)
    parts = pieces.done()
    return Word(parts, (start, r.pos)) if parts else None


def unquoted(r: Reader, pieces: Pieces, *, globs: bool, regex: bool = False) -> None:
    """Read on to the end of the word, which is a blank, a newline or an operator."""
    text = r.text
    run = REGEX_RUN if regex else RUN
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
            continue
        if char in ("<", ">") and text.startswith("(", r.pos + 1, r.end):
            process(r, pieces)
        elif char == "(" and (
            regex or (globs and found is not None and text[r.pos - 1] in GLOB_OPENERS)
        ):
            group(r, pieces)
        else:
            return


def quoting(r: Reader, pieces: Pieces, char: str) -> bool:
    """Read one quote, escape or `$…` of unquoted text, if that is what stands here."""
    if char == "'":
        single(r, pieces)
    elif char == '"':
        double(r, pieces)
    elif char == "\\":
        escapes(r, pieces)
    elif char == "$":
        following = r.text[r.pos + 1 : r.pos + 2] if r.pos + 1 < r.end else ""
        if following == "'":
            ansi(r, pieces)
        elif following == '"':
            r.pos += 1
            double(r, pieces)
        else:
            expansion.dollar(r, pieces, quoted=False)
    elif char == "`":
        expansion.backtick(r, pieces, quoted=False)
    else:
        return False
    r.spend(1)
    return True


def escapes(r: Reader, pieces: Pieces) -> None:
    """`\\x` outside quotes: the character itself, quoted. A lone backslash at the end stays."""
    found = ESCAPES.match(r.text, r.pos, r.end)
    start = r.pos
    if found is None:
        r.pos += 1
        pieces.add("\\", start, r.pos, quoted=True)
    else:
        r.pos = found.end()
        pieces.add(found.group()[1::2], start, r.pos, quoted=True)


def single(r: Reader, pieces: Pieces) -> None:
    """`'…'`."""
    start = r.pos
    close = r.text.find("'", start + 1, r.end)
    if close < 0:
        r.pos = r.end
        r.fail("a single quote that never ends", start, r.end)
        return
    r.pos = close + 1
    pieces.add(r.raw(start + 1, close), start, r.pos, quoted=True)


ANSI_BODY = re.compile(r"(?:[^'\\]++|\\.)*+", re.DOTALL)


def ansi(r: Reader, pieces: Pieces) -> None:
    """`$'…'`."""
    start = r.pos
    found = ANSI_BODY.match(r.text, start + 2, r.end)
    close = found.end() if found is not None else r.end
    if not r.text.startswith("'", close, r.end):
        r.pos = r.end
        r.fail("a $' quote that never ends", start, r.end)
        return
    r.pos = close + 1
    pieces.add(decode(r.raw(start + 2, close)), start, r.pos, quoted=True)


def double(r: Reader, pieces: Pieces) -> None:
    """`"…"`."""
    start = r.pos
    mark = pieces.mark()
    r.pos += 1
    if r.text.startswith('"', r.pos, r.end):
        r.pos += 1
        pieces.add("", start, r.pos, quoted=True)
        return
    if not quoted_text(r, pieces, '"'):
        pieces.drop_text(mark)
        r.fail("a double quote that never ends", start, r.end)
        return
    r.pos += 1


def quoted_text(r: Reader, pieces: Pieces, closer: str) -> bool:
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
        if char == "$":
            expansion.dollar(r, pieces, quoted=True)
        elif char == "`":
            expansion.backtick(r, pieces, quoted=True, in_double_quotes=closer != "")
        elif char == "\\":
            escaped_in_quotes(r, pieces, ESCAPABLE[closer])
        elif char == '"':
            double(r, pieces)
        else:
            apostrophes(r, pieces)
    return closer == ""


def escaped_in_quotes(r: Reader, pieces: Pieces, escapable: str) -> None:
    """A backslash inside quotes: it goes before what it can escape and stays before the rest."""
    start = r.pos
    follows = r.text[start + 1] if start + 1 < r.end else ""
    r.pos = start + 1 + len(follows)
    kept = follows if follows and follows in escapable else "\\" + follows
    pieces.add(kept, start, r.pos, quoted=True)


def apostrophes(r: Reader, pieces: Pieces) -> None:
    """`'…'` where bash pairs the quotes but still expands between them.

    Attack: `"${x-'$(id)'}"` and `$(( '$(id)' ))` run `id`, although it looks quoted.
    """
    start = r.pos
    close = r.text.find("'", start + 1, r.end)
    if close < 0:
        r.pos = r.end
        r.fail("a single quote that never ends", start, r.end)
        return
    pieces.add("'", start, start + 1, quoted=True)
    r.pos = start + 1
    if r.deeper():
        limit = r.confine(close)
        quoted_text(r, pieces, "")
        r.release(limit, close + 1)
        pieces.add("'", close, close + 1, quoted=True)
    r.depth -= 1


def bracketed(r: Reader, pieces: Pieces, opener: str, closer: str) -> bool:
    """Read unquoted text that follows `opener` up to its `closer`, where the reader then stands.

    Inner pairs are counted, unless `opener` is empty: `${x:-{}` ends at the first brace.
    """
    text = r.text
    run = BRACKETED_RUN[closer]
    open_pairs = 1
    while r.pos < r.end:
        pos = r.pos
        found = run.match(text, pos, r.end)
        if found is not None:
            r.pos = found.end()
            pieces.add(found.group(), pos, r.pos, quoted=False)
            continue
        char = text[pos]
        if char == closer:
            open_pairs -= 1
            if open_pairs == 0 or not opener:
                return True
        elif char == opener:
            open_pairs += 1
        elif quoting(r, pieces, char):
            continue
        elif text.startswith("(", pos + 1, r.end):
            process(r, pieces)
            continue
        r.pos = pos + 1
        pieces.add(char, pos, r.pos, quoted=False)
    return False


def group(r: Reader, pieces: Pieces) -> None:
    """`(…)` inside a word: of an extended glob, or of a regular expression."""
    start = r.pos
    r.spend(2)
    r.pos += 1
    pieces.add("(", start, r.pos, quoted=False)
    if bracketed(r, pieces, "(", ")"):
        r.pos += 1
        pieces.add(")", r.pos - 1, r.pos, quoted=False)
    else:
        r.fail("no ) to end a pattern", start, r.end)


def subscript(r: Reader) -> Word:
    """`[…]`, without its brackets."""
    start = r.pos
    r.pos += 1
    pieces = Pieces()
    closed = bracketed(r, pieces, "[", "]")
    inside = Word(pieces.done(), (start + 1, r.pos))
    if closed:
        r.pos += 1
    else:
        r.fail("no ] to end a subscript", start, r.end)
    return inside


def process(r: Reader, pieces: Pieces) -> None:
    """`<(…)` and `>(…)`."""
    start = r.pos
    direction = r.text[start]
    r.pos += 2
    script = expansion.script_until_parenthesis(r, start)
    pieces.put(ProcessSubstitution(direction, script, (start, r.pos)))
