"""Tells what a run changed, from its layer alone: the cost grows with the changes, not the tree."""

from __future__ import annotations

import time

from redoma.jail.overlay import renames
from redoma.jail.overlay.compare import Comparison
from redoma.jail.overlay.layer import COPY, Layer
from redoma.jail.overlay.links import with_hard_links
from redoma.jail.overlay.tree import Tree
from redoma.model.change import Change, Changes, Did
from redoma.model.errors import ChangeError

_MANY_LINKS_SHOWN = 3


def read_changes(layer: Layer) -> Changes:
    """Every path that is not as it was; called when the last process of the run is gone."""
    try:
        return _read(layer)
    except OSError as error:
        raise ChangeError(
            f"the changes of {layer.id} cannot be read: {error}",
            hint=f"redoma discard {layer.id}",
        ) from error


def _read(layer: Layer) -> Changes:
    overlay = layer.kind != COPY
    held = Tree(layer.upper, in_overlay=overlay, ours=True)
    with Tree(layer.workspace) as lower, held as upper:
        comparison = Comparison(lower, upper, began_ns=layer.began_ns, ended_ns=time.time_ns())
        if overlay:
            from redoma.jail.overlay.overlaid import Overlaid

            Overlaid(comparison).read()
        else:
            from redoma.jail.overlay.copied import Copied

            Copied(comparison).read()
        found = with_hard_links(comparison)
        found, unsure = renames.find(found, lower, upper)
    warnings = [*layer.notes, *comparison.warnings, *unsure, *_broken_links(found)]
    return Changes(
        id=layer.id,
        workspace=layer.workspace,
        items=tuple(sorted(found, key=lambda item: item.path)),
        began_ns=layer.began_ns,
        warnings=tuple(warnings),
    )


def _broken_links(items: list[Change]) -> list[str]:
    """A layer copies a file before it is written, so its other names keep the old content."""
    broken = [
        item.path
        for item in items
        if item.did in (Did.MODIFIED, Did.ATTRIBUTES)
        and item.before is not None
        and item.before.links > 1
        and item.before.kind is not item.before.kind.DIRECTORY
    ]
    if not broken:
        return []
    shown = ", ".join(broken[:_MANY_LINKS_SHOWN])
    more = f" and {len(broken) - _MANY_LINKS_SHOWN} more" if len(broken) > _MANY_LINKS_SHOWN else ""
    return [f"only one name changes of a file that has several (hard links): {shown}{more}"]
