"""Finds the message that a text is an instance of, and says it in another language.

A message with holes is known by its words: `{0} needs a value` is met by every text that ends so.
What stood in a hole is copied as it is, unless the translation marks the hole: `{0~}` holds a
message of its own, `{0?}` the name of something, which is `it` where it has none. The message with
the most words of its own wins, so the answer is always the same.

What is said of something (`'*' would allow every host`, `f has changed since`) is known without it.
What the system and libraries say (`Permission denied`) is translated wherever it fills a hole.

A catalogue is one `.po` file; what the system and libraries say has the context `library` there.
"""

from __future__ import annotations

import re
from functools import cache

HOLE = re.compile(r"\{(\d+)([~?]?)\}")
NAMED = re.compile(r"\{([a-z_]\w*)\}")
# Holes that hold a message, by their names.
INNER = frozenset(
    "why error what text words detail conflicts outcome standing asks hint lost wanted problem ran "
    "said tried counts paths".split()
)
PLACE = re.compile(r"\S+: ")
SUBJECT = re.compile(r"(?:'[^'\n]*'|\"[^\"\n]*\"|\S+) ")
ERRNO = re.compile(r"(\[Errno \d+\] )([^:]+)(.*)", re.DOTALL)
LIBRARY = "library"
FEWEST_LETTERS = 5
FEWEST_AT_THE_START = 4
DEEPEST = 4
# A longer text is something else than a message of ours, and would only cost time.
LONGEST = 8192


def can_be_known(english: str) -> bool:
    """Whether a message has words enough that a text with them is surely that message."""
    head = english.partition("{0}")[0]
    letters = sum(map(str.isalpha, HOLE.sub("", english)))
    return letters >= FEWEST_LETTERS or sum(map(str.isalpha, head)) >= FEWEST_AT_THE_START


class Template:
    """An English message as its own words and the holes between them."""

    __slots__ = ("foreign", "holes", "inner", "literals", "weight")

    def __init__(self, english: str, foreign: str) -> None:
        parts = HOLE.split(english)
        self.literals = tuple(parts[::3])
        self.holes = tuple(map(int, parts[1::3]))
        self.foreign = foreign
        self.inner = tuple(int(number) for number, mark in HOLE.findall(foreign) if mark == "~")
        self.weight = sum(map(len, self.literals))

    def values(self, text: str) -> dict[int, str] | None:
        """What stands in each hole of a text; None where the text is another message."""
        first, *between, last = self.literals
        if len(text) < self.weight or not (text.startswith(first) and text.endswith(last)):
            return None
        if "\n" in text and not any("\n" in literal for literal in self.literals):
            return None  # several lines are several messages, unless one is written so
        at, end = len(first), len(text) - len(last)
        found = []
        for literal in between:
            place = text.find(literal, at, end)
            if place < 0:
                return None
            found.append(text[at:place])
            at = place + len(literal)
        found.append(text[at:end])
        return dict(zip(self.holes, found, strict=True))


