"""Reads `[[ … ]]`: its operands and operators as one flat row of words."""

from __future__ import annotations

import re

from redoma.judge.shell import lexer, simple
from redoma.judge.shell.cursor import Pieces
from redoma.model.script import Literal, Test, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.shell.cursor import Cursor

OPERATOR = re.compile(r"&&|\|\||[<>](?!\()|[()]")
UNARY = re.compile(r"-[abcdefghknoprstuvwxzGLNORS]")
BINARY = frozenset(
    ("=", "==", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "<", ">")
)
REGEX_RUN = re.compile(r"[^ \t\n;&<>()\\'\"$`]+")
PATTERN_OPERATORS = frozenset(("=", "==", "!="))


class Wanted:
    """What may come next in a condition."""

    TERM, OPERAND, AFTER_WORD, JOINER = range(4)


def test(r: Cursor) -> Test:
    """`[[ … ]]`; anything bash would refuse is noted, and the words read are kept."""
    start = r.pos
    r.pos += 2
    words: list[Word] = []
    wanted = Wanted.TERM
    open_pairs = 0
    last = ""
    while True:
        char = r.blanks() if wanted in (Wanted.AFTER_WORD, Wanted.OPERAND) else r.lines()
        head = r.head()
        if head == "]]":
            r.pos += 2
            if wanted in (Wanted.TERM, Wanted.OPERAND) or open_pairs:
                r.fail("an unfinished condition", start, r.pos)
            break
        operator = OPERATOR.match(r.text, r.pos, r.end)
        if char == "" or (operator is None and char in "\n;&|#"):
            r.fail("[[ without ]]", start, r.pos)
            break
        begin = r.pos
        if operator is not None and not (last == "=~" and char == "("):
            last = operator.group()
            r.pos = operator.end()
            item = _literal(last, begin)
            fits, wanted = _after_operator(last, wanted)
            open_pairs += {"(": 1, ")": -1}.get(last, 0)
            fits = fits and open_pairs >= 0
        else:
            read = _operand(r, last)
            if read is None:
                r.fail("[[ without ]]", start, r.pos)
                break
            item = read
            last = head if r.pos == begin + len(head) else ""
            fits, wanted = _after_word(last, wanted)
        words.append(item)
        r.spend(2)
        if not fits:
            r.fail("a condition that does not hold together", begin, r.pos)
    span = (start, r.pos)
    return Test(tuple(words), simple.redirects_after(r), span)


def _operand(r: Cursor, operator: str) -> Word | None:
    """A word; after an operator that compares patterns, as that operator has it."""
    if operator not in PATTERN_OPERATORS and operator != "=~":
        return lexer.word(r)
    start = r.pos
    pieces = Pieces()
    if operator == "=~":
        lexer.unquoted(r, pieces, globs=False, run=REGEX_RUN, groups=True)
    else:
        lexer.unquoted(r, pieces, globs=True)
    parts = pieces.done()
    return Word(parts, (start, r.pos)) if parts else None


def _literal(text: str, start: int) -> Word:
    span = (start, start + len(text))
    return Word((Literal(text, quoted=False, span=span),), span)


def _after_operator(operator: str, wanted: int) -> tuple[bool, int]:
    if operator == "(":
        return wanted == Wanted.TERM, Wanted.TERM
    if operator == ")":
        return wanted in (Wanted.AFTER_WORD, Wanted.JOINER), Wanted.JOINER
    if operator in ("<", ">"):
        return wanted == Wanted.AFTER_WORD, Wanted.OPERAND
    return wanted in (Wanted.AFTER_WORD, Wanted.JOINER), Wanted.TERM


def _after_word(word: str, wanted: int) -> tuple[bool, int]:
    """`word` is the text of an unquoted word, "" for any other."""
    if wanted == Wanted.TERM:
        if word == "!":
            return True, Wanted.TERM
        return True, Wanted.OPERAND if UNARY.fullmatch(word) else Wanted.AFTER_WORD
    if wanted == Wanted.OPERAND:
        return True, Wanted.JOINER
    if wanted == Wanted.AFTER_WORD:
        return word in BINARY, Wanted.OPERAND
    return False, Wanted.JOINER
