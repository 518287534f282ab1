"""Reads the directory in which the kernel put what was written over a workspace."""

from __future__ import annotations

import stat

from redoma.base.paths import is_below
from redoma.jail.overlay.failure import at
from redoma.jail.overlay.marks import is_opaque
from redoma.model.change import Change, Did
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from redoma.jail.overlay.compare import Comparison

# What the kernel shows of the workspace below a directory of the layer.
_MERGED = "merged"  # what the layer does not name is as it was
_HIDDEN = "hidden"  # nothing: the directory was replaced, but there was one
_NOTHING = "nothing"  # there was no directory here


class Overlaid:
    """A walk over one layer."""

    def __init__(self, comparison: Comparison) -> None:
        self._found = comparison
        # Directories in whose place another stands, in the order of the tree.
        self.replaced: list[str] = []

    def read(self) -> None:
        """Every difference that the layer makes, in the order of the tree."""
        self._found.root()
        pending = [self._directory("", _MERGED)]
        while pending:
            for path, below in pending[-1]:
                pending.append(self._directory(path, below))
                self._found.enter(len(pending) - 1)
                break
            else:
                pending.pop()

    def _directory(self, path: str, below: str) -> Iterator[tuple[str, str]]:
        """Compares the entries of a directory; gives each directory when its turn has come."""
        found = self._found
        with at(path, "read for the preview"):
            here = found.upper.names(path)
            gone = found.lower.names(path) if below == _HIDDEN else []
        names = sorted({*here, *gone}) if gone else sorted(here)
        only_gone = frozenset(gone).difference(here)
        for name in names:
            entry = f"{path}/{name}" if path else name
            with at(entry, "read for the preview"):
                if name in only_gone:
                    was = found.lower.status(entry)
                    if was is not None:
                        found.deleted(entry, was)
                    continue
                now = found.upper.status(entry)
                assert now is not None
                was = None if below == _NOTHING else found.lower.status(entry)
                inside = self._entry(entry, was, now, below)
            if inside:
                yield entry, inside

    def _entry(self, path: str, was: os.stat_result | None, now: os.stat_result, below: str) -> str:
        """One entry; what the kernel shows below it, where it is a directory of the layer."""
        found = self._found
        if _is_whiteout(now):
            if was is not None:
                found.deleted(path, was)
            return ""
        if not stat.S_ISDIR(now.st_mode):
            if was is None:
                found.created(path, now)
                return ""
            found.both(path, was, now)
            if stat.S_ISDIR(was.st_mode):
                found.deleted_below(path)
            return ""
        if was is None or not stat.S_ISDIR(was.st_mode):
            if was is None:
                found.created(path, now)
            else:
                found.both(path, was, now)
            return _NOTHING
        found.both(path, was, now)
        if below == _HIDDEN or is_opaque(found.upper.place(path)):
            if below != _HIDDEN:
                self.replaced.append(path)
            return _HIDDEN
        return _MERGED

    def with_replaced(self, items: Iterable[Change]) -> Iterator[Change]:
        """The changes, saying where another directory stands in place of one, if any shows that."""
        from redoma.jail.overlay.roots import in_order

        waiting = iter(self.replaced)
        path = next(waiting, "")
        for item in items:
            found = item
            while path and in_order(path) <= in_order(item.path):
                if path == item.path:
                    found = replace(item, did=Did.MODIFIED, replaces_tree=True)
                elif is_below(item.path, path):
                    yield self._replaced_tree(path)
                path = next(waiting, "")
            yield found

    def _replaced_tree(self, path: str) -> Change:
        was, now = self._found.lower.status(path), self._found.upper.status(path)
        assert was is not None
        assert now is not None
        return Change(
            path=path,
            did=Did.MODIFIED,
            before=self._found.lower.state(path, was),
            after=self._found.upper.state(path, now),
            replaces_tree=True,
        )


def _is_whiteout(status: os.stat_result) -> bool:
    """Whether an entry stands for one that was deleted.

    Attack: a command makes such a device itself. The kernel lets anyone, but never through an
    overlay.
    """
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0
