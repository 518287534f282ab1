"""The messages of one language, found by their id and filled with their values.

A catalogue is one `.po` file. What the system and libraries say has the context `library` there: it
is looked up whole, or by its words with what it quotes and counts taken out, wherever it fills a
hole; any other text in a hole is copied as it is.
"""

from __future__ import annotations

import os
import re
from functools import cache

from redoma.i18n.po_file import plural_rule, read
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from redoma.i18n.po_file import PoEntry

HOLE = re.compile(r"\{([a-z_]\w*)\}|\{\{|\}\}")
NUMBERED = re.compile(r"\{(\d+)\}")
ERRNO = re.compile(r"(\[Errno \d+\] )([^:]+)(.*)", re.DOTALL)
QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|\d+")
LIBRARY = "library"
DEEPEST = 8


class Catalogue:
    """Every message of one language."""

    def __init__(
        self, entries: tuple[PoEntry, ...], which: Callable[[int], int] = lambda n: int(n != 1)
    ) -> None:
        """`which` says, of a count, which of the plural forms it takes."""
        self.whole = {one.english: one for one in entries if one.context != LIBRARY}
        self.libraries = {one.english: one.foreign for one in entries if one.context == LIBRARY}
        self.which = which
        self.search: Callable[[str], str] | None = None

    def said(self, message: Message, depth: int = 0) -> str:
        """A message in this language; one that the catalogue does not have stays English."""
        core = message.id.strip()
        if not message.values:
            found = self.whole.get(core)
            return message.replace(core, found.foreign, 1) if found else self._unknown(message)
        values = {name: self._value(value, depth) for name, value in message.values.items()}
        return _filled(message.id.replace(core, self._template(message, core), 1), values)

    def _unknown(self, message: Message) -> str:
        """What the catalogue has not as it stands; finished texts are searched for, as yet."""
        said = self.of_library(message)
        return self.search(message) if self.search and said == message else said

    def _template(self, message: Message, core: str) -> str:
        """The translation that fits the count, or the English where there is none."""
        found, count = self.whole.get(core), message.values.get("count")
        if not message.many or not isinstance(count, int):
            return found.foreign if found else core
        if not found:
            return core if count == 1 else message.many.strip()
        forms = (found.foreign, *found.more)
        return forms[min(self.which(count), len(forms) - 1)]

    def _value(self, value: object, depth: int) -> str:
        if isinstance(value, Message) and depth < DEEPEST:
            return self.said(value, depth + 1)
        return self.of_library(str(value))

    def of_library(self, text: str) -> str:
        """What the system or a library says of an error; anything else stays as it is."""
        numbered = ERRNO.fullmatch(text)
        if numbered:
            said = self.libraries.get(numbered[2], numbered[2])
            return f"{numbered[1]}{said}{numbered[3]}"
        if text in self.libraries:
            return self.libraries[text]
        names = iter(range(len(text)))
        found = self.libraries.get(QUOTED.sub(lambda _: f"{{{next(names)}}}", text))
        if found is None:
            return text
        parts = QUOTED.findall(text)
        return NUMBERED.sub(lambda hole: parts[int(hole[1])], found)


def _filled(template: str, values: dict[str, str]) -> str:
    """The template with its values, which are not looked into; `{{` stands for a brace."""
    return HOLE.sub(lambda hole: values.get(hole[1], hole[0]) if hole[1] else hole[0][0], template)


@cache
def of(language: str) -> Catalogue:
    """The catalogue of a language that there is."""
    from redoma.i18n.template_search import of as search

    made = Catalogue(po_entries(language), plural_rule(_text(language)))
    made.search = search(language).translated
    return made


def entries(language: str) -> Iterator[tuple[str, str]]:
    """Every message of ours with its translation, in the order of the catalogue."""
    return ((one.english, one.foreign) for one in po_entries(language) if one.context != LIBRARY)


@cache
def po_entries(language: str) -> tuple[PoEntry, ...]:
    """Every entry that has its translation."""
    return tuple(entry for entry in read(_text(language)) if entry.foreign)


def _text(language: str) -> str:
    with open(place_of(language), encoding="utf-8") as file:
        return file.read()


def place_of(language: str) -> str:
    """The file of a language."""
    return os.path.join(os.path.dirname(__file__), language.replace("-", "_") + ".po")
