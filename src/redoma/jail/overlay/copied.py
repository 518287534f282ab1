"""Compares a workspace with the copy of it that a command worked in, the whole of both."""

from __future__ import annotations

import stat

from redoma.jail.overlay.failure import at

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from redoma.jail.overlay.compare import Comparison


class Copied:
    """A walk over both sides at once.

    What the command did not touch has a change time from before the run, which nobody can set: it
    is not read again, and what someone else did to its original meanwhile is no change of the run.
    """

    def __init__(self, comparison: Comparison, mounts: frozenset[str] = frozenset()) -> None:
        self._found = comparison
        self._mounts = mounts  # read-only inside: nothing there is the run's

    def read(self) -> None:
        """Every difference that the run made, in the order of the tree."""
        self._found.root()
        pending = [self._directory("", moved=False)]
        while pending:
            for path, moved in pending[-1]:
                pending.append(self._directory(path, moved=moved))
                self._found.enter(len(pending) - 1)
                break
            else:
                pending.pop()

    def _directory(self, path: str, *, moved: bool) -> Iterator[tuple[str, bool]]:
        """Compares the entries of a directory; gives each directory when its turn has come.

        With each comes whether it could have been moved to where it is.
        """
        found = self._found
        with at(path, "read for the preview"):
            was = found.lower.status(path)
            before = found.lower.names(path) if was and stat.S_ISDIR(was.st_mode) else []
            after = frozenset(found.upper.names(path))
        for name in sorted(after.union(before)):
            entry = f"{path}/{name}" if path else name
            if entry in self._mounts:
                continue
            with at(entry, "read for the preview"):
                if name not in after:
                    gone = found.lower.status(entry)
                    if gone is not None and not self._appeared(gone):
                        found.deleted(entry, gone)
                    continue
                now = found.upper.status(entry)
                assert now is not None
                old = found.lower.status(entry) if before else None
                untouched = self._entry(entry, old, now, moved=moved)
            if stat.S_ISDIR(now.st_mode):
                # What lies in a directory that was moved is not touched, and yet elsewhere.
                yield entry, not untouched

    def _entry(
        self, path: str, was: os.stat_result | None, now: os.stat_result, *, moved: bool
    ) -> bool:
        found = self._found
        untouched = now.st_ctime_ns < found.began_ns and not moved
        if untouched:
            return True
        if was is None:
            found.created(path, now)
            return False
        found.both(path, was, now)
        if stat.S_ISDIR(was.st_mode) and not stat.S_ISDIR(now.st_mode):
            found.deleted_below(path)
        return False

    def _appeared(self, status: os.stat_result) -> bool:
        """Whether something is only there since the run began, or was never copied."""
        device = stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)
        return device or status.st_ctime_ns > self._found.began_ns
