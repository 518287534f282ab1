"""What a run changed, read from its overlay: the cost grows with the changes, not with the tree.

Finds what was moved: something that is gone, and something new with the same content.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_left

from redoma.base import own_directories
from redoma.jail.overlay.comparison import Comparison, CopyWalk, LimitExceeded, OverlayWalk
from redoma.jail.overlay.failure import failure_text
from redoma.jail.overlay.spool import CHANGES, Spooler
from redoma.jail.overlay.store import Overlay
from redoma.jail.overlay.tree_reader import (
    ReadBudget,
    ReadBudgetSpent,
    Tree,
    content_digest,
    same_content,
)
from redoma.model.change import Change, Changes, Did, FileKind
from redoma.model.errors import ChangeError
from redoma.model.message import Message
from redoma.model.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    from redoma.model.change import FileState
    from redoma.model.grant import Limits

    Signature: TypeAlias = tuple[object, ...]

# How much is read at most, and of how many files, to find out where something came from.
_MOST_READ = 2 << 30
_MOST_FILES = 20_000
_MOST_STEPS = 2_000_000
# How many paths that came or went are looked at: all of them are in memory for that.
_MOST_SEARCHED = 40_000
_UNSURE = "there is too much to look for everything that was renamed: some is shown as new and gone"


class Renames(Value):
    """What was found: the renames by their new paths, and which changes they stand for."""

    found: dict[str, Change] = {}  # noqa: RUF012 — never written to
    created: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()


def find(items: Iterable[Change], count: int, lower: Tree, upper: Tree) -> Renames:
    """The renames among what was created and deleted, `count` paths in all."""
    if count > _MOST_SEARCHED:
        return Renames(warnings=(_UNSURE,))
    search = _RenameSearch(items, lower, upper)
    created, deleted = frozenset(search.created), frozenset(search.deleted)
    warnings: tuple[str, ...] = ()
    try:
        search.directories()
        search.files()
    except ReadBudgetSpent:
        warnings = (_UNSURE,)
    return Renames(
        found={item.path: item for item in search.found},
        created=created.difference(search.created),
        deleted=deleted.difference(search.deleted),
        warnings=warnings,
    )


class _RenameSearch:
    """One look for what belongs together."""

    def __init__(self, items: Iterable[Change], lower: Tree, upper: Tree) -> None:
        self._lower = lower
        self._upper = upper
        self._budget = ReadBudget(_MOST_READ)
        self._steps = ReadBudget(_MOST_STEPS)
        self.created: dict[str, Change] = {}
        self.deleted: dict[str, Change] = {}
        for item in items:
            if item.did is Did.CREATED:
                self.created[item.path] = item
            elif item.did is Did.DELETED:
                self.deleted[item.path] = item
        self.found: list[Change] = []
        self._sorted = sorted(self.created)

    def directories(self) -> None:
        """Directories that moved with all that is in them, the outermost first."""
        gone = _signatures(self.deleted, "before")
        if not gone:
            return
        known: dict[Signature, list[str]] = {}
        for path, signature in gone.items():
            known.setdefault(signature, []).append(path)
        for path, signature in sorted(_signatures(self.created, "after").items()):
            if path not in self.created:
                continue  # moved along with one above it
            candidates = [old for old in known.get(signature, ()) if old in self.deleted]
            for old in _likeliest(candidates, path):
                if self._same_below(old, path):
                    self._take_directory(old, path)
                    break

    def _same_below(self, old: str, new: str) -> bool:
        for path in self._created_below(new):
            self._steps.spend(1)  # Attack: trees in each other that are nearly the same
            state = self.created[path].after
            if old + path[len(new) :] not in self.deleted:
                return False
            if state is None or state.kind is not FileKind.FILE or not state.size:
                continue
            if not self._same(old + path[len(new) :], path):
                return False
        return True

    def _created_below(self, path: str) -> list[str]:
        first = bisect_left(self._sorted, f"{path}/")
        last = bisect_left(self._sorted, f"{path}0")  # the letter after the slash
        return [below for below in self._sorted[first:last] if below in self.created]

    def _take_directory(self, old: str, new: str) -> None:
        before, after = self.deleted.pop(old), self.created.pop(new)
        below = self._created_below(new)
        for path in below:
            del self.created[path]
            del self.deleted[old + path[len(new) :]]
        self.found.append(_renamed(before, after, moved_along=len(below)))

    def files(self) -> None:
        """Single files and links that moved."""
        gone: dict[Signature, list[str]] = {}
        for path, item in self.deleted.items():
            if (key := _kind_of_content(item.before)) is not None:
                gone.setdefault(key, []).append(path)
        looked = 0
        known: dict[Signature, dict[bytes, list[str]]] = {}
        for path, item in sorted(self.created.items()):
            key = _kind_of_content(item.after)
            if key is None or key not in gone or item.hard_link_of:
                continue
            if key not in known:
                looked += len(gone[key])
                known[key] = self._by_content(gone[key], self._lower)
            looked += 1
            if looked > _MOST_FILES:
                raise ReadBudgetSpent
            content = self._content(path, self._upper)
            candidates = [old for old in known[key].get(content, ()) if old in self.deleted]
            for old in _likeliest(candidates, path)[:1]:
                self.found.append(_renamed(self.deleted.pop(old), self.created.pop(path)))

    def _by_content(self, paths: list[str], tree: Tree) -> dict[bytes, list[str]]:
        found: dict[bytes, list[str]] = {}
        for path in paths[:_MOST_FILES]:
            found.setdefault(self._content(path, tree), []).append(path)
        return found

    def _content(self, path: str, tree: Tree) -> bytes:
        """A name for the content; for what cannot be read, one that nothing else has."""
        item = self.created.get(path) or self.deleted[path]
        state = item.after or item.before
        if state is not None and state.kind is FileKind.SYMLINK:
            return os.fsencode(state.target)
        try:
            fd = tree.opened(path)
            try:
                return content_digest(fd, self._budget)
            finally:
                os.close(fd)
        except OSError:
            return f"{tree.root}/{path}".encode(errors="surrogateescape")

    def _same(self, old: str, new: str) -> bool:
        opened: list[int] = []
        try:
            opened.append(self._lower.opened(old))
            opened.append(self._upper.opened(new))
            return same_content(opened[0], opened[1], self._budget)
        except OSError:
            return False
        finally:
            for fd in opened:
                os.close(fd)


def _renamed(before: Change, after: Change, moved_along: int = 0) -> Change:
    return replace(
        after,
        did=Did.RENAMED,
        before=before.before,
        renamed_from=before.path,
        moved_along=moved_along,
    )


def _likeliest(candidates: list[str], path: str) -> list[str]:
    """Where something most likely came from first: the same name, then the same directory."""
    parent, _, name = path.rpartition("/")

    def distance(old: str) -> tuple[bool, bool, str]:
        above, _, last = old.rpartition("/")
        return last != name, above != parent, old

    return sorted(candidates, key=distance)


def _kind_of_content(state: FileState | None) -> Signature | None:
    """What two files have in common that could be one; nothing for what has no content."""
    if state is None or state.kind not in (FileKind.FILE, FileKind.SYMLINK) or not state.size:
        return None
    return state.kind, state.size


def _signatures(items: dict[str, Change], side: str) -> dict[str, Signature]:
    """For each directory that has files below: what it looks like without reading them."""
    below: dict[str, list[tuple[object, ...]]] = {}
    found: dict[str, Signature] = {}
    for path in sorted(items, key=lambda path: path.count("/"), reverse=True):
        state: FileState = getattr(items[path], side)
        parent, _, name = path.rpartition("/")
        inside: object = None
        if state.kind is FileKind.DIRECTORY:
            entries = tuple(sorted(below.pop(path, []), key=lambda entry: str(entry[0])))
            inside = hash(entries)
            if entries:
                found[path] = (len(entries), inside)
        elif items[path].hard_link_of or state.links > 1:
            inside = path  # shares a file with something else: looked at one by one
        size, time = (0, 0)
        if state.kind is not FileKind.DIRECTORY:
            size, time = state.size, state.mtime_ns
        own = (state.kind, state.mode, state.uid, state.gid, state.target, state.xattrs)
        below.setdefault(parent, []).append((name, own, size, time, inside))
    return found


_MANY_SHOWN = 3
_TOO_MUCH = {
    "changes": "the command changed more than {most} paths: they are held, and were not read",
    "depth": "the command worked more than {most} directories deep: all is held, and was not read",
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
            warnings=(*overlay.notes, Message(_TOO_MUCH[more.limit], most=more.most)),
            unread=more.limit,
        )
    except OSError as error:
        raise ChangeError(
            "the changes of {id} cannot be read: {why}",
            id=overlay.id,
            why=failure_text(error),
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
    from redoma.jail.overlay.beneath import grants_more, without_privileges

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
            lost = Message(
                "{paths} loses its set-id bit, since its content changed", paths=_shown(revoked)
            )
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
    more = (
        Message(" and {count} more", count=len(paths) - _MANY_SHOWN)
        if len(paths) > _MANY_SHOWN
        else ""
    )
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
    return [
        Message(
            "only one name changes of a file that has several (hard links): {paths}",
            paths=_shown(broken),
        )
    ]
