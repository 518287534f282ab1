"""`Preview`: what a command would change, to be looked at, applied or let go; its differences."""

from __future__ import annotations

from redoma.jail.overlay.diff import diff, diffs, split, with_hunks
from redoma.jail.overlay.patch import LARGEST_FILE, PatchPiece, pieces
from redoma.jail.overlay.sides import Sides
from redoma.model.errors import ApplyConflict, PreviewGone
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self

    from redoma.model.change import Applied, Change, Changes, FileDiff, Hunk
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


__all__ = ["PatchPiece", "chosen_content", "diff_of", "file_diffs", "patch", "unified"]


def file_diffs(changes: Changes, items: Iterable[Change] | None = None) -> Iterator[FileDiff]:
    """What changed inside each file, read as it is asked for."""
    return diffs(changes.items if items is None else items, sides_of(changes))


def diff_of(changes: Changes, change: Change) -> FileDiff:
    """What changed inside one file, however large it is."""
    return diff(change, sides_of(changes), largest=LARGEST_FILE)


def patch(changes: Changes) -> Iterator[PatchPiece]:
    """The changes as a patch for `git apply`, file by file."""
    return pieces(changes.items, sides_of(changes))


def unified(changes: Changes) -> str:
    """The whole patch as text; bytes that are no UTF-8 are replaced."""
    return b"".join(piece.patch for piece in patch(changes)).decode("utf-8", "replace")


def chosen_content(changes: Changes, found: FileDiff, hunks: Iterable[Hunk]) -> bytes:
    """What a file holds when only these of its hunks are applied.

    Attack: the file changes between the question and the answer; so what each hunk leaves and
    takes away must stand where it stood, or nothing is applied.
    """
    before = sides_of(changes).before(found.change, LARGEST_FILE)
    made = None
    if before.data is not None and not before.stale:
        made = with_hunks(split(before.data), hunks)
    if made is None:
        raise ApplyConflict(
            Message("{path} has changed since it was previewed", path=found.change.path),
            paths=(found.change.path,),
            hint="preview the command again",
        )
    return b"".join(made)


def sides_of(changes: Changes) -> Sides:
    """The workspace and the overlay of changes that are still held."""
    from redoma.jail.overlay.store import find_overlay

    overlay = find_overlay(changes.id)
    if overlay is None:
        raise PreviewGone("{id} is not held any more", id=changes.id, hint="redoma history")
    return Sides(changes.workspace, overlay.upper)
