"""Where a character of a rewritten text stood before it was rewritten.

Three things are rewritten before they are read, as bash does it: line continuations are taken
out, backticks lose one layer of backslashes, `<<-` bodies lose their tabs. The tree is built on
the rewritten text; its spans are then moved back through `Offsets`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from redoma.model.script import Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


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


def relocate(roots: Iterable[Node], offsets: Offsets) -> None:
    """Move every span below `roots` to the outer text, each node once."""
    seen: set[int] = set()
    waiting: list[object] = list(roots)
    while waiting:
        item = waiting.pop()
        if isinstance(item, tuple):
            waiting.extend(item)
        elif isinstance(item, Node) and id(item) not in seen:
            # An Unread stands both in its sequence and in its script: it must move only once.
            seen.add(id(item))
            start = offsets.start(item.span[0])
            item.span = (start, max(start, offsets.end(item.span[1])))
            for kind in type(item).__mro__:
                for name in getattr(kind, "__slots__", ()):
                    value = getattr(item, name)
                    if name != "span" and value and not isinstance(value, str | bool):
                        waiting.append(value)
