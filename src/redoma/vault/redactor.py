"""Takes secrets out of text: by shape, by what stands around them, by name, and by value.

One redactor serves logs, the audit log, questions and prompts. It never raises because of a text:
what cannot be read comes out as a mark, never as it was.
"""

from __future__ import annotations

from redoma.model.value import Value
from redoma.vault import contexts, shapes
from redoma.vault.stream import UNREADABLE, RedactingStream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from redoma.vault.exact import Exact
    from redoma.vault.spans import Span

REDACTED = "[REDACTED]"
WITH_KIND = "[REDACTED:{kind}]"


class Found(Value):
    """A secret in a text: what kind, and in which line; never the secret itself."""

    kind: str
    line: int


class Redactor:
    """Puts `replacement` in the place of every secret; `{kind}` in it becomes the kind of secret.

    `values` are secrets that are known by value, such as those of the caller's own variables; they
    are also found in base64, in hex, and quoted for URLs, shells and JSON.
    """

    __slots__ = ("_exact", "_replacement")

    def __init__(self, values: Iterable[str] = (), *, replacement: str = REDACTED) -> None:
        known = tuple(values)
        self._exact: Exact | None = None
        if known:
            from redoma.vault.exact import Exact

            self._exact = Exact(known)
        self._replacement = replacement

    def text(self, text: str) -> str:
        """The text without its secrets."""
        try:
            before = text.encode("utf-8", "surrogatepass")
            after = self.data(before)
            return text if after == before else _decoded(after)
        except Exception:
            return UNREADABLE.decode()

    def data(self, data: bytes) -> bytes:
        """The bytes without their secrets; they need not be text."""
        stream = self.stream()
        return stream.feed(data) + stream.finish()

    def found(self, data: bytes | str) -> tuple[Found, ...]:
        """What would be taken out, in order."""
        if isinstance(data, str):
            data = data.encode("utf-8", "surrogatepass")
        notes: list[Found] = []
        stream = self.stream(lambda kind, line: notes.append(Found(kind=kind, line=line)))
        stream.feed(data)
        stream.finish()
        if stream.failed:
            notes.append(Found(kind="unreadable", line=0))
        return tuple(notes)

    def stream(self, note: Callable[[str, int], None] | None = None) -> RedactingStream:
        """For a text that comes in pieces: the same comes out as for the whole, line by line.

        `note` is told the kind and the line of each secret.
        """
        return RedactingStream(self._spans, self._mark, note)

    def _mark(self, kind: str) -> bytes:
        return self._replacement.replace("{kind}", kind).encode()

    def _spans(self, block: bytes) -> Iterator[Span]:
        low = block.lower()
        yield from shapes.spans(block)
        yield from contexts.spans(block, low)
        for piece in contexts.NAME_PIECES:
            if piece in low:
                from redoma.vault import names

                yield from names.spans(block, low)
                break
        if self._exact is not None:
            yield from self._exact.spans(block)


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:  # a secret's end may lie within a character
        return data.decode("utf-8", "replace")
