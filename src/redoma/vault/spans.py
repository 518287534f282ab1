"""Stretches of text that hold a secret, and how they become one another's neighbours."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class Span:
    """A secret from `start` to `end`, found by reading from `first` to `last`."""

    __slots__ = ("end", "first", "kind", "last", "start")

    def __init__(self, first: int, last: int, start: int, end: int, kind: str) -> None:
        self.first = first
        self.last = last
        self.start = start
        self.end = end
        self.kind = kind

    def moved(self, by: int) -> Span:
        """The same within a text that has `by` bytes more before it."""
        return Span(self.first + by, self.last + by, self.start + by, self.end + by, self.kind)


def merged(found: Iterable[Span]) -> list[Span]:
    """The spans in order, those that overlap or touch joined into one.

    Attack: two rules that each see a part of a secret must not leave the part between them.
    """
    out: list[Span] = []
    for span in sorted(found, key=_by_start):
        if out and span.start <= out[-1].end:
            before = out[-1]
            before.first = min(before.first, span.first)
            before.last = max(before.last, span.last)
            before.end = max(before.end, span.end)
        else:
            out.append(span)
    return out


def _by_start(span: Span) -> tuple[int, int]:
    return span.start, -span.end
