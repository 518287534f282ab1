"""Which changes an apply takes: those chosen, those they cannot be without, less what is held."""

from __future__ import annotations

import os
from bisect import bisect_left

from redoma.base import own_directories
from redoma.base.paths import is_below
from redoma.jail.overlay.roots import Roots, in_order
from redoma.jail.overlay.rows import CHANGES
from redoma.jail.overlay.spool import Spooler, found_in
from redoma.model.change import Change, Did, FileKind
from redoma.model.errors import UsageError
from redoma.model.result import HeldBack
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from redoma.model.change import Changes


class Choice(Value):
    """What an apply will do, in the order of the tree: a directory, then what is in it."""

    items: Sequence[Change]
    brought: tuple[str, ...] = ()
    held_back: tuple[HeldBack, ...] = ()


def choose(
    changes: Changes,
    paths: Iterable[str] | None,
    *,
    why: Mapping[str, str],
    kept_in: str = "",
) -> Choice:
    """Everything, or what lies at or below `paths`; `why` says of some that they are held back."""
    if paths is None:
        return _everything(changes, dict(why), kept_in)
    by_path = {item.path: item for item in changes.items}
    chosen = _named(changes, paths)
    wanted = _with_needs(by_path, chosen)
    held = _held(by_path.get, (by_path[path] for path in wanted), why)
    items = sorted(
        (by_path[path] for path in wanted if path not in held), key=lambda i: in_order(i.path)
    )
    return Choice(
        items=tuple(items),
        brought=tuple(sorted(path for path in wanted - chosen if path not in held)),
        held_back=_held_back(changes, held, kept_in),
    )


def _everything(changes: Changes, why: dict[str, str], kept_in: str) -> Choice:
    """All that is not held back; they are the same values, where nothing is."""
    if not why:
        return Choice(items=changes.items)
    held = _held(found_in(changes.items), changes.items, why)
    items = Spooler(CHANGES, own_directories.made_state())
    items.extend(item for item in changes.items if item.path not in held)
    return Choice(items=items.sealed(), held_back=_held_back(changes, held, kept_in))


def _held_back(changes: Changes, held: Mapping[str, str], kept_in: str) -> tuple[HeldBack, ...]:
    return tuple(
        HeldBack(path=f"{changes.workspace}/{path}", why=reason, kept=f"{kept_in}/{path}")
        for path, reason in sorted(held.items())
    )


def _named(changes: Changes, paths: Iterable[str]) -> set[str]:
    chosen: set[str] = set()
    for path in paths:
        place = _relative(changes.workspace, path)
        found = {
            item.path
            for item in changes.items
            if _within(item.path, place)
            or (item.renamed_from and _within(item.renamed_from, place))
        }
        if not found:
            raise UsageError(
                f"nothing changed at {path}",
                hint=f"redoma history {changes.id}",
            )
        chosen |= found
    return chosen


def _relative(workspace: str, path: str) -> str:
    full = os.path.normpath(os.path.join(workspace, path))
    if full == workspace:
        return "."
    if not is_below(full, workspace):
        raise UsageError(f"{path} lies outside the workspace {workspace}")
    return full.removeprefix(workspace + "/")


def _within(path: str, place: str) -> bool:
    return place in (".", path) or is_below(path, place)


def parents(path: str) -> Iterator[str]:
    """The directories that a path lies in, the nearest first; not the workspace itself."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def is_directory(item: Change) -> bool:
    """Whether a change leaves a directory."""
    return item.after is not None and item.after.kind is FileKind.DIRECTORY


def was_directory(item: Change) -> bool:
    """Whether there was a directory before a change."""
    return item.before is not None and item.before.kind is FileKind.DIRECTORY


def replaces_kind(item: Change) -> bool:
    """Whether a directory stands where none stood, or the reverse."""
    return (
        item.did is Did.MODIFIED
        and item.before is not None
        and item.after is not None
        and is_directory(item) != was_directory(item)
    )


def makes_directory(item: Change) -> bool:
    """Whether what lies below a path can only come with this change."""
    return item.did is Did.CREATED or replaces_kind(item)


def goes(item: Change) -> bool:
    """Whether a directory that was there goes with a change, and all that lies in it."""
    moves = item.did is Did.DELETED or item.did is Did.RENAMED
    return was_directory(item) and (moves or replaces_kind(item))


def _with_needs(by_path: dict[str, Change], chosen: set[str]) -> set[str]:
    gone: list[tuple[str, str]] = []  # what goes when a directory goes, in order
    links: dict[str, list[str]] = {}
    for path, item in by_path.items():
        left = path if item.did is Did.DELETED else item.renamed_from
        if left:
            gone.append((in_order(left), path))
        if item.hard_link_of in by_path:
            links.setdefault(item.hard_link_of, [item.hard_link_of]).append(path)
    gone.sort()
    made = Roots(path for path, item in by_path.items() if makes_directory(item))
    emptied: set[str] = set()  # directories of which everything is chosen already
    wanted: set[str] = set()
    pending = sorted(chosen, key=in_order, reverse=True)  # the outermost is taken first
    while pending:
        path = pending.pop()
        if path in wanted:
            continue
        wanted.add(path)
        item = by_path[path]
        if item.did is not Did.DELETED and made.around(path):
            for parent in parents(path):
                above = by_path.get(parent)
                if above is not None and makes_directory(above):
                    pending.append(parent)  # which asks for those above it in turn
                    break
        leaves = item.did is Did.DELETED or replaces_kind(item)
        if was_directory(item) and leaves and path not in emptied:
            key = in_order(path)
            first, last = bisect_left(gone, (f"{key}\0",)), bisect_left(gone, (f"{key}\1",))
            below = [inner for _, inner in gone[first:last]]
            emptied.update(below)
            pending += below
        pending += links.get(item.hard_link_of or path, [])
    return wanted


def _held(
    find: Callable[[str], Change | None], wanted: Iterable[Change], reasons: Mapping[str, str]
) -> dict[str, str]:
    """What of the wanted changes is held back, and why: itself, or since it needs what is."""
    not_made = Roots(path for path in reasons if (item := find(path)) and is_directory(item))
    why: dict[str, str] = {}
    removed: dict[str, Change] = {}  # directories that would go
    for item in wanted:
        if item.path in reasons:
            why[item.path] = reasons[item.path]
        # Nothing can lie in a directory that is not made.
        elif item.did is not Did.DELETED and (above := not_made.around(item.path)):
            why[item.path] = reasons[above]
        elif was_directory(item) and (item.did is Did.DELETED or replaces_kind(item)):
            removed[item.path] = item
    stay: set[str] = set()
    for path in why:
        held = find(path)
        for parent in _left_standing(held) if held is not None else ():
            if parent in stay:
                break
            stay.add(parent)
    for path in stay.intersection(removed):
        why[path] = "something protected stays in it"
    return why


def _left_standing(item: Change) -> Iterator[str]:
    """The directories that cannot go while what this change would have removed stays."""
    if item.did is Did.DELETED:
        yield from parents(item.path)
    elif item.renamed_from:
        yield from parents(item.renamed_from)
    elif item.before is not None:
        yield from parents(item.path)
