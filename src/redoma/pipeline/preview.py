"""`Preview`: what a command would change, to be looked at, applied or let go."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from redoma.model.change import Applied, Changes
    from redoma.model.result import Result
    from redoma.pipeline.dry_run import DryRunReport
    from redoma.pipeline.sandbox import Sandbox


class Preview:
    """One command's run with its writes held; as a context manager, let go unless applied."""

    __module__ = "redoma"

    def __init__(self, found: DryRunReport, sandbox: Sandbox) -> None:
        self.found = found
        self._sandbox = sandbox
        self._open = found.changes.held

    @property
    def changes(self) -> Changes:
        """Every path that changed, before and after."""
        return self.found.changes

    @property
    def result(self) -> Result:
        """How the command ended, as a run's result."""
        return self.found.result

    @property
    def id(self) -> str:
        """The name by which `redoma apply` and `redoma discard` find it too."""
        return self.changes.id

    def diff(self) -> str:
        """The changes as one unified diff, as `git apply` takes it."""
        from redoma.pipeline.diffs import unified

        return unified(self.changes)

    def apply(
        self,
        paths: Iterable[str] | None = None,
        *,
        allow_write: Iterable[str] = (),
        no_undo: bool = False,
    ) -> Applied:
        """Makes the changes real, all of them or those at or below `paths`.

        Where the command itself would have to be confirmed, this has to be: Declined otherwise.
        With `no_undo` nothing is kept to undo it; without, NoRoomForUndo where that cannot be.
        """
        if not self.changes.held:
            from redoma.model.change import Applied

            return Applied(id=self.id)
        applied = self._sandbox.apply(self.id, paths, allow_write=allow_write, no_undo=no_undo)
        if applied.changes:
            self._open = False
        return applied

    def discard(self) -> None:
        """Lets the changes go; once is enough."""
        if self._open:
            self._open = False
            self._sandbox.discard(self.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    def __repr__(self) -> str:
        return f"Preview(id={self.id!r}, {len(self.changes.items)} changes)"
