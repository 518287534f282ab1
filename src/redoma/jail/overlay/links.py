"""Finds names that share one file in a layer."""

from __future__ import annotations

from redoma.model.change import Did

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.overlay.compare import Comparison


def hard_links(found: Comparison) -> dict[str, str]:
    """Of each further name of a file the name that it is a link of."""
    links: dict[str, str] = {}
    for names in found.linked.values():
        names.sort(key=lambda pair: pair[0])
        changed = [(path, did) for path, did in names if did is not None]
        if not changed:
            continue
        # A file that got a name more was copied to the layer, and is itself as it was.
        kept = next((path for path, did in names if did is None), "")
        old = next((path for path, did in changed if did is not Did.CREATED), changed[0][0])
        first = kept or old
        links.update((path, first) for path, _ in changed if path != first)
    return links
