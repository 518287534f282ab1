"""Every node of a tree, each once."""

from __future__ import annotations

from collections.abc import Iterator

from redoma.model.script import Node


def nodes(root: Node) -> Iterator[Node]:
    """`root` and all that stands below it."""
    seen: set[int] = set()
    waiting: list[object] = [root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, tuple):
            waiting.extend(item)
        elif isinstance(item, Node) and id(item) not in seen:
            seen.add(id(item))
            yield item
            waiting.extend(children(item))


def children(item: Node) -> list[object]:
    """The values of all fields but the span."""
    names = [name for kind in type(item).__mro__ for name in getattr(kind, "__slots__", ())]
    return [getattr(item, name) for name in names if name != "span"]
