"""The caller's own secrets, known by value: found as they are and in the dress of other formats."""

from __future__ import annotations

from redoma.base.secret_search import encoded_forms
from redoma.vault.names import Tells, is_path, tells
from redoma.vault.placeholders import is_placeholder
from redoma.vault.spans import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# What is shorter would take ordinary words out of every text.
SHORTEST = 6
_URLS = ("_URL", "_URI", "_DSN", "_CONNECTION_STRING", "_PROXY")


def own_values(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values of those variables whose names tell, and the passwords within URLs."""
    found: dict[str, None] = {}
    for name, value in environ.items():
        if name.upper().endswith(_URLS):
            found.update(dict.fromkeys(_in_url(value)))
            continue
        told = tells(name.encode("utf-8", "surrogateescape"))
        plain = value.strip()
        if told is Tells.NOTHING or len(plain) < SHORTEST:
            continue
        data = plain.encode("utf-8", "surrogateescape")
        if is_placeholder(data) or (is_path(data) and plain.startswith(("/", "~", "."))):
            continue
        if told is not Tells.ALL and (plain.isalpha() and plain.islower() and len(plain) < 12):
            continue  # a word: `GIT_AUTH=keyring`
        found[plain] = None
    return tuple(found)


def _in_url(value: str) -> Iterator[str]:
    head, at, _ = value.partition("://")[2].rpartition("@")
    if at:
        from urllib.parse import unquote

        password = head.partition(":")[2] or head
        for each in {password, unquote(password)}:
            if len(each) >= SHORTEST and not is_placeholder(each.encode("utf-8", "replace")):
                yield each


def forms(value: str) -> set[bytes]:
    """Every way in which a value may stand in a text; a long one also line by line."""
    raw = value.encode("utf-8", "surrogateescape")
    lines = [line.strip() for line in raw.splitlines()]
    if len(lines) > 1:
        # A text is read line by line, so a key of many lines is found as each of its lines. The
        # frame around it is no secret, and stands around everyone's keys.
        return {
            form
            for line in lines
            if len(line) >= SHORTEST and not line.startswith(b"-----")
            for form in encoded_forms(line)
        }
    return encoded_forms(raw)


class Exact:
    """Finds a fixed set of values."""

    __slots__ = ("_forms",)

    def __init__(self, values: Iterable[str]) -> None:
        made: set[bytes] = set()
        for value in values:
            plain = value.strip()
            if len(plain) >= SHORTEST:
                made |= forms(plain)
        self._forms = tuple(sorted(made, key=len, reverse=True))

    @property
    def longest(self) -> int:
        """The length of the longest form."""
        return len(self._forms[0]) if self._forms else 0

    def spans(self, block: bytes) -> Iterator[Span]:
        """Where a value stands, in any of its forms."""
        for form in self._forms:
            at = block.find(form)
            while at >= 0:
                end = at + len(form)
                yield Span(at, end, at, end, "own-value")
                at = block.find(form, at + 1)
