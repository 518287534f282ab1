"""Reads simple commands: assignments, words and redirects in any order the shell allows."""

from __future__ import annotations

import re

from redoma.judge.shell import lexer
from redoma.judge.shell.cursor import TOO_LARGE, Cursor, Pieces
from redoma.model.script import Assignment, Command, Literal, Redirect, Simple, Word

# A whole word in one pair of quotes with nothing to expand in it.
QUOTED_WORD = re.compile(r"[ \t]*(?:'([^']*)'|\"([^\"\\$`]*)\")(?=[ \t\n;&|)]|\Z)")
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:(\+?)=|\[)")
REDIRECT = re.compile(
    r"[ \t]*(?:([0-9]+|\{[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]\s]*\])?\})?"
    r"(<<<|<<-|<<|<&|<>|<(?!\()|>>|>&|>\||>(?!\())|(&>>?))"
)
NUMBERED = frozenset("{0123456789")
# After these, `name=(…)` is an array as well.
DECLARERS = frozenset(("alias", "declare", "eval", "export", "let", "local", "readonly", "typeset"))


def simple_command(r: Cursor) -> Command:
    """A simple command, or the function that `name()` turns out to define."""
    start = finish = r.pos
    assignments: list[Assignment] = []
    words: list[Word | Assignment] = []
    redirects: list[Redirect] = []
    text = r.text
    while True:
        plain = lexer.PLAIN_WORD.match(text, r.pos, r.end)
        if plain is not None:
            written = plain[1]
            if words or ("=" not in written and "[" not in written):
                span = plain.span(1)
                r.pos = finish = span[1]
                words.append(Word((Literal(written, quoted=False, span=span),), span))
                if len(words) > r.steps:
                    r.give_up(TOO_LARGE)
                    break
                if finish == r.end or text[finish] in "\n;|)":
                    break
                if text[finish] == "&" and not text.startswith(">", finish + 1, r.end):
                    break
                continue
        if not _read_item(r, assignments, words, redirects):
            break
        finish = r.pos
    r.steps -= 1 + len(words)
    if len(words) == 1 and not assignments and not redirects and text.startswith("(", r.pos, r.end):
        from redoma.judge.shell import compound

        if compound.empty_parentheses(r):
            return compound.function_body(r, text[start:finish], start)
    if r.pos == start and not r.stopped:
        r.pos += 1
        r.fail("no command", start, r.pos)
    return Simple(tuple(assignments), tuple(words), tuple(redirects), (start, finish))


def _read_item(
    r: Cursor,
    assignments: list[Assignment],
    words: list[Word | Assignment],
    redirects: list[Redirect],
) -> bool:
    """Read one assignment, word or redirect; False where the command ends."""
    char = r.blanks()
    if char == "" or char in "\n;|)#(":
        return False
    if char == "&" and not r.text.startswith("&>", r.pos, r.end):
        return False
    r.spend(1)
    if char in "<>&{0123456789":
        redirect = REDIRECT.match(r.text, r.pos, r.end)
        if redirect is not None:
            read = read_redirect(r, redirect)
            if read is not None:
                redirects.append(read)
            return True
    item: Word | Assignment | None = None
    assigned = ASSIGNMENT.match(r.text, r.pos, r.end)
    if assigned is not None and (not words or _declares(r, words, assigned.end())):
        item = assignment(r, assigned)
        r.spend(2)
    item = item or quoted_word(r) or lexer.word(r)
    if isinstance(item, Assignment) and not words:
        assignments.append(item)
    elif isinstance(item, Assignment) and item.value is not None:
        words.append(_as_word(item, item.value))
    elif item is not None:
        words.append(item)
    return item is not None


def _as_word(item: Assignment, value: Word) -> Word:
    """`name=(…)more` after `declare`: an argument like any other."""
    pieces = Pieces()
    name = f"{item.name}+=" if item.append else f"{item.name}="
    pieces.add(name, item.span[0], value.span[0], quoted=False)
    pieces.extend(value)
    return Word(pieces.done(), item.span)


def _declares(r: Cursor, words: list[Word | Assignment], position: int) -> bool:
    """Whether `name=(` here belongs to `declare` or its like."""
    array = r.text.startswith("=(", position - 1, r.end)
    return array and r.text[slice(*words[0].span)] in DECLARERS


def quoted_word(r: Cursor) -> Word | None:
    """A word that is one pair of quotes with nothing to expand inside."""
    found = QUOTED_WORD.match(r.text, r.pos, r.end)
    if found is None:
        return None
    group = found.lastindex or 1
    inside = found.span(group)
    content = r.raw(*inside) if group == 1 else found[group]
    span = (inside[0] - 1, inside[1] + 1)
    r.pos = span[1]
    return Word((Literal(content, quoted=True, span=span),), span)


