"""Turns words into the arguments a program would get, as far as the script tells them."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import PLAIN, UNKNOWN, Arg, arg
from redoma.judge.interpret.variables import judge_steering
from redoma.judge.text.budget import spend
from redoma.model.script import (
    Arithmetic,
    CommandSubstitution,
    Literal,
    Parameter,
    ProcessSubstitution,
    Word,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.state import State
    from redoma.judge.interpret.walker import Walker
    from redoma.model.script import Part, Span

_SPECIAL = re.compile(r"[~{]")
_NUMBER = re.compile(r"[\s0-9+\-*/%()]{1,40}")
_NAME = re.compile(r"[A-Za-z_]\w*")
_RUNS = re.compile("\0+")
_USER = re.compile(r"[\w.-]+")
_TOKENS = re.compile(r"\d+|[-+*/%()]")
_CHANGES = re.compile(r"\+\+|--|(?<![=!<>])=(?!=)|<<=|>>=")
_CHANGED_NAME = re.compile(
    r"(?<!\w)([A-Za-z_]\w*+)\s*+(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))|(?:\+\+|--)\s*+([A-Za-z_]\w*+)"
)
_HOLE = re.compile("\x02(\\d+)\x03")
_ASSIGNS = re.compile(r"[A-Za-z_]\w*+\+?=")
MOST_NAMES = 32
"""How many names are followed from one text that is arithmetic."""
WORD = 16
"""What a word is taken to cost those who look at it."""
LONGEST = 16384
"""A longer word is not followed: doubling a variable would cost more at every step."""


class WordPiece:
    """A stretch of an expanded word; unquoted text may split into words."""

    __slots__ = ("quoted", "taint", "text")

    def __init__(self, text: str, taint: int, *, quoted: bool) -> None:
        self.text = text
        self.taint = taint
        self.quoted = quoted


class Expander:
    """Expansion under a walker that runs the substitutions."""

    def __init__(self, walker: Walker) -> None:
        self.walker = walker

    def words(self, words: tuple[Word, ...] | list[Word], state: State) -> list[Arg]:
        """All arguments that the words become."""
        out: list[Arg] = []
        for word in words:
            parts = word.parts
            if len(parts) == 1:
                part = parts[0]
                if type(part) is Literal and (part.quoted or not _SPECIAL.search(part.text)):
                    out.append(arg(part.text, word.span))
                    continue
            for variant in self._braced(word):
                before = len(out)
                self._fields(variant, word.span, state, out)
                # Attack: `set -- "$@" "$@"` again and again, `{1..250}` a thousand times.
                spend(WORD * (len(out) - before) + sum(map(len, out[before:])) // 8)
        return out

    def value(self, word: Word | None, state: State) -> Arg:
        """The word as the value of an assignment: a tilde counts after each colon as well."""
        return self.one(word, state, colons=True)

    def one(self, word: Word | None, state: State, *, colons: bool = False) -> Arg:
        """The word as one argument, as in a redirection or a here-document."""
        if word is None:
            return arg("", (0, 0))
        parts = word.parts
        if len(parts) == 1 and type(parts[0]) is Literal:
            literal = parts[0]
            text = literal.text
            if not literal.quoted and "~" in text:
                text = self._tildes(text, state, first=True, colons=colons)
            return arg(text, word.span)
        pieces = self._pieces(parts, state, colons=colons)
        taint = PLAIN
        for piece in pieces:
            taint |= piece.taint
        text = "".join(p.text for p in pieces)
        spend(1 + len(text) // 8)
        return arg(_bounded(text), word.span, taint)

    def _braced(self, word: Word) -> list[tuple[Part, ...]]:
        parts = word.parts
        if not any(type(p) is Literal and not p.quoted and "{" in p.text for p in parts):
            return [parts]
        template: list[str] = []
        for index, part in enumerate(parts):
            if type(part) is Literal and not part.quoted and "\x02" not in part.text:
                template.append(part.text)
            else:
                template.append(f"\x02{index}\x03")
        from redoma.judge.text.glob import expand_braces

        variants = expand_braces("".join(template))
        if variants is None:
            return [(Literal(UNKNOWN, quoted=True, span=word.span),)]
        if len(variants) == 1:
            return [parts]
        return [self._refill(text, parts, word.span) for text in variants if text]

    @staticmethod
    def _refill(text: str, parts: tuple[Part, ...], span: Span) -> tuple[Part, ...]:
        out: list[Part] = []
        at = 0
        for hole in _HOLE.finditer(text):
            if hole.start() > at:
                out.append(Literal(text[at : hole.start()], quoted=False, span=span))
            out.append(parts[int(hole[1])])
            at = hole.end()
        if at < len(text):
            out.append(Literal(text[at:], quoted=False, span=span))
        return tuple(out)

    def _fields(self, parts: tuple[Part, ...], span: Span, state: State, out: list[Arg]) -> None:
        """Splits what unquoted expansions give, and keeps quoted text together."""
        current: list[str] | None = None
        taint = PLAIN
        ifs = state.variables.get("IFS")
        separators = ifs if ifs is not None and ifs.known else " \t\n"
        for index, part in enumerate(parts):
            if type(part) is Literal:
                text = part.text
                if not part.quoted and "~" in text:
                    # `dd of=~/x`: a word that looks like an assignment is read as one.
                    named = _ASSIGNS.match(parts[0].text) if type(parts[0]) is Literal else None
                    head = named.end() if named is not None and index == 0 else 0
                    text = text[:head] + self._tildes(
                        text[head:], state, first=index == 0, colons=named is not None
                    )
                if current is None:
                    current = []
                current.append(text)
                continue
            several = self._several(part, state, separators)
            if several is not None:
                spend(WORD * len(several))
                for position, item in enumerate(several):
                    if position and current is not None:
                        out.append(arg("".join(current), span, taint))
                        current, taint = None, PLAIN
                    if current is None:
                        current = []
                    current.append(item)
                    taint |= item.taint
                continue
            piece = self._piece(part, state)
            spend(4 + len(piece.text) // 8)
            taint |= piece.taint
            if piece.quoted:
                if current is None:
                    current = []
                current.append(piece.text)
                continue
            fields, opens, closes = _split(piece.text, separators)
            if opens and current is not None and fields:
                out.append(arg("".join(current), span, taint))
                current = None
            for position, field in enumerate(fields):
                if position and current is not None:
                    out.append(arg("".join(current), span, taint))
                    current = None
                if current is None:
                    current = []
                current.append(field)
            if closes and current is not None:
                out.append(arg("".join(current), span, taint))
                current = None
        if current is not None:
            out.append(arg(_bounded("".join(current)), span, taint))

    def _several(self, part: Part, state: State, separators: str) -> list[Arg] | None:
        """The words of `"$@"`, `${a[@]:1}` and their like; None for what gives one text."""
        if type(part) is not Parameter:
            return None
        star = part.name == "*"
        if part.subscript is not None and len(part.subscript.parts) == 1:
            star = star or getattr(part.subscript.parts[0], "text", "") == "*"
        if star and part.quoted:
            return None
        from redoma.judge.interpret.parameters import items_of

        items = items_of(part, state, self)
        if items is None or part.quoted:
            return items
        return [item.like(field) for item in items for field in _split(item, separators)[0]]

    def _pieces(
        self, parts: tuple[Part, ...], state: State, *, colons: bool = False
    ) -> list[WordPiece]:
        out: list[WordPiece] = []
        for index, part in enumerate(parts):
            if type(part) is Literal:
                text = part.text
                if not part.quoted and "~" in text:
                    text = self._tildes(text, state, first=index == 0, colons=colons)
                out.append(WordPiece(text, PLAIN, quoted=part.quoted))
            else:
                out.append(self._piece(part, state))
        return out

    def _piece(self, part: Part, state: State) -> WordPiece:
        if type(part) is Parameter:
            from redoma.judge.interpret.parameters import parameter

            value = parameter(part, state, self)
            return WordPiece(value, value.taint, quoted=part.quoted)
        if type(part) is CommandSubstitution:
            stream = self.walker.substitute(part.script, state)
            text = UNKNOWN if stream.text is None else stream.text.rstrip("\n")
            return WordPiece(text, stream.taint, quoted=part.quoted)
        if type(part) is ProcessSubstitution:
            path = self.walker.process_substitution(part, state)
            return WordPiece(path, PLAIN, quoted=True)
        if type(part) is Arithmetic:
            return WordPiece(self.arithmetic(part.expression, state), PLAIN, quoted=True)
        return WordPiece(part.text, PLAIN, quoted=True)  # type: ignore[union-attr]

    def arithmetic(self, expression: Word, state: State) -> str:
        """The number an expression gives if it is plain; runs what hides inside it."""
        number = self.number(self.one(expression, state), state)
        return UNKNOWN if number is None else str(number)

    def number(self, text: str, state: State) -> int | None:
        """What a text is as arithmetic, if that is plain; runs what hides inside it."""
        if text.isdigit() and len(text) < 7:
            return int(text)
        self.walker.step()
        # Attack: bash evaluates a text as arithmetic, subscripts and all, and so the value of each
        # variable that it names, and of those that they name.
        followed: set[str] = set()
        waiting = [text]
        while waiting and len(followed) < MOST_NAMES:
            each = waiting.pop()
            spend(WORD + len(each))
            self._hidden(each, state)
            for name in _NAME.findall(each)[:MOST_NAMES]:
                if name not in followed:
                    followed.add(name)
                    waiting += [held for held in (state.value(name),) if held is not None]
        if _CHANGES.search(text):
            for match in _CHANGED_NAME.finditer(text):
                name, span = match[1] or match[2], getattr(text, "span", (0, 0))
                state.assign(name, arg(UNKNOWN, span))
                # Whichever number it is: as a path it is a folder right here.
                judge_steering(self.walker, name, arg("0", span), state)
            return None
        text = _NAME.sub(lambda m: _number_of(state.variables.get(m[0])), text)
        if _NUMBER.fullmatch(text) and "**" not in text and text.strip():
            return _small_number(text)
        return None

    def _hidden(self, text: str, state: State) -> None:
        if "$(" in text or "`" in text or "${" in text:
            self.walker.hidden_text(arg(text, getattr(text, "span", (0, 0))), state)

    def _tildes(self, text: str, state: State, *, first: bool, colons: bool) -> str:
        """The tildes that count: at the beginning of a word, of a value after each colon."""
        if not colons:
            return self._tilde(text, state) if first and text[:1] == "~" else text
        parts = text.split(":")
        return ":".join(
            self._tilde(part, state) if part[:1] == "~" and (first or index) else part
            for index, part in enumerate(parts)
        )

    def _tilde(self, text: str, state: State) -> str:
        user, slash, rest = text[1:].partition("/")
        if not user:
            home = state.variables.get("HOME")
            start = home if home is not None and home.known else self.walker.ground.home
        elif user == "+":
            start = state.cwd
        elif user == "-":
            start = state.variables.get("OLDPWD", UNKNOWN)
        elif user == "root":
            start = "/root"
        elif _USER.fullmatch(user):
            start = f"/home/{user}"
        else:
            return text
        return f"{start}{slash}{rest}"


def _bounded(text: str) -> str:
    if UNKNOWN + UNKNOWN in text:
        text = _RUNS.sub(UNKNOWN, text)
    return text if len(text) <= LONGEST else UNKNOWN


def _split(text: str, separators: str) -> tuple[list[str], bool, bool]:
    if not separators or not any(s in text for s in separators):
        return ([text] if text else []), False, False

    fields = [f for f in re.split("[" + re.escape(separators) + "]+", text) if f]
    return fields, text[0] in separators, text[-1] in separators


def _number_of(held: Arg | None) -> str:
    """A variable inside arithmetic; one that is not set counts as nothing."""
    text = "0" if held is None else held.strip() or "0"
    return text if text.lstrip("-").isdigit() and len(text) < 7 else UNKNOWN


def _small_number(text: str) -> int | None:
    tokens = _TOKENS.findall(text)
    try:
        return _sum(tokens)
    except (ValueError, ZeroDivisionError, IndexError):
        return None


def _sum(tokens: list[str]) -> int:
    value, rest = _product(tokens)
    while rest and rest[0] in "+-":
        other, after = _product(rest[1:])
        value = value + other if rest[0] == "+" else value - other
        rest = after
    if rest:
        raise ValueError("left over")
    return value


def _product(tokens: list[str]) -> tuple[int, list[str]]:
    if tokens[0] in "-+" and len(tokens) > 1:
        value = int(tokens[1]) * (-1 if tokens[0] == "-" else 1)
        rest = tokens[2:]
    else:
        value, rest = int(tokens[0]), tokens[1:]
    while rest and rest[0] in "*/%":
        other = int(rest[1])
        value = {"*": value * other, "/": value // (other or 1), "%": value % (other or 1)}[rest[0]]
        if abs(value) > 10**15:
            raise ValueError("large")
        rest = rest[2:]
    return value, rest
