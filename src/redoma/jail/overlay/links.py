"""Finds names that share one file in a layer."""

from __future__ import annotations

from redoma.model.change import Did
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.overlay.compare import Comparison
    from redoma.model.change import Change


def with_hard_links(found: Comparison) -> list[Change]:
    """The changes, each further name of a file with the name that it is a link of."""
    items = list(found.items)
    for names in found.linked.values():
        names.sort(key=lambda pair: pair[0])
        changed = [change for _, change in names if change is not None]
        if not changed:
            continue
        # A file that got a name more was copied to the layer, and is itself as it was.
        kept = next((path for path, change in names if change is None), "")
        first = kept or next((c.path for c in changed if c.did is not Did.CREATED), changed[0].path)
        items += [
            change if change.path == first else replace(change, hard_link_of=first)
            for change in changed
        ]
    return items
