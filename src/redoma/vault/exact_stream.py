"""Takes known values out of bytes that come in pieces, and holds back no more than it has to.

`stream.py` reads whole lines. A person at a terminal waits for a prompt that has none: so here only
an end that may be the beginning of a value is held back.
"""

from __future__ import annotations

from redoma.vault.exact import Exact
from redoma.vault.spans import merged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MARK = b"[REDACTED]"


class ExactStream:
    """One text on its way through: `feed` it, then `finish` it."""

    __slots__ = ("_exact", "_held")

    def __init__(self, values: Iterable[str]) -> None:
        self._exact = Exact(values)
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What can be shown so far."""
        self._held += data
        cut = self._cut()
        shown, self._held = self._held[:cut], self._held[cut:]
        return self._without(shown)

    def finish(self) -> bytes:
        """What was held back."""
        shown, self._held = self._held, b""
        return self._without(shown)

    def _cut(self) -> int:
        """Where a value may begin whose end is not here yet."""
        held = self._held
        first = max(0, len(held) - self._exact.longest + 1)
        cut = next(
            (at for at in range(first, len(held)) if self._exact.begins(held[at:])), len(held)
        )
        # Attack: the end of one value is the beginning of another. No value is cut in two.
        for span in sorted(self._exact.spans(held), key=lambda each: -each.start):
            if span.start < cut < span.end:
                cut = span.start
        return cut

    def _without(self, data: bytes) -> bytes:
        out, at = [], 0
        for span in merged(self._exact.spans(data)):
            out += [data[at : span.start], MARK]
            at = span.end
        return b"".join((*out, data[at:]))
