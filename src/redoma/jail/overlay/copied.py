"""Compares a workspace with the copy of it that a command worked in, the whole of both."""

from __future__ import annotations

import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

    from redoma.jail.overlay.compare import Comparison


class Copied:
    """A walk over both sides at once.

    What the command did not touch has a change time from before the run, which nobody can set: it
    is not read again, and what someone else did to its original meanwhile is no change of the run.
    """

    def __init__(self, comparison: Comparison) -> None:
        self._found = comparison
        # With each directory, whether it could have been moved to where it is.
        self._pending: list[tuple[str, bool]] = []

    def read(self) -> None:
        """Every difference that the run made, in no order."""
        self._found.root()
        self._pending.append(("", False))
        while self._pending:
            path, moved = self._pending.pop()
            self._directory(path, moved=moved)

    def _directory(self, path: str, *, moved: bool) -> None:
        found = self._found
        was = found.lower.status(path)
        before = found.lower.names(path) if was is not None and stat.S_ISDIR(was.st_mode) else []
        after = found.upper.names(path)
        for name in after:
            entry = f"{path}/{name}" if path else name
            now = found.upper.status(entry)
            assert now is not None
            self._entry(entry, found.lower.status(entry) if before else None, now, moved=moved)
        here = frozenset(after)
        for name in before:
            entry = f"{path}/{name}" if path else name
            if name not in here:
                gone = found.lower.status(entry)
                if gone is not None and not self._appeared(gone):
                    found.deleted(entry, gone)

    def _entry(
        self, path: str, was: os.stat_result | None, now: os.stat_result, *, moved: bool
    ) -> None:
        found = self._found
        untouched = now.st_ctime_ns < found.began_ns and not moved
        if stat.S_ISDIR(now.st_mode):
            # What lies in a directory that was moved is not touched, and yet elsewhere.
            self._pending.append((path, not untouched))
        if untouched:
            return
        if was is None:
            found.created(path, now)
            return
        if stat.S_ISDIR(was.st_mode) and not stat.S_ISDIR(now.st_mode):
            found.deleted_below(path)
        found.both(path, was, now)

    def _appeared(self, status: os.stat_result) -> bool:
        """Whether something is only there since the run began, or was never copied."""
        device = stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)
        return device or status.st_ctime_ns > self._found.began_ns