def read_redirect(r: Cursor, found: re.Match[str]) -> Redirect | None:
    """A redirect whose operator was matched; None where nothing follows the operator."""
    fd, operator, both = found.groups()
    start = found.start(1) if fd else found.start(3 if both else 2)
    r.pos = found.end()
    r.spend(3)
    if operator in ("<<", "<<-"):
        from redoma.judge.shell import heredoc

        redirect = heredoc.announce(r, operator, fd or "", start)
    else:
        target = None
        if operator in (">&", "<&") and r.blanks() == "-":
            # The dash is a word of its own here: `>&-rm` closes standard output and runs `rm`.
            span = (r.pos, r.pos + 1)
            target = Word((Literal("-", quoted=False, span=span),), span)
            r.pos += 1
        elif not _another_redirect(r, operator):
            target = lexer.word(r)
        redirect = None
        if target is not None:
            redirect = Redirect(operator or both, fd or "", target, (start, r.pos))
    if redirect is None:
        r.fail("a redirection to nothing", start, r.pos)
    return redirect


def _another_redirect(r: Cursor, operator: str | None) -> bool:
    """Whether what follows an operator is no target but the number of the next redirect."""
    if r.blanks() not in NUMBERED:
        return False
    following = REDIRECT.match(r.text, r.pos, r.end)
    # `>&2>file` is two redirects, `>2>file` is an error.
    return following is not None and not (
        operator in (">&", "<&") and (following[1] or "").isdigit()
    )


def redirects_after(r: Cursor) -> tuple[Redirect, ...]:
    """The redirects that follow a compound command."""
    redirects: list[Redirect] = []
    found = REDIRECT.match(r.text, r.pos, r.end)
    while found is not None:
        redirect = read_redirect(r, found)
        if redirect is not None:
            redirects.append(redirect)
        found = REDIRECT.match(r.text, r.pos, r.end)
    return tuple(redirects)


def assignment(r: Cursor, found: re.Match[str]) -> Assignment | Word:
    """`name=value`, `name[…]=value`; a word after all where no `=` follows the bracket."""
    start = r.pos
    name = found[1]
    index: Word | None = None
    append = bool(found[2])
    r.pos = found.end()
    if found[2] is None:
        from redoma.judge.shell import brackets

        r.pos = found.end() - 1
        index = brackets.subscript(r)
        append = r.text.startswith("+=", r.pos, r.end)
        if not append and not r.text.startswith("=", r.pos, r.end):
            return _bracketed_word(r, start, name, index)
        r.pos += 2 if append else 1
    if r.text.startswith("(", r.pos, r.end):
        opening = r.pos
        elements = array_elements(r)
        array_end = r.pos
        rest = _value(r)
        if not rest.parts:
            span = (start, array_end)
            return Assignment(name, None, span, append=append, subscript=index, elements=elements)
        # Attack: `a=(1)echo rm x` is no array but the text "(1)echo", and runs `rm`.
        value = _text_after_all(elements, rest, opening, array_end)
    else:
        value = _value(r)
    return Assignment(name, value, (start, r.pos), append=append, subscript=index)


def _text_after_all(
    elements: tuple[tuple[Word | None, Word], ...], rest: Word, opening: int, array_end: int
) -> Word:
    """The value of `name=(…)more`: all of it in one, a space between what were elements."""
    pieces = Pieces()
    pieces.add("(", opening, opening + 1, quoted=True)
    for count, (index, element) in enumerate(elements):
        if count:
            pieces.add(" ", *element.span, quoted=True)
        if index is not None:
            pieces.add("[", *index.span, quoted=True)
            pieces.extend(index)
            pieces.add("]=", *index.span, quoted=True)
        pieces.extend(element)
    pieces.add(")", array_end - 1, array_end, quoted=True)
    pieces.extend(rest)
    return Word(pieces.done(), (opening, rest.span[1]))


def _bracketed_word(r: Cursor, start: int, name: str, index: Word) -> Word:
    """`name[…]…` that assigns nothing: the brackets belong to the word."""
    pieces = Pieces()
    opening, closing = index.span
    pieces.add(f"{name}[", start, opening, quoted=False)
    pieces.extend(index)
    if r.pos > closing:
        pieces.add("]", closing, r.pos, quoted=False)
    lexer.unquoted(r, pieces, globs=r.extglob)
    return Word(pieces.done(), (start, r.pos))


def _value(r: Cursor) -> Word:
    start = r.pos
    pieces = Pieces()
    lexer.unquoted(r, pieces, globs=r.extglob)
    return Word(pieces.done(), (start, r.pos))


def array_elements(r: Cursor) -> tuple[tuple[Word | None, Word], ...]:
    """`(…)` after `name=`: words, some with a subscript of their own."""
    from redoma.judge.shell import brackets

    start = r.pos
    if not r.deeper():
        return ()
    r.pos += 1
    elements: list[tuple[Word | None, Word]] = []
    while True:
        char = r.lines()
        if char == ")":
            r.pos += 1
            break
        index = brackets.subscript(r) if char == "[" else None
        if index is not None and r.text.startswith(("=", "+="), r.pos, r.end):
            r.pos = r.text.index("=", r.pos) + 1
            elements.append((index, _value(r)))
            continue
        if index is not None:
            written: Word | None = _bracketed_word(r, index.span[0] - 1, "", index)
        else:
            written = lexer.word(r)
        r.spend(3)
        if written is None:
            r.fail("no ) to end an array", start, r.pos)
            break
        elements.append((None, written))
    r.depth -= 1
    return tuple(elements)
