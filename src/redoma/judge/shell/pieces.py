"""Collects the parts of a word; neighbouring text of the same quotedness becomes one literal."""

from __future__ import annotations

from redoma.model.script import Literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.script import Part, Word


class Pieces:
    """The parts read so far, and the literal that is still growing."""

    __slots__ = ("_chunks", "_end", "_quoted", "_start", "parts")

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._chunks: list[str] = []
        self._quoted = False
        self._start = 0
        self._end = 0

    def add(self, text: str, start: int, end: int, *, quoted: bool) -> None:
        """Add text that stands at `start` to `end` of the source."""
        if self._chunks and self._quoted is not quoted:
            self.flush()
        if not self._chunks:
            self._quoted = quoted
            self._start = start
        self._chunks.append(text)
        self._end = end

    def put(self, part: Part) -> None:
        """Add a substitution."""
        if self._chunks:
            self.flush()
        self.parts.append(part)

    def extend(self, word: Word) -> None:
        """Add all parts of a word."""
        for part in word.parts:
            if isinstance(part, Literal):
                self.add(part.text, *part.span, quoted=part.quoted)
            else:
                self.put(part)

    def flush(self) -> None:
        """End the growing literal."""
        if self._chunks:
            text = "".join(self._chunks)
            self.parts.append(Literal(text, self._quoted, (self._start, self._end)))
            self._chunks = []

    def done(self) -> tuple[Part, ...]:
        """All parts in order."""
        self.flush()
        return tuple(self.parts)

    def mark(self) -> int:
        """A point to come back to with `drop_text`."""
        return len(self.parts) + (1 if self._chunks and not self._quoted else 0)

    def drop_text(self, mark: int) -> None:
        """Forget literals since `mark` but keep substitutions: a quote that never ended."""
        self.flush()
        self.parts[mark:] = [p for p in self.parts[mark:] if not isinstance(p, Literal)]
