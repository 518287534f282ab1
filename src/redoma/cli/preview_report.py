"""What a preview found, for people: the tree, the differences, the calls, the numbers."""

from __future__ import annotations

import os
import sys

from redoma.cli.display import harmless
from redoma.cli.patch import shown
from redoma.cli.prose import screen
from redoma.cli.tree import MANY, counted, is_gits_own, summary, summed_up, tree
from redoma.i18n import phrased

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.cli.prose import Screen
    from redoma.model.change import Changes
    from redoma.pipeline.diffs import PatchPiece
    from redoma.pipeline.dry_run import DryRun

LINES_COUNTED = 2000  # beyond so many changes their lines are not counted for the tree


def report(found: DryRun, *, stat: bool) -> Iterator[str]:
    """The whole report, piece by piece, so that the first screen does not wait for the last."""
    on = screen(sys.stdout)
    yield from changes_report(found.changes, on, stat=stat)
    yield from _listed(phrased("would call"), found.network_calls)
    yield from _listed(phrased("database"), found.database_operations)
    if not found.changes.unread:  # a warning says why, and where they are
        yield f"{summary(found.changes.items)}\n"


def changes_report(changes: Changes, on: Screen, *, stat: bool) -> Iterator[str]:
    """The tree, and unless only numbers are wanted the differences."""
    from redoma.pipeline.diffs import file_diffs

    if not changes.items:
        return
    above = summed_up(changes.items)
    apart = [item for item in changes.items if not item.path.startswith(above)]
    few = len(apart) <= LINES_COUNTED
    diffs = {diff.change.path: diff for diff in file_diffs(changes, apart)} if few else {}
    yield tree(changes.items, on, diffs)
    yield "\n"
    if stat:
        return
    if few:
        yield from shown((d for path, d in diffs.items() if not is_gits_own(path)), on)
    left_out = sum(item.path not in diffs and not is_gits_own(item.path) for item in changes.items)
    if left_out:
        told = "(what is in {0} more paths is not shown: --patch has it)\n"
        yield phrased(told, counted(left_out))
    yield "\n"


def write_patch(changes: Changes, *, pager: bool = True) -> None:
    """The patch as bytes on standard output; what has no place in it on standard error.

    On a terminal it is for reading: nothing in it acts, and so it is not for applying.
    """
    from redoma.pipeline.diffs import patch

    left_out: list[PatchPiece] = []

    def parts() -> Iterator[bytes]:
        for piece in patch(changes) if changes.items else ():
            if piece.left_out:
                left_out.append(piece)
            yield piece.patch

    if os.isatty(1):
        from redoma.cli.pager import page

        page((readable(part) for part in parts()), wanted=pager)
    else:
        sys.stdout.flush()
        for part in parts():
            view = memoryview(part)
            while view:
                view = view[os.write(1, view) :]
    for piece in left_out[:MANY]:
        path, why = harmless(piece.path), harmless(phrased(piece.left_out))
        sys.stderr.write(phrased("not in the patch: {0}: {1}\n", path, why))
    if len(left_out) > MANY:
        sys.stderr.write(phrased("not in the patch: {0} more\n", len(left_out) - MANY))


def readable(patch: bytes) -> str:
    """A patch with everything that would act on a terminal shown as an escape."""
    return "".join(
        f"{harmless(line)}\n"
        for line in patch.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
    )


def _listed(what: str, lines: tuple[str, ...]) -> Iterator[str]:
    for line in lines:
        yield f"{what}: {harmless(phrased(line))}\n"
