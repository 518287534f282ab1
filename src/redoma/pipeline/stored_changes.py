"""The door to held changes, for every face: apply, discard, undo, look back, make room."""

from __future__ import annotations

import os
from contextlib import suppress

from redoma.jail.overlay import transaction_store
from redoma.jail.overlay.apply import apply as apply_held
from redoma.jail.overlay.locks import in_progress, recover, settled
from redoma.jail.overlay.retention import (
    RetentionBounds,
    collect,
    is_due,
    make_due,
    remove_stored_overlay,
    retire,
)
from redoma.jail.overlay.undo import last_applied
from redoma.jail.overlay.undo import undo as undo_applied
from redoma.model.errors import ChangeError, PreviewGone, UsageError
from redoma.model.transaction import Applied, Standing
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from redoma.model.change import Changes
    from redoma.model.transaction import Freed, HistoryEntry, Undone

__all__ = [
    "RetentionBounds",
    "applied_after_all",
    "apply",
    "collect_garbage",
    "discard",
    "history",
    "last_applied",
    "layer_of",
    "load",
    "previews",
    "recover",
    "resolve",
    "undo",
]

_CAN_BE_APPLIED = frozenset({Standing.HELD, Standing.UNDONE})


def resolve(prefix: str) -> str:
    """The whole name of the one transaction that begins so; what a crash left is mended first."""
    recover()
    return transaction_store.resolve(prefix)


def load(name: str) -> Changes:
    """The changes of a transaction; PreviewGone where they are no more."""
    return transaction_store.load(resolve(name))


def layer_of(name: str) -> str:
    """The directory where the changed files of a transaction lie until they are applied."""
    whole = resolve(name)
    return transaction_store.overlay_of(whole, transaction_store.read_entry(whole)).upper


def apply(
    name: str,
    paths: Iterable[str] | None = None,
    *,
    contents: Mapping[str, bytes] | None = None,
    allow_write: Iterable[str] = (),
    undo: bool = True,
    names: tuple[str, ...] = (),
) -> Applied:
    """Applies all changes of a transaction, or those at or below `paths`; whole or not at all.

    Without `undo` nothing is kept of what is replaced: it is applied for good. `names` are those
    that a policy protects.
    """
    if paths is not None and not undo:
        raise UsageError(
            "what cannot be undone is applied whole, and not in part", hint="leave out the paths"
        )
    allowed = tuple(os.path.abspath(path) for path in allow_write)
    applied = apply_held(
        resolve(name), paths, contents=contents, allowed=allowed, undo=undo, names=names
    )
    with suppress(KeyboardInterrupt):  # it is applied: only the making of room is stopped
        if is_due():
            collect(wait=False)
    if applied.kept > RetentionBounds().bytes:
        make_due()
    return applied


def applied_after_all(name: str) -> Applied | None:
    """What was applied, where whoever applied it was stopped when it was done; else None."""
    entry = transaction_store.read_entry(name).shown
    if entry.standing not in (Standing.APPLIED, Standing.FINAL):
        return None
    note = "stopped when everything was applied"
    undoable = entry.standing is Standing.APPLIED
    return Applied(
        id=name, changes=transaction_store.load(name).items, notes=(note,), undoable=undoable
    )


def discard(name: str) -> None:
    """Lets go of what a transaction holds; the workspace is not touched."""
    whole = resolve(name)
    with settled(transaction_store.read_entry(whole)):
        entry = transaction_store.read_entry(whole)
        refuse_discard(entry.shown)
        retire(entry, Standing.DISCARDED)
    remove_stored_overlay(whole)


def refuse_discard(entry: HistoryEntry) -> None:
    """An error where a transaction holds nothing that could be let go."""
    if entry.standing is Standing.APPLIED:
        raise ChangeError(
            f"{entry.id} is applied: discarding it would only keep it from being undone",
            hint=f"redoma undo {entry.id}",
        )
    if entry.standing not in _CAN_BE_APPLIED and entry.standing is not Standing.INTERRUPTED:
        raise PreviewGone(f"{entry.id} is {entry.standing.value} already", hint="redoma history")


def undo(name: str | None = None, *, workspace: str = "") -> Undone:
    """Takes back a transaction that was applied; without a name, the last one."""
    recover()
    return undo_applied(resolve(name) if name else last_applied(workspace))


def history(workspace: str = "") -> tuple[HistoryEntry, ...]:
    """Every transaction that is remembered, the newest first; of one workspace, or of all."""
    recover()
    busy = in_progress()
    return tuple(
        replace(entry.shown, standing=Standing.IN_PROGRESS) if entry.id in busy else entry.shown
        for entry in transaction_store.entries()
        if workspace in ("", entry.shown.workspace)
    )


def previews() -> tuple[str, ...]:
    """The names of transactions that can be applied or discarded, the newest first."""
    return tuple(entry.id for entry in history() if entry.standing in _CAN_BE_APPLIED)


def collect_garbage(bounds: RetentionBounds | None = None, *, only_tell: bool = False) -> Freed:
    """Lets go of what is past the bounds of age, size and count, the oldest first."""
    return collect(bounds, only_tell=only_tell)
