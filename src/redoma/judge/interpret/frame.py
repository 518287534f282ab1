"""Where a nested text stands in the text that the caller wrote."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.script import Span


class Frame:
    """How spans of a nested text map to the text that the caller wrote."""

    __slots__ = ("offset", "span")

    def __init__(self, span: Span | None, offset: int | None) -> None:
        self.span = span
        self.offset = offset

    def outer(self, span: Span) -> Span:
        if self.span is None:
            return span
        if self.offset is None:
            return self.span
        return (span[0] + self.offset, span[1] + self.offset)
