"""What a run changed, read from its overlay: the cost grows with the changes, not with the tree."""

from __future__ import annotations

import time

from redoma.base import own_directories
from redoma.jail.overlay.comparison import Comparison, CopyWalk, LimitExceeded, OverlayWalk
from redoma.jail.overlay.failure import failure_text
from redoma.jail.overlay.spool import CHANGES, Spooler
from redoma.jail.overlay.store import Overlay
from redoma.jail.overlay.tree_reader import Tree
from redoma.model.change import Change, Changes, Did
from redoma.model.errors import ChangeError
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from redoma.model.grant import Limits


_MANY_SHOWN = 3
_TOO_MUCH = {
    "changes": "the command changed more than {0} paths: they are held, and were not read",
    "depth": "the command worked more than {0} directories deep: all is held, and was not read",
}


def read_changes(overlay: Overlay, most: Limits | None = None) -> Changes:
    """Every path that is not as it was; called when the last process of the run is gone.

    Past `most` it reads no more: the overlay stays as it is, and the result names the limit.
    """
    try:
        return _read(overlay, most)
    except LimitExceeded as more:
        return Changes(
            id=overlay.id,
            workspace=overlay.workspace,
            began_ns=overlay.began_ns,
            warnings=(*overlay.notes, _TOO_MUCH[more.limit].format(more.most)),
            unread=more.limit,
        )
    except OSError as error:
        raise ChangeError(
            f"the changes of {overlay.id} cannot be read: {failure_text(error)}",
            hint=f"redoma discard {overlay.id}",
        ) from error


def _read(overlay: Overlay, most: Limits | None) -> Changes:
    written = Tree(overlay.upper, in_overlay=not overlay.is_copy, ours=True)
    with Tree(overlay.workspace) as lower, written as upper:
        comparison = Comparison(
            lower,
            upper,
            Spooler(CHANGES, own_directories.made_state()),
            began_ns=overlay.began_ns,
            ended_ns=time.time_ns(),
            most=most,
        )
        walk: OverlayWalk | None = None
        if overlay.is_copy:
            CopyWalk(comparison, frozenset(overlay.mounts)).read()
        else:
            walk = OverlayWalk(comparison)
            walk.read()
        items, warnings = _seen_whole(comparison, walk)
    return Changes(
        id=overlay.id,
        workspace=overlay.workspace,
        items=items,
        began_ns=overlay.began_ns,
        warnings=(*overlay.notes, *comparison.warnings, *warnings),
    )


def _seen_whole(found: Comparison, walk: OverlayWalk | None) -> tuple[Sequence[Change], list[str]]:
    """The changes, with what can only be said of them when all are known."""
    items: Sequence[Change] = found.items.sealed()
    if not items:
        return items, []
    from redoma.jail.overlay.attributes import grants_more, without_privileges
    from redoma.jail.overlay.renames import Renames, find

    links = _hard_links(found)
    renames = Renames()
    if found.counts[Did.CREATED] and found.counts[Did.DELETED]:
        count = found.counts[Did.CREATED] + found.counts[Did.DELETED]
        renames = find((_linked(item, links) for item in items), count, found.lower, found.upper)
    warnings = [*renames.warnings]
    replaced = walk is not None and walk.replaced
    if links or renames.found or replaced or found.privileged:
        whole = Spooler(CHANGES, own_directories.made_state())
        revoked: list[str] = []
        for item in walk.with_replaced(items) if walk is not None else items:
            if item.did is Did.DELETED and item.path in renames.deleted:
                continue
            if item.did is Did.CREATED and item.path in renames.created:
                if item.path not in renames.found:
                    continue  # it moved along with a directory
                named = renames.found[item.path]
            else:
                named = _linked(item, links)
            if grants_more(named.after):
                harmless = without_privileges(named, found.upper)
                if harmless is not named:
                    revoked.append(named.path)
                named = harmless
            whole.append(named)
        items = whole.sealed()
        if revoked:
            lost = f"{_shown(revoked)} loses its set-id bit, since its content changed"
            warnings.append(lost)
    return items, [*warnings, *_broken_links(items)]


def _hard_links(found: Comparison) -> dict[str, str]:
    """Of each further name of a file the name that it is a link of."""
    links: dict[str, str] = {}
    for names in found.linked.values():
        names.sort(key=lambda pair: pair[0])
        changed = [(path, did) for path, did in names if did is not None]
        if not changed:
            continue
        # A file that got a name more was copied to the overlay, and is itself as it was.
        unchanged = next((path for path, did in names if did is None), "")
        old = next((path for path, did in changed if did is not Did.CREATED), changed[0][0])
        first = unchanged or old
        links.update((path, first) for path, _ in changed if path != first)
    return links


def _linked(item: Change, links: dict[str, str]) -> Change:
    return replace(item, hard_link_of=links[item.path]) if item.path in links else item


def _shown(paths: list[str]) -> str:
    more = f" and {len(paths) - _MANY_SHOWN} more" if len(paths) > _MANY_SHOWN else ""
    return ", ".join(paths[:_MANY_SHOWN]) + more


def _broken_links(items: Sequence[Change]) -> list[str]:
    """An overlay copies a file before it is written, so its other names keep the old content."""
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
    return [f"only one name changes of a file that has several (hard links): {_shown(broken)}"]
