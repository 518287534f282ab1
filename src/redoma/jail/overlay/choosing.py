"""Which changes an apply takes: those chosen, those they cannot be without, less what is held."""

from __future__ import annotations

import os

from redoma.model.change import Change, Did, FileKind
from redoma.model.errors import UsageError
from redoma.model.result import HeldBack
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from redoma.model.change import Changes


class Choice(Value):
    """What an apply will do, in the order of the tree: a directory, then what is in it."""

    items: tuple[Change, ...]
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
    by_path = {item.path: item for item in changes.items}
    chosen = set(by_path) if paths is None else _named(changes, paths)
    wanted = _with_needs(by_path, chosen)
    held = _held(by_path, wanted, why)
    items = sorted(
        (by_path[path] for path in wanted if path not in held), key=lambda i: i.path.split("/")
    )
    return Choice(
        items=tuple(items),
        brought=tuple(sorted(path for path in wanted - chosen if path not in held)),
        held_back=tuple(
            HeldBack(path=f"{changes.workspace}/{path}", why=reason, kept=f"{kept_in}/{path}")
            for path, reason in sorted(held.items())
        ),
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
                hint=f"redoma preview --stat; transaction {changes.id}",
            )
        chosen |= found
    return chosen


def _relative(workspace: str, path: str) -> str:
    full = os.path.normpath(os.path.join(workspace, path))
    if full == workspace:
        return "."
    if not full.startswith(workspace + "/"):
        raise UsageError(f"{path} lies outside the workspace {workspace}")
    return full.removeprefix(workspace + "/")


def _within(path: str, place: str) -> bool:
    return place in (".", path) or path.startswith(place + "/")


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


def _with_needs(by_path: dict[str, Change], chosen: set[str]) -> set[str]:
    below: dict[str, list[str]] = {}  # what goes when a directory goes
    links: dict[str, list[str]] = {}
    for path, item in by_path.items():
        gone = path if item.did is Did.DELETED else item.renamed_from
        for parent in parents(gone) if gone else ():
            below.setdefault(parent, []).append(path)
        if item.hard_link_of in by_path:
            links.setdefault(item.hard_link_of, [item.hard_link_of]).append(path)
    wanted: set[str] = set()
    pending = list(chosen)
    while pending:
        path = pending.pop()
        if path in wanted:
            continue
        wanted.add(path)
        item = by_path[path]
        for parent in parents(path) if item.did is not Did.DELETED else ():
            above = by_path.get(parent)
            if above is not None and (above.did is Did.CREATED or replaces_kind(above)):
                pending.append(parent)
        if was_directory(item) and (item.did is Did.DELETED or replaces_kind(item)):
            pending += below.get(path, [])
        pending += links.get(item.hard_link_of or path, [])
    return wanted


def _held(
    by_path: dict[str, Change], wanted: set[str], reasons: Mapping[str, str]
) -> dict[str, str]:
    why = {path: reasons[path] for path in wanted if path in reasons}
    if not why:
        return why
    for path in wanted - set(why):
        item = by_path[path]
        # Nothing can lie in a directory that is not made.
        for parent in parents(path):
            if parent in why and is_directory(by_path[parent]) and item.did is not Did.DELETED:
                why[path] = why[parent]
    stay = {parent for path in why for parent in _left_standing(by_path[path])}
    for path in wanted & stay:
        item = by_path[path]
        if was_directory(item) and (item.did is Did.DELETED or replaces_kind(item)):
            why.setdefault(path, "something protected stays in it")
    return why


def _left_standing(item: Change) -> Iterator[str]:
    """The directories that cannot go while what this change would have removed stays."""
    if item.did is Did.DELETED:
        yield from parents(item.path)
    elif item.renamed_from:
        yield from parents(item.renamed_from)
    elif item.before is not None:
        yield from parents(item.path)
