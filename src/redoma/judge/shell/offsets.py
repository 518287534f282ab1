"""Where a character of a rewritten text stood before it was rewritten.

Three things are rewritten before they are read, as bash does it: line continuations are taken
out, backticks lose one layer of backslashes, `<<-` bodies lose their tabs. The tree is built on
the rewritten text; its spans are then moved back through `Offsets`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right

from redoma.model.script import Node, Unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


CONTINUATION = re.compile(r"(?<!\\)((?:\\\\)*)\\\n")
HOLDING_NODES: dict[type[Node], tuple[str, ...]] = {}
WITHOUT_NODES = frozenset(
    "after append delimiter direction fd name negated op prefix quoted reason span subshell"
    " text timed".split()
)


class Offsets:
    """Pieces kept from an outer text: piece i stands at `here[i]` inside and `there[i]` outside."""

    __slots__ = ("here", "there")

    def __init__(self, pieces: Iterable[tuple[int, int]]) -> None:
        self.here: list[int] = []
        self.there: list[int] = []
        for here, there in pieces:
            self.here.append(here)
            self.there.append(there)

    def start(self, position: int) -> int:
        """The outer position of the character at `position`."""
        at = bisect_right(self.here, position) - 1
        return self.there[at] + position - self.here[at]

    def end(self, position: int) -> int:
        """The outer position just after the character before `position`."""
        at = max(bisect_left(self.here, position) - 1, 0)
        return self.there[at] + position - self.here[at]

    def inside(self, outer: int) -> int:
        """The inner position of the first kept character at or after `outer`."""
        at = max(bisect_right(self.there, outer) - 1, 0)
        inner = self.here[at] + outer - self.there[at]
        if at + 1 < len(self.here):
            return min(inner, self.here[at + 1])
        return inner


class Everywhere(Offsets):
    """For text that was decoded: all of it stands at one span."""

    __slots__ = ("span",)

    def __init__(self, span: tuple[int, int]) -> None:
        super().__init__(())
        self.span = span

    def start(self, position: int) -> int:
        """The start of the span, whatever the position."""
        return self.span[0]

    def end(self, position: int) -> int:
        """The end of the span, whatever the position."""
        return self.span[1]


def joined_lines(original: str) -> tuple[str, Offsets]:
    """The text without its backslash-newlines, and where it stood."""
    kept: list[str] = []
    pieces = [(0, 0)]
    here = there = 0
    for found in CONTINUATION.finditer(original):
        stop = found.end(1)
        kept.append(original[there:stop])
        here += stop - there
        there = found.end()
        pieces.append((here, there))
    kept.append(original[there:])
    return "".join(kept), Offsets(pieces)


def relocate(roots: Iterable[Node], offsets: Offsets) -> None:
    """Move every span below `roots` to the outer text, each node once."""
    moved: set[int] = set()
    spans: dict[tuple[int, int], tuple[int, int]] = {}
    waiting: list[object] = list(roots)
    while waiting:
        item = waiting.pop()
        if isinstance(item, tuple):
            waiting.extend(item)
        elif isinstance(item, Node):
            if isinstance(item, Unread):
                # It stands both in its sequence and in its scripts, and must move only once.
                if id(item) in moved:
                    continue
                moved.add(id(item))
            span = spans.get(item.span)
            if span is None:
                start = offsets.start(item.span[0])
                span = spans[item.span] = (start, max(start, offsets.end(item.span[1])))
            item.span = span
            for name in HOLDING_NODES.get(type(item)) or _holding_nodes(type(item)):
                waiting.append(getattr(item, name))


def _holding_nodes(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a kind of node in which other nodes stand."""
    fields = {name for base in kind.__mro__ for name in getattr(base, "__slots__", ())}
    HOLDING_NODES[kind] = tuple(fields - WITHOUT_NODES)
    return HOLDING_NODES[kind]
