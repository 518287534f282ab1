"""The door to held changes, for every face: apply, discard, undo, look back, make room."""

from __future__ import annotations

import os

from redoma.jail.overlay import kept
from redoma.jail.overlay.apply import apply as apply_held
from redoma.jail.overlay.collect import Bounds, collect, expire, is_due
from redoma.jail.overlay.lock import locked
from redoma.jail.overlay.recovery import recover
from redoma.jail.overlay.undo import last_applied
from redoma.jail.overlay.undo import undo as undo_applied
from redoma.model.errors import ChangeError, PreviewGone
from redoma.model.transaction import Standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from redoma.model.change import Changes
    from redoma.model.transaction import Applied, Freed, HistoryEntry, Undone

__all__ = [
    "Bounds",
    "apply",
    "collect_garbage",
    "discard",
    "history",
    "layer_of",
    "load",
    "previews",
    "recover",
    "resolve",
    "undo",
]

_CAN_BE_APPLIED = frozenset({Standing.HELD, Standing.UNDONE})


def resolve(prefix: str) -> str:
    """The whole name of the one transaction that begins so."""
    return kept.resolve(prefix)


def load(name: str) -> Changes:
    """The changes of a transaction; PreviewGone where they are no more."""
    return kept.load(resolve(name))


def layer_of(name: str) -> str:
    """The directory where the changed files of a transaction lie until they are applied."""
    whole = resolve(name)
    return kept.layer_of(whole, kept.read_entry(whole)).upper


def apply(
    name: str,
    paths: Iterable[str] | None = None,
    *,
    contents: Mapping[str, bytes] | None = None,
    allow_write: Iterable[str] = (),
) -> Applied:
    """Applies all changes of a transaction, or those at or below `paths`; whole or not at all."""
    allowed = tuple(os.path.abspath(path) for path in allow_write)
    applied = apply_held(resolve(name), paths, contents=contents, allowed=allowed)
    if is_due():
        collect()
    return applied


def discard(name: str) -> None:
    """Lets go of what a transaction holds; the workspace is not touched."""
    recover()
    whole = resolve(name)
    with locked():
        entry = kept.read_entry(whole)
        standing = entry.shown.standing
        if standing is Standing.APPLIED:
            raise ChangeError(
                f"{whole} is applied: discarding it would only keep it from being undone",
                hint=f"redoma undo {whole}",
            )
        if standing not in _CAN_BE_APPLIED and standing is not Standing.INTERRUPTED:
            raise PreviewGone(f"{whole} is {standing.value} already", hint="redoma history")
        expire(entry, Standing.DISCARDED)


def undo(name: str | None = None, *, workspace: str = "") -> Undone:
    """Takes back a transaction that was applied; without a name, the last one."""
    return undo_applied(resolve(name) if name else last_applied(workspace))


def history(workspace: str = "") -> tuple[HistoryEntry, ...]:
    """Every transaction that is remembered, the newest first; of one workspace, or of all."""
    return tuple(
        entry.shown for entry in kept.entries() if workspace in ("", entry.shown.workspace)
    )


def previews() -> tuple[str, ...]:
    """The names of transactions that can be applied or discarded, the newest first."""
    return tuple(entry.id for entry in history() if entry.standing in _CAN_BE_APPLIED)


def collect_garbage(bounds: Bounds | None = None, *, only_tell: bool = False) -> Freed:
    """Lets go of what is past the bounds of age, size and count, the oldest first."""
    return collect(bounds, only_tell=only_tell)
