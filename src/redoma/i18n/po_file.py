"""Reads and writes gettext's `.po` files: a message, its translation, and where the source says it.

Only what a catalogue of ours has: no plural forms, and what is marked fuzzy or obsolete counts as
not translated. `msgfmt -c` and every translator's tool read the same file.
"""

from __future__ import annotations

import re

from redoma.model.errors import CatalogueError
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MEANT = {"n": "\n", "t": "\t", "r": "\r"}
_WRITTEN = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_KEYWORDS = ("msgctxt", "msgid", "msgstr")


class PoEntry(Value):
    """One message: its English, its translation, what kind of text it is and where it stands."""

    english: str
    foreign: str
    context: str = ""
    places: tuple[str, ...] = ()


def read(text: str) -> Iterator[PoEntry]:
    """The translated messages of a file, without its head; CatalogueError names a bad line."""
    for block in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n")):
        entry = _entry(block, text)
        if entry is not None and entry.english:
            yield entry


def _entry(block: str, text: str) -> PoEntry | None:
    said = dict.fromkeys(_KEYWORDS, "")
    places: list[str] = []
    at = ""
    for line in block.split("\n"):
        if line.startswith("#,") and "fuzzy" in line:
            return None
        if line.startswith("#:"):
            places += line[2:].split()
        if not line.strip() or line.startswith("#"):
            continue
        keyword, _, rest = line.partition(" ")
        at = keyword if keyword in said else at
        quoted = rest if keyword in said else line
        if not at or len(quoted) < 2 or quoted[0] != '"' or quoted[-1] != '"':
            number = text[: text.index(line)].count("\n") + 1
            raise CatalogueError(f"line {number} of a catalogue is not a message: {line[:60]!r}")
        said[at] += _ESCAPED.sub(lambda found: _MEANT.get(found[1], found[1]), quoted[1:-1])
    return PoEntry(
        english=said["msgid"],
        foreign=said["msgstr"],
        context=said["msgctxt"],
        places=tuple(places),
    )


def written(language: str, entries: Iterable[PoEntry]) -> str:
    """A whole file, head and all."""
    head = PoEntry(
        english="",
        foreign=f"Language: {language}\nMIME-Version: 1.0\n"
        "Content-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n",
    )
    return "\n".join(_text(entry) for entry in (head, *entries))


def _text(entry: PoEntry) -> str:
    lines = [f"#: {place}" for place in entry.places]
    if entry.context:
        lines += _said("msgctxt", entry.context)
    lines += _said("msgid", entry.english)
    lines += _said("msgstr", entry.foreign)
    return "\n".join(lines) + "\n"


def _said(keyword: str, text: str) -> list[str]:
    pieces = text.splitlines(keepends=True)
    quoted = ['"' + "".join(_WRITTEN.get(sign, sign) for sign in piece) + '"' for piece in pieces]
    if len(quoted) <= 1:
        return [f"{keyword} " + ("".join(quoted) or '""')]
    return [f'{keyword} ""', *quoted]
