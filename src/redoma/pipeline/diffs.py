"""The differences that held changes make, for doors that show them and for choosing among them."""

from __future__ import annotations

from redoma.jail.overlay.diff import diff, diffs, split, with_hunks
from redoma.jail.overlay.patch import LARGEST_FILE, PatchPiece, pieces
from redoma.jail.overlay.sides import Sides
from redoma.model.errors import ApplyConflict, PreviewGone
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from redoma.model.change import Change, Changes, FileDiff, Hunk

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
