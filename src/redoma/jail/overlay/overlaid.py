"""Reads the directory in which the kernel put what was written over a workspace."""

from __future__ import annotations

import stat

from redoma.jail.overlay.marks import is_opaque
from redoma.model.change import Change, Did
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from redoma.jail.overlay.compare import Comparison

# What the kernel shows of the workspace below a directory of the layer.
_MERGED = "merged"  # what the layer does not name is as it was
_HIDDEN = "hidden"  # nothing: the directory was replaced, but there was one
_NOTHING = "nothing"  # there was no directory here


class Overlaid:
    """A walk over one layer."""

    def __init__(self, comparison: Comparison) -> None:
        self._found = comparison
        self._pending: list[tuple[str, str]] = []
        self._replaced: list[str] = []

    def read(self) -> None:
        """Every difference that the layer makes, in no order."""
        self._found.root()
        self._pending.append(("", _MERGED))
        while self._pending:
            self._directory(*self._pending.pop())
        self._mark_replaced()

    def _directory(self, path: str, below: str) -> None:
        found = self._found
        names = found.upper.names(path)
        if below == _HIDDEN:
            seen = frozenset(names)
            for name in found.lower.names(path):
                gone = f"{path}/{name}"
                if name not in seen and (was := found.lower.status(gone)) is not None:
                    found.deleted(gone, was)
        for name in names:
            entry = f"{path}/{name}" if path else name
            now = found.upper.status(entry)
            assert now is not None
            was = None if below == _NOTHING else found.lower.status(entry)
            self._entry(entry, was, now, below)

    def _entry(
        self, path: str, was: os.stat_result | None, now: os.stat_result, below: str
    ) -> None:
        found = self._found
        if _is_whiteout(now):
            if was is not None:
                found.deleted(path, was)
            return
        if not stat.S_ISDIR(now.st_mode):
            if was is None:
                found.created(path, now)
                return
            if stat.S_ISDIR(was.st_mode):
                found.deleted_below(path)
            found.both(path, was, now)
            return
        if was is None or not stat.S_ISDIR(was.st_mode):
            if was is None:
                found.created(path, now)
            else:
                found.both(path, was, now)
            self._pending.append((path, _NOTHING))
            return
        found.both(path, was, now)
        if below == _HIDDEN or is_opaque(found.upper.place(path)):
            if below != _HIDDEN:
                self._replaced.append(path)
            self._pending.append((path, _HIDDEN))
        else:
            self._pending.append((path, _MERGED))

    def _mark_replaced(self) -> None:
        """Says of a directory that another stands in its place, if any difference shows that."""
        if not self._replaced:
            return
        items = self._found.items
        paths = {item.path: place for place, item in enumerate(items)}
        touched = _above(paths)
        for path in self._replaced:
            if path in paths:
                at = paths[path]
                items[at] = replace(items[at], did=Did.MODIFIED, replaces_tree=True)
            elif path in touched:
                was, now = self._found.lower.status(path), self._found.upper.status(path)
                assert was is not None
                assert now is not None
                items.append(
                    Change(
                        path=path,
                        did=Did.MODIFIED,
                        before=self._found.lower.state(path, was),
                        after=self._found.upper.state(path, now),
                        replaces_tree=True,
                    )
                )


def _is_whiteout(status: os.stat_result) -> bool:
    """Whether an entry stands for one that was deleted.

    Attack: a command makes such a device itself. The kernel lets anyone, but never through an
    overlay.
    """
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def _above(paths: Iterable[str]) -> set[str]:
    """Every directory in which one of these lies, however deep."""
    found: set[str] = set()
    for path in paths:
        above = path.rpartition("/")[0]
        while above and above not in found:
            found.add(above)
            above = above.rpartition("/")[0]
    return found