class MatchingCatalogue:
    """Every message of one language."""

    def __init__(self, entries: dict[str, str], libraries: dict[str, str] | None = None) -> None:
        self.whole = {**(libraries or {}), **entries}
        self.templates = _templates(self.whole)
        self.libraries = libraries or {}
        self.of_libraries = _templates(self.libraries)

    def translated(self, text: str, depth: int = 0) -> str:
        """The text in this language, as far as it is made of messages; white space around stays."""
        core = text.strip()
        if not core or len(core) > LONGEST or depth > DEEPEST:
            return text
        start = text.index(core)
        made = self._several(core, depth) or self._one(core, depth)[1] or self._lines(core, depth)
        return f"{text[:start]}{made}{text[start + len(core) :]}"

    def filled(self, english: str, values: tuple[object, ...]) -> str:
        """A message by its English, with these values in its holes; nothing has to be guessed."""
        core = english.strip()
        start = english.index(core)
        made = self._put(self.whole.get(core, core), dict(enumerate(map(str, values))), 0)
        return f"{english[:start]}{made}{english[start + len(core) :]}"

    def _one(self, text: str, depth: int) -> tuple[int, str]:
        """One message and the weight of its words; no weight where there is none."""
        found = self._exact(text)
        if found:
            return len(text), found
        best = self._known(text, depth)
        place = PLACE.match(text)
        if place:
            # `file:3:1: what is wrong`, `engine: why not`: the same message, said of something.
            rest = text[place.end() :]
            said = self._exact(rest)
            weight, made = (len(rest), said) if said else self._known(rest, depth)
            if not weight:
                weight, made = self._said_of(rest, depth)
            if weight > best[0]:
                return weight, f"{place[0]}{made}"
        return best if best[0] else self._said_of(text, depth)

    def _said_of(self, text: str, depth: int) -> tuple[int, str]:
        """A message that follows what it is about: a quoted text or a word, after a key or not."""
        starts = [about.end() for about in (SUBJECT.match(text),) if about]
        place = PLACE.match(text)
        about = SUBJECT.match(text, place.end()) if place else None
        if about:
            starts.append(about.end())
        for start in starts:
            rest = text[start:]
            said = self._exact(rest)
            weight, made = (len(rest), said) if said else self._known(rest, depth)
            if weight and " " in rest:
                return weight, f"{text[:start]}{made}"
        # `kubectl apply --dry-run=client: the cluster was not asked`
        head, colon, rest = text.rpartition(": ")
        said = self._exact(rest) if colon and " " in rest else ""
        return (len(rest), f"{head}{colon}{said}") if said else (0, "")

    def _exact(self, text: str) -> str:
        """A message without holes, or several of them as a list."""
        parts = text.split(", ")
        made = [self.whole.get(part) for part in parts]
        if None not in made and not HOLE.search(text):
            return ", ".join(filter(None, made))
        return "" if HOLE.search(text) else self.whole.get(text, "")

    def _known(self, text: str, depth: int) -> tuple[int, str]:
        """The message with holes that the text is an instance of."""
        best: tuple[int, Template, dict[int, str]] | None = None
        for template in self.templates:
            # Of those without messages inside, the first has the most words of its own.
            if best is not None and not template.inner:
                continue
            values = template.values(text)
            if values is not None:
                weight = template.weight + self._inside(template, values, depth)
                if best is None or weight > best[0]:
                    best = (weight, template, values)
        if best is None:
            return 0, ""
        weight, template, values = best
        return weight, self._put(template.foreign, values, depth)

    def _inside(self, template: Template, values: dict[int, str], depth: int) -> int:
        """The weight of the messages that stand in holes for messages."""
        if depth >= DEEPEST:
            return 0
        return sum(self._one(values[number].strip(), depth + 1)[0] for number in template.inner)

    def _several(self, text: str, depth: int) -> str:
        """Messages one after the other; nothing where one of them is none, or all are one."""
        if self._exact(text):
            return ""
        for joint in ("; ", ", "):
            parts = text.split(joint)
            if joint == ", " and self._is_one_list(text, parts):
                continue
            made = [self._one(part, depth + 1) for part in parts] if len(parts) > 1 else []
            weighs = sum(weight for weight, _ in made)
            if all(weight for weight, _ in made) and weighs > self._one(text, depth)[0]:
                return joint.join(said for _, said in made)
        return ""

    def _is_one_list(self, text: str, parts: list[str]) -> bool:
        """`one of: safe, moderate`: words that belong to what stands before the first of them."""
        if any(part not in self.whole for part in parts[1:]):
            return False
        return any(
            not template.literals[-1] and template.values(text) and template.values(parts[0])
            for template in self.templates
        )

    def _lines(self, text: str, depth: int) -> str:
        """A text that is no message, but may be put together from some."""
        for joint in ("\n", "; "):
            if joint in text:
                return joint.join(self.translated(part, depth + 1) for part in text.split(joint))
        return text

    def _put(self, foreign: str, values: dict[int, str], depth: int) -> str:
        def value(hole: re.Match[str]) -> str:
            held = values[int(hole[1])]
            if hole[2] == "~":
                return self.translated(held, depth + 1)
            # A rule says `it` of what has no name; whoever has a file of that name reads the same.
            if hole[2] and held == "it":
                return self.whole.get(held, held)
            return self._of_library(held)

        return HOLE.sub(value, foreign)

    def _of_library(self, text: str) -> str:
        """What the system or a library says of an error; anything else stays as it is."""
        numbered = ERRNO.fullmatch(text)
        if numbered:
            said = self.libraries.get(numbered[2], numbered[2])
            return f"{numbered[1]}{said}{numbered[3]}"
        if text in self.libraries:
            return self.libraries[text]
        for template in self.of_libraries:
            values = template.values(text)
            if values is not None:
                return HOLE.sub(lambda hole, held=values: held[int(hole[1])], template.foreign)  # type: ignore[misc]
        return text


def _templates(entries: dict[str, str]) -> list[Template]:
    """The messages with holes that can be known by their words, those with the most first."""
    found = [
        Template(english, foreign)
        for english, foreign in entries.items()
        if HOLE.search(english) and can_be_known(english)
    ]
    return sorted(found, key=lambda t: (-t.weight, t.literals))


@cache
def of(language: str) -> MatchingCatalogue:
    """The catalogue of a language that there is."""
    from redoma.i18n.catalogue import po_entries

    found = po_entries(language)
    ours = dict(_numbered(one.english, one.foreign) for one in found if one.context != LIBRARY)
    # A counted message has its other form beside it.
    ours |= dict(_numbered(one.many, one.more[0]) for one in found if one.many and one.more)
    ours |= {one.english: one.foreign for one in found if one.context != LIBRARY}
    theirs = {one.english: one.foreign for one in found if one.context == LIBRARY}
    return MatchingCatalogue(ours, theirs)


def _numbered(english: str, foreign: str) -> tuple[str, str]:
    """A message with its holes numbered: what was stored as finished English is known by it."""
    names = list(dict.fromkeys(NAMED.findall(english)))

    def number(hole: re.Match[str], mark: str = "") -> str:
        return f"{{{names.index(hole[1])}{mark}}}" if hole[1] in names else hole[0]

    return NAMED.sub(number, english), NAMED.sub(
        lambda hole: number(hole, "~" if hole[1] in INNER else ""), foreign
    )
