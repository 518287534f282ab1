"""Reads compound commands: groups, loops, conditions, functions."""

from __future__ import annotations

import re

from redoma.judge.shell import brackets, conditional, lexer, parser, simple
from redoma.model.message import Message
from redoma.model.script import (
    ArithmeticCommand,
    Block,
    Case,
    Command,
    Coprocess,
    For,
    ForArithmetic,
    Function,
    If,
    Literal,
    Sequence,
    While,
    Word,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.judge.shell.cursor import Cursor

BRACE = frozenset(("}",))
PARENTHESIS = frozenset((")",))
THEN = frozenset(("then",))
CLAUSE_ENDS = frozenset(("elif", "else", "fi"))
FI = frozenset(("fi",))
DO = frozenset(("do",))
DONE = frozenset(("done",))
CASE_ENDS = frozenset((";;", ";&", ";;&", "esac"))
CLAUSE_END = re.compile(r";;&|;;|;&")
COMPOUND = frozenset(("{", "[[", "case", "for", "if", "select", "until", "while"))
# `coproc name {`: a reserved word counts as one after the name of a coprocess.
COPROCESS_NAME = re.compile(
    r"[^ \t\n;&|<>()\\'\"$`]+(?=(?<!=)[ \t]*\(|[ \t]+(?:[{}!]|\[\[|\]\]|case|coproc|do|done"
    r"|elif|else|esac|fi|for|function|if|in|select|then|until|while)(?:[ \t\n;&|()<>]|\Z))"
)
EMPTY_PARENTHESES = re.compile(r"[ \t]*\([ \t]*\)")


def commands(r: Cursor, stop: frozenset[str], opener: str) -> Sequence:
    """A command list that must not be empty; `opener` is what it follows."""
    start = r.pos
    r.spend(2)
    body = r.read_commands(r, stop)
    if not body.commands:
        r.fail(Message("nothing after {opener}", opener=opener), start, r.pos)
    return body


def expect(r: Cursor, closer: str, opener: str, start: int) -> None:
    """Consume `closer`, or note that what began at `start` never ends."""
    if closer == ")" and r.text.startswith(closer, r.pos, r.end):
        r.pos += 1
    elif not r.keyword(closer):
        r.fail(Message("{opener} without {closer}", opener=opener, closer=closer), start, r.pos)


def brace_group(r: Cursor) -> Command:
    """`{ …; }`."""
    start = r.pos
    r.pos += 1
    body = commands(r, BRACE, "{")
    expect(r, "}", "{", start)
    span = (start, r.pos)
    return Block(body, simple.redirects_after(r), span, subshell=False)


def parenthesis(r: Cursor) -> Command:
    """`(( … ))` where the brackets pair up so, else `( … )`."""
    start = r.pos
    if r.text.startswith("((", start, r.end):
        r.pos = start + 2
        expression = brackets.double_parenthesis(r)
        if expression is not None:
            span = (start, r.pos)
            return ArithmeticCommand(expression, simple.redirects_after(r), span)
    r.pos = start + 1
    body = commands(r, PARENTHESIS, "(")
    expect(r, ")", "(", start)
    span = (start, r.pos)
    return Block(body, simple.redirects_after(r), span, subshell=True)


def if_command(r: Cursor) -> Command:
    """`if …; then …; elif …; else …; fi`."""
    start = r.pos
    clauses: list[tuple[Sequence, Sequence]] = []
    otherwise: Sequence | None = None
    opener = "if"
    while r.keyword(opener):
        condition = commands(r, THEN, opener)
        expect(r, "then", opener, start)
        clauses.append((condition, commands(r, CLAUSE_ENDS, "then")))
        opener = "elif"
        r.spend(2)
    if r.keyword("else"):
        otherwise = commands(r, FI, "else")
    expect(r, "fi", "if", start)
    span = (start, r.pos)
    return If(tuple(clauses), otherwise, simple.redirects_after(r), span)


def while_loop(r: Cursor) -> Command:
    """`while …; do …; done` and `until`."""
    start = r.pos
    r.pos += len("while")  # `until` is as long
    condition = commands(r, DO, "while")
    body = do_group(r, start)
    span = (start, r.pos)
    return While(condition, body, simple.redirects_after(r), span)


def do_group(r: Cursor, start: int) -> Sequence:
    """`do …; done`."""
    expect(r, "do", "a loop", start)
    body = commands(r, DONE, "do")
    expect(r, "done", "a loop", start)
    return body


def loop_body(r: Cursor, start: int) -> Sequence:
    """`do …; done` or `{ …; }`, both of which may follow `for`."""
    r.lines()
    if r.head() != "{":
        return do_group(r, start)
    r.pos += 1
    body = commands(r, BRACE, "{")
    expect(r, "}", "{", start)
    return body


def for_loop(r: Cursor) -> Command:
    """`for name in …`, `for name`, `for ((…))`, and `select` in the same forms."""
    start = r.pos
    head = r.head()
    r.pos += len(head)
    if r.blanks() == "(" and head == "for" and r.text.startswith("((", r.pos, r.end):
        return _for_arithmetic(r, start)
    named = lexer.word(r)
    if named is None:
        r.fail(Message("{head} without a name", head=head), start, r.pos)
    name = r.text[slice(*named.span)] if named is not None else ""
    words: tuple[Word, ...] | None = None
    char = r.blanks()
    if char == ";":
        r.pos += 1
    elif char == "{":
        r.fail(Message("{head} without do", head=head), start, r.pos)
    else:
        r.lines()
        if r.keyword("in"):
            words = _for_words(r)
    body = loop_body(r, start)
    span = (start, r.pos)
    return For(name, words, body, simple.redirects_after(r), span)


def _for_words(r: Cursor) -> tuple[Word, ...]:
    words: list[Word] = []
    while True:
        char = r.blanks()
        if char in ("\n", "#"):
            break
        if char == ";":
            r.pos += 1
            break
        item = lexer.word(r)
        if item is None:
            r.fail("for … in without an end", r.pos, r.pos)
            break
        words.append(item)
        r.spend(2)
    return tuple(words)


def _for_arithmetic(r: Cursor, start: int) -> Command:
    r.pos += 2
    inside = r.pos
    expression = brackets.double_parenthesis(r)
    if expression is None:
        r.fail("for (( without ))", start, inside)
        expression = Word((), (inside, inside))
    elif sum(p.text.count(";") for p in expression.parts if isinstance(p, Literal)) != 2:
        r.fail("for ((…)) without three expressions", inside, r.pos)
    if r.blanks() == ";":
        r.pos += 1
    body = loop_body(r, start)
    span = (start, r.pos)
    return ForArithmetic(expression, body, simple.redirects_after(r), span)


def case(r: Cursor) -> Command:
    """`case word in pattern) …;; esac`."""
    start = r.pos
    r.pos += len("case")
    subject = lexer.word(r)
    if subject is None:
        r.fail("case without a word", start, r.pos)
        subject = Word((), (r.pos, r.pos))
    r.lines()
    if not r.keyword("in"):
        r.fail("case without in", start, r.pos)
    clauses: list[tuple[tuple[Word, ...], Sequence]] = []
    while r.lines() and r.head() != "esac":
        patterns = _patterns(r)
        clauses.append((patterns, r.read_commands(r, CASE_ENDS)))
        clause_end = CLAUSE_END.match(r.text, r.pos, r.end)
        if clause_end is not None:
            r.pos = clause_end.end()
    expect(r, "esac", "case", start)
    span = (start, r.pos)
    return Case(subject, tuple(clauses), simple.redirects_after(r), span)


def _patterns(r: Cursor) -> tuple[Word, ...]:
    """`(pattern | pattern)`, the first bracket optional."""
    start = r.pos
    patterns: list[Word] = []
    if r.text.startswith("(", r.pos, r.end):
        r.pos += 1
    while True:
        pattern = lexer.word(r)
        if pattern is not None:
            patterns.append(pattern)
            r.spend(3)
        char = r.blanks()
        if pattern is not None and char == "|":
            r.pos += 1
            continue
        if pattern is not None and char == ")":
            r.pos += 1
        else:
            r.fail("a case pattern without )", start, r.pos)
        return tuple(patterns)


def function_keyword(r: Cursor) -> Command:
    """`function name …`."""
    start = r.pos
    r.pos += len("function")
    named = lexer.word(r)
    if named is None:
        r.fail("function without a name", start, r.pos)
        return Function("", Sequence((), (), (r.pos, r.pos)), (start, r.pos))
    empty_parentheses(r)
    return function_body(r, r.text[slice(*named.span)], start)


def empty_parentheses(r: Cursor) -> bool:
    """Consume `()`, if it stands here."""
    empty = EMPTY_PARENTHESES.match(r.text, r.pos, r.end)
    if empty is not None:
        r.pos = empty.end()
    return empty is not None


def function_body(r: Cursor, name: str, start: int) -> Command:
    """What follows `name()`: a compound command, redirects and all."""
    r.spend(3)
    char = r.lines()
    body = compound_command(r) if char == "(" or r.head() in COMPOUND else None
    if body is None:
        r.fail(Message("function {name} without a body", name=name), start, r.pos)
        body = Sequence((), (), (r.pos, r.pos))
    return Function(name, body, (start, r.pos))


def compound_command(r: Cursor) -> Command:
    """The compound command that stands here."""
    if r.text.startswith("(", r.pos, r.end):
        return parenthesis(r)
    return OPENERS[r.head()](r)


def coprocess(r: Cursor) -> Command:
    """`coproc [name] command`."""
    start = r.pos
    r.pos += len("coproc")
    char = r.blanks()
    name = ""
    if char != "(" and r.head() not in COMPOUND:
        named = COPROCESS_NAME.match(r.text, r.pos, r.end)
        if named is not None and not (r.extglob and r.text[named.end() - 1] in "?*+@!"):
            name = named.group()
            r.pos = named.end()
            char = r.blanks()
    if char == "(" or r.head() in COMPOUND:
        body = compound_command(r)
    elif parser.begins_simple_command(r):
        body = simple.simple_command(r)
        if isinstance(body, Function):
            r.fail("a function as a coprocess", start, r.pos)
    else:
        r.fail("coproc without a command", start, r.pos)
        body = Sequence((), (), (r.pos, r.pos))
    return Coprocess(name, body, (start, r.pos))


OPENERS: dict[str, Callable[[Cursor], Command]] = {
    "{": brace_group,
    "[[": conditional.test,
    "case": case,
    "for": for_loop,
    "if": if_command,
    "select": for_loop,
    "until": while_loop,
    "while": while_loop,
    "coproc": coprocess,
    "function": function_keyword,
}
