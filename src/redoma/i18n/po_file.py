"""Reads and writes gettext's `.po` files: a message, its translation, and where the source says it.

What is marked fuzzy or obsolete counts as not translated. `msgfmt --check` and every translator's
tool read the same file: a message with holes has the flag `python-brace-format`.
"""

from __future__ import annotations

import re

from redoma.model.errors import CatalogueError
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MEANT = {"n": "\n", "t": "\t", "r": "\r"}
_WRITTEN = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_KEYWORDS = ("msgctxt", "msgid", "msgid_plural", "msgstr", *(f"msgstr[{n}]" for n in range(6)))
_PLURALS = re.compile(r'"Plural-Forms:[^"]*plural=([^;"]+);')
_HOLE = re.compile(r"\{[a-z_]\w*\}")
_HEAD = """Project-Id-Version: redoma
PO-Revision-Date: 2026-11-18 08:00+0000
Last-Translator: the authors of Redoma
Language-Team: the authors of Redoma
Language: {language}
MIME-Version: 1.0
Content-Type: text/plain; charset=UTF-8
Content-Transfer-Encoding: 8bit
Plural-Forms: nplurals=2; plural=(n > 1);
"""


class PoEntry(Value):
    """One message: its English, its translation, what kind of text it is and where it stands.

    A counted one has `many`, the English of every count but one, and the other forms in `more`.
    """

    english: str
    foreign: str
    many: str = ""
    more: tuple[str, ...] = ()
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
            raise CatalogueError(
                "line {number} of a catalogue is not a message: {line}",
                number=number,
                line=repr(line[:60]),
            )
        said[at] += _ESCAPED.sub(lambda found: _MEANT.get(found[1], found[1]), quoted[1:-1])
    return PoEntry(
        english=said["msgid"],
        foreign=said["msgstr"] or said["msgstr[0]"],
        many=said["msgid_plural"],
        more=tuple(said[f"msgstr[{n}]"] for n in range(1, 6) if said[f"msgstr[{n}]"]),
        context=said["msgctxt"],
        places=tuple(places),
    )


def plural_rule(text: str) -> Callable[[int], int]:
    """Which form a count takes, as the head of a file says it; English's rule without one."""
    found = _PLURALS.search(text)
    if found is None:
        return lambda count: int(count != 1)
    from gettext import c2py

    return c2py(found[1])


def written(language: str, entries: Iterable[PoEntry]) -> str:
    """A whole file, head and all."""
    head = PoEntry(english="", foreign=_HEAD.replace("{language}", language))
    return "\n".join(_text(entry) for entry in (head, *entries))


def _text(entry: PoEntry) -> str:
    lines = [f"#: {place}" for place in entry.places]
    if _HOLE.search(entry.english + entry.many):
        lines.append("#, python-brace-format")
    if entry.context:
        lines += _said("msgctxt", entry.context)
    lines += _said("msgid", entry.english)
    if not entry.many:
        return "\n".join([*lines, *_said("msgstr", entry.foreign)]) + "\n"
    lines += _said("msgid_plural", entry.many)
    for number, form in enumerate((entry.foreign, *entry.more)):
        lines += _said(f"msgstr[{number}]", form)
    return "\n".join(lines) + "\n"


def _said(keyword: str, text: str) -> list[str]:
    pieces = text.splitlines(keepends=True)
    quoted = ['"' + "".join(_WRITTEN.get(sign, sign) for sign in piece) + '"' for piece in pieces]
    if len(quoted) <= 1:
        return [f"{keyword} " + ("".join(quoted) or '""')]
    return [f'{keyword} ""', *quoted]
