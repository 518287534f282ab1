"""Finds what other transactions changed while a command ran that did not see it.

A file's times do not tell: a rename brings a whole directory with the times that its files had
before, and what was removed has no time at all. So the journals are asked, which name every path.
"""

from __future__ import annotations

from redoma.jail.overlay import kept
from redoma.jail.overlay.choosing import goes, parents
from redoma.jail.overlay.journal import Book, Kind, Phase
from redoma.model.transaction import Standing
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from redoma.jail.overlay.journal import Journal
    from redoma.jail.overlay.kept import Entry
    from redoma.jail.overlay.roots import Roots
    from redoma.model.change import Change


class Touched(Value):
    """What one transaction touched, as paths of another's workspace."""

    paths: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()  # those that were taken away or replaced
    above: frozenset[str] = frozenset()  # the directories in which any of them lies
    unknown: bool = False  # its journal is gone


def others_since(entry: Entry) -> Iterator[tuple[str, Touched]]:
    """What other transactions touched in a workspace since a command began there, by their names.

    What was done and taken back counts only where the command may have seen it.
    """
    ended = entry.ended_ns or int(entry.shown.when * 1e9)
    for other in kept.entries_since(entry.began_ns):
        windows = other.windows
        if other.id == entry.id or not windows or not kept.overlap(entry, other):
            continue
        # Of many windows only the last are known: there may have been one before these.
        more = len(windows) >= kept.MOST_WINDOWS and windows[0].start >= entry.began_ns
        if more or any(w.start <= ended and w.end >= entry.began_ns for w in windows):
            yield other.id, touched_by(other, entry)
        elif other.shown.standing is Standing.APPLIED and windows[-1].start > ended:
            yield other.id, touched_by(other, entry, only=Phase.APPLIED)


def touched_by(other: Entry, entry: Entry, *, only: Phase | None = None) -> Touched:
    """What another transaction touched, seen from the workspace of this one."""
    book = Book(kept.directory(other.id))
    numbers = [n for n in book.numbers() if only is None or book.phase(n) is only]
    if not numbers and not other.shown.standing.holds:
        return Touched(unknown=True)
    outer, inner = f"{entry.shown.workspace}/", f"{other.shown.workspace}/"
    if other.root == entry.root:
        inner = outer
    paths: set[str] = set()
    removed: set[str] = set()
    for number in numbers:
        journal = book.read(number)
        paths.update(_seen(paths_of(journal), inner, outer))
        gone = (s.path for s in journal.steps if s.kind in (Kind.TAKE, Kind.REMOVE, Kind.SWAP))
        removed.update(_seen(gone, inner, outer))
    return Touched(
        paths=frozenset(paths), removed=frozenset(removed), above=frozenset(_above(paths))
    )


def paths_of(journal: Journal) -> set[str]:
    """Every path that an apply changes, those included that come and go with a directory."""
    return {
        *journal.paths,
        *(step.path for step in journal.steps),
        *(mark.path for mark in journal.placed),
    }


def _seen(paths: Iterable[str], inner: str, outer: str) -> Iterator[str]:
    """Paths of one workspace as paths of the other; what lies outside of it is left out."""
    if inner == outer:
        yield from paths
        return
    for path in paths:
        full = inner.rstrip("/") if path == "." else inner + path
        if full.startswith(outer):
            yield full.removeprefix(outer)
        elif f"{full}/" == outer or outer.startswith(f"{full}/"):
            yield "."


def _above(paths: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for path in paths:
        for parent in parents(path):
            if parent in found:
                break
            found.add(parent)
    return found


def changed_in(touched: Touched, removed: Roots, item: Change) -> str:
    """The path of a change at which another transaction was at work too; empty where at none.

    `removed` are the paths that it took away or replaced.
    """
    for path in (item.path, item.renamed_from):
        if not path:
            continue
        if touched.unknown or path in touched.paths:
            return path
        if path in touched.above and goes(item):
            return path
        if removed.around(path):
            return path
    return ""
