"""A tree without what bash's printer changes: spans, `;` or newline, `elif`, default numbers."""

from __future__ import annotations

from typing import TypeAlias

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

Form: TypeAlias = "tuple[Form, ...] | str | bool | None"
ALL_ARGUMENTS: Form = ((("par", "", "@", "", True, None, None),),)
DASH_N: Form = (("lit", False, "-n"),)
COPROC: Form = (("lit", False, "COPROC"),)


def word(item: Word | Assignment | None) -> Form:
    if item is None:
        return None
    if isinstance(item, Assignment):
        elements = None
        if item.elements is not None:
            elements = tuple((word(key), word(value)) for key, value in item.elements)
        return ("assign", item.name, item.append, word(item.subscript), word(item.value), elements)
    parts: list[Form] = []
    for part in item.parts:
        if isinstance(part, Literal):
            if part.text or len(item.parts) == 1:
                parts.append(("lit", part.quoted, part.text))
        elif isinstance(part, Parameter):
            inside = (word(part.subscript), word(part.argument))
            parts.append(("par", part.prefix, part.name, part.op, part.quoted, *inside))
        elif isinstance(part, CommandSubstitution):
            parts.append(("com", part.quoted, sequence(part.script.body)))
        elif isinstance(part, ProcessSubstitution):
            parts.append(("proc", part.direction, sequence(part.script.body)))
        elif isinstance(part, Arithmetic):
            parts.append(("arith", part.quoted, expression(part.expression)))
    return tuple(parts)


def expression(item: Word) -> Form:
    """An expression with its blanks gone, which bash sets as it likes."""
    return tuple(
        "".join(part.text.split()) if isinstance(part, Literal) else word(Word((part,), part.span))
        for part in item.parts
        if not isinstance(part, Literal) or part.text.strip()
    )


def three_expressions(item: Word) -> Form:
    """bash prints a one where one of the three is missing."""
    each = repr(expression(item)).split(";")
    return tuple("1" if not text.strip("'(), ") else text.strip("'(), ") for text in each)


def redirects(item: Command) -> Form:
    return tuple(redirect(each) for each in item.redirects)


def redirect(item: Redirect) -> Form:
    operator, fd, target = item.op, item.fd, word(item.target)
    literal = "".join(part.text for part in item.target.parts if isinstance(part, Literal))
    only_text = all(isinstance(part, Literal) for part in item.target.parts)
    if operator in (">&", "<&") and only_text:
        if literal == "-":
            fd, operator = fd or ("1" if operator == ">&" else "0"), ">&"
        elif operator == ">&" and not fd and not literal.rstrip("-").isdigit():
            operator = "&>"
        else:
            fd = fd or ("1" if operator == ">&" else "0")
    elif operator in (">&", "<&"):
        fd = fd or ("1" if operator == ">&" else "0")
    usual = {">": "1", ">>": "1", ">|": "1", "<": "0", "<<": "0", "<<-": "0", "<<<": "0"}
    if usual.get(operator) == fd or (operator == "<>" and fd in ("0", "1")):
        fd = ""
    return (operator, fd, target, item.delimiter)


def sequence(body: Sequence) -> Form:
    pairs = list(zip(body.commands, body.after, strict=True))
    forms = [(command(item), "" if mark == ";" else mark) for item, mark in pairs]
    return tuple(forms)


def command(item: Command) -> Form:
    return (*core(item), redirects(item))


def core(item: Command) -> tuple[Form, ...]:
    match item:
        case Simple():
            return ("simple", tuple(map(word, item.assignments)), tuple(map(word, item.words)))
        case Pipeline():
            if not item.commands and not item.negated and not item.timed:
                return ("nothing",)
            if len(item.commands) == 1 and not item.negated and not item.timed:
                return core(item.commands[0])
            return ("pipe", tuple(map(command, item.commands)), item.negated, item.timed)
        case Block():
            return ("block", sequence(item.body), item.subshell)
        case If():
            return if_form(item)
        case While():
            return ("while", sequence(item.condition), sequence(item.body))
        case For():
            words = ALL_ARGUMENTS if item.words is None else tuple(map(word, item.words))
            return ("for", item.name, words, sequence(item.body))
        case ForArithmetic():
            return ("forarith", three_expressions(item.expression), sequence(item.body))
        case Case():
            clauses = tuple((tuple(map(word, p)), sequence(body)) for p, body in item.clauses)
            return ("case", word(item.subject), clauses)
        case Function():
            return ("function", item.name, function_body(item.body))
        case Coprocess():
            return coprocess(item)
        case Test():
            # bash writes `[[ -n x ]]` for `[[ x ]]`.
            return ("test", tuple(form for form in map(word, item.words) if form != DASH_N))
        case ArithmeticCommand():
            return ("arith", expression(item.expression))
        case Unread():
            return ("unread", item.reason)
        case Sequence():
            return ("sequence", sequence(item))
    raise TypeError(type(item))


def if_form(item: If) -> tuple[Form, ...]:
    """`elif` is printed as an `if` inside `else`."""
    otherwise: Form = None if item.otherwise is None else sequence(item.otherwise)
    nested: tuple[Form, ...] = ()
    for condition, body in reversed(item.clauses):
        nested = ("if", sequence(condition), sequence(body), otherwise)
        otherwise = (((*nested, ()), ""),)
    return nested


def function_body(body: Command) -> Form:
    """A body that is no group is printed inside one."""
    form = command(body)
    if isinstance(body, Block) and not body.subshell:
        return form
    bare = (*core(body), ())
    return ("block", ((bare, ""),), False, form[-1] if isinstance(form, tuple) else None)


def coprocess(item: Coprocess) -> tuple[Form, ...]:
    """A coprocess without a name is printed with the one it gets."""
    body = command(item.body)
    if isinstance(item.body, Simple):
        kind, assigned, words, redirected = body  # type: ignore[misc]
        if words and words[0] == COPROC:  # type: ignore[index]
            words = words[1:]  # type: ignore[index]
        return ("coproc", "", (kind, assigned, words, redirected))
    return ("coproc", item.name or "COPROC", body)
