"""A tree as one line of text, so that a test can compare whole trees and still be read.

Quoted text stands in `«…»`, quoted substitutions have a `"` before them, what could not be read
is `<reason>`. Everything else looks as it would in a script, on one line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redoma.judge.shell.parser import parse
from redoma.model.script import (
    Arithmetic,
    ArithmeticCommand,
    Assignment,
    Block,
    Case,
    Command,
    CommandSubstitution,
    Coprocess,
    For,
    ForArithmetic,
    Function,
    If,
    Literal,
    Parameter,
    Pipeline,
    ProcessSubstitution,
    Redirect,
    Sequence,
    Simple,
    Test,
    Unread,
    While,
    Word,
)

if TYPE_CHECKING:
    from redoma.model.script import Part


def shown(text: str, *, extglob: bool = True) -> str:
    """What was read from `text`."""
    return sequence(parse(text, extglob=extglob).body)


def unread(text: str, *, extglob: bool = True) -> list[str]:
    """The stretches of `text` that could not be read."""
    return [text[slice(*item.span)] for item in parse(text, extglob=extglob).unread]


def sequence(body: Sequence) -> str:
    marks = ["; " if mark == ";" else f" {mark} " for mark in body.after]
    if marks:
        marks[-1] = " &" if body.after[-1] == "&" else ""
    pairs = zip(body.commands, marks, strict=True)
    return "".join(command(item) + mark for item, mark in pairs)


def word(item: Word | Assignment) -> str:
    if isinstance(item, Assignment):
        return assignment(item)
    return "".join(part(each) for each in item.parts)


def part(item: Part) -> str:
    if isinstance(item, Literal):
        return f"«{item.text}»" if item.quoted else item.text
    if isinstance(item, ProcessSubstitution):
        return f"{item.direction}({sequence(item.script.body)})"
    quote = '"' if item.quoted else ""
    if isinstance(item, CommandSubstitution):
        return f"{quote}$({sequence(item.script.body)})"
    if isinstance(item, Arithmetic):
        return f"{quote}$(({text_of(item.expression)}))"
    return f"{quote}${{{parameter(item)}}}"


def parameter(item: Parameter) -> str:
    subscript = f"[{text_of(item.subscript)}]" if item.subscript is not None else ""
    argument = word(item.argument) if item.argument is not None else ""
    return item.prefix + item.name + subscript + item.op + argument


def text_of(item: Word) -> str:
    """A word in which quoting says nothing: expressions and subscripts."""
    return "".join(p.text if isinstance(p, Literal) else part(p) for p in item.parts)


def assignment(item: Assignment) -> str:
    subscript = f"[{text_of(item.subscript)}]" if item.subscript is not None else ""
    value = word(item.value) if item.value is not None else ""
    if item.elements is not None:
        pairs = [(f"[{text_of(k)}]=" if k is not None else "") + word(v) for k, v in item.elements]
        value = f"({' '.join(pairs)})"
    return f"{item.name}{subscript}{'+' if item.append else ''}={value}"


def redirect(item: Redirect) -> str:
    return f"{item.fd}{item.op}{item.delimiter}{word(item.target)}"


def command(item: Command) -> str:
    pieces = [core(item), *(redirect(each) for each in item.redirects)]
    return " ".join(pieces if pieces[0] else pieces[1:])


def core(item: Command) -> str:
    match item:
        case Simple():
            return " ".join([*map(assignment, item.assignments), *map(word, item.words)])
        case Pipeline():
            marks = ("time " if item.timed else "") + ("! " if item.negated else "")
            return marks + " | ".join(map(command, item.commands))
        case Block():
            opening, closing = ("(", ")") if item.subshell else ("{", "}")
            return f"{opening} {sequence(item.body)} {closing}"
        case If():
            clauses = [f"if {sequence(a)} then {sequence(b)}" for a, b in item.clauses]
            otherwise = f" else {sequence(item.otherwise)}" if item.otherwise is not None else ""
            return " el".join(clauses) + otherwise + " fi"
        case While():
            return f"while {sequence(item.condition)} do {sequence(item.body)} done"
        case For():
            words = "" if item.words is None else " in" + "".join(f" {word(w)}" for w in item.words)
            return f"for {item.name}{words} do {sequence(item.body)} done"
        case ForArithmetic():
            return f"for (({text_of(item.expression)})) do {sequence(item.body)} done"
        case Case():
            clauses = [f"{' | '.join(map(word, p))}) {sequence(b)} ;;" for p, b in item.clauses]
            return f"case {word(item.subject)} in {' '.join(clauses)} esac"
        case Function():
            return f"{item.name}() {command(item.body)}"
        case Coprocess():
            return f"coproc {item.name}: {command(item.body)}"
        case Test():
            return f"[[ {' '.join(map(word, item.words))} ]]"
        case ArithmeticCommand():
            return f"(({text_of(item.expression)}))"
        case Unread():
            return f"<{item.reason}>"
        case Sequence():
            return sequence(item)
    raise TypeError(type(item))
