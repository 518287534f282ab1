"""What changed inside each file, compared on the layer; bounded in size and in work."""

from __future__ import annotations

from redoma.jail.overlay.diff_lines import hunks, split
from redoma.jail.overlay.diff_sides import Sides
from redoma.jail.overlay.diff_text import comparable, encoding_of, same_family
from redoma.model.change import Did, FileKind
from redoma.model.diff import FileDiff, Shows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from redoma.jail.overlay.diff_sides import Content
    from redoma.model.change import Change, FileState

LARGEST_FILE = 1 << 20
MOST_ALTOGETHER = 16 << 20


def diffs(changes: Iterable[Change], sides: Sides) -> Iterator[FileDiff]:
    """One for each change, in order; each file is read when its turn comes."""
    left = MOST_ALTOGETHER
    for change in changes:
        if change.did is Did.ATTRIBUTES or not _has_content(change):
            yield FileDiff(change=change, shows=Shows.NOTHING)
            continue
        if left <= 0:
            why = f"not compared: more than {MOST_ALTOGETHER >> 20} MB changed altogether"
            yield FileDiff(change=change, shows=Shows.LARGE, why=why)
            continue
        found = diff(change, sides, largest=LARGEST_FILE)
        if found.shows is not Shows.LARGE:
            left -= _size(change.before) + _size(change.after)
        yield found


def diff(change: Change, sides: Sides, *, largest: int) -> FileDiff:
    """The content of one change, compared."""
    before, after = sides.before(change, largest), sides.after(change, largest)
    stale = before.stale
    if before.data is None or after.data is None:
        short = before if before.data is None else after
        shows = Shows.LARGE if short.too_large else Shows.UNREADABLE
        return FileDiff(change=change, shows=shows, why=short.why, stale=stale)
    if before.data == after.data:
        return FileDiff(change=change, shows=Shows.NOTHING, stale=stale)
    return _compared(change, before, after)


def _compared(change: Change, before: Content, after: Content) -> FileDiff:
    old, new = before.data or b"", after.data or b""
    encoding = _common_encoding(change, old, new)
    if not encoding:
        return FileDiff(change=change, shows=Shows.BINARY, stale=before.stale)
    found = hunks(split(comparable(old, encoding)), split(comparable(new, encoding)))
    signs = [sign for hunk in found for sign, _ in hunk.lines]
    return FileDiff(
        change=change,
        shows=Shows.TEXT,
        hunks=tuple(found),
        encoding=encoding,
        why="" if found else "only the encoding changed",
        added=signs.count("+"),
        removed=signs.count("-"),
        stale=before.stale,
    )


def _common_encoding(change: Change, old: bytes, new: bytes) -> str:
    if not old or not new:
        # Created, emptied or deleted: one side decides.
        return encoding_of(old or new)
    kinds = {state.kind for state in (change.before, change.after) if state is not None}
    if len(kinds) > 1:
        return ""
    return same_family(encoding_of(old), encoding_of(new))


def _has_content(change: Change) -> bool:
    states = (change.before, change.after)
    return any(s is not None and s.kind in (FileKind.FILE, FileKind.SYMLINK) for s in states)


def _size(state: FileState | None) -> int:
    return state.size if state is not None else 0
