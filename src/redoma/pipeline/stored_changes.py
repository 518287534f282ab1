"""Stored changes of runs and previews: keep, apply, discard, undo, look back, make room.

A run's changes lie in its overlay until they are applied or discarded, and are known by their
name to every process of this user. `redoma.pipeline.transactions` confirms and audits.
"""

from __future__ import annotations

import os
from contextlib import suppress

from redoma.base.paths import is_within
from redoma.jail.overlay import transaction_store
from redoma.jail.overlay.apply import apply as apply_held
from redoma.jail.overlay.locks import in_progress, recover, settled
from redoma.jail.overlay.store import find_overlay
from redoma.jail.overlay.undo import (
    RetentionBounds,
    collect,
    is_due,
    last_applied,
    make_due,
    remove_stored_overlay,
    retire,
)
from redoma.jail.overlay.undo import undo as undo_applied
from redoma.jail.protect.survey import Treat, obeyed
from redoma.model.change import Applied, Did, FileKind, Standing, Undone
from redoma.model.errors import ChangeError, PreviewGone, UsageError
from redoma.model.message import Message
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from redoma.model.change import Changes, Freed, HistoryEntry
    from redoma.model.grant import Grant

__all__ = [
    "RetentionBounds",
    "apply",
    "collect_garbage",
    "discard",
    "history",
    "last_applied",
    "load",
    "overlay_of",
    "previews",
    "recover",
    "resolve",
    "store",
    "undo",
]

LET_GO = "stopped: the workspace is as it was, and what the command wrote was let go"
_CAN_BE_APPLIED = frozenset({Standing.HELD, Standing.UNDONE})


def resolve(prefix: str) -> str:
    """The whole name of the one transaction that begins so; what a crash left is mended first."""
    recover()
    return transaction_store.resolve(prefix)


def typed_name(name: str) -> str:
    """The shortest beginning of a transaction's name that means it and no other, of four letters
    at least."""
    others = [other for other in os.listdir(transaction_store.root()) if other != name]
    length = 4
    while length < len(name) and any(other.startswith(name[:length]) for other in others):
        length += 1
    return name[:length]


def load(name: str) -> Changes:
    """The changes of a transaction; PreviewGone where they are no more."""
    return transaction_store.load(resolve(name))


def overlay_of(name: str) -> str:
    """The directory where the changed files of a transaction lie until they are applied."""
    whole = resolve(name)
    return transaction_store.overlay_of(whole, transaction_store.read_entry(whole)).upper


def store(changes: Changes, command: str, asks: tuple[str, ...] = ()) -> None:
    """Keeps what a run left in its overlay, so that another process can apply it later too.

    `command` has no secrets any more; `asks` is why applying it has to be confirmed.
    """
    overlay = find_overlay(changes.id)
    if overlay is None:
        return
    try:
        transaction_store.store_changes(overlay, changes, command=command, asks=asks)
    except KeyboardInterrupt as stop:
        stop.args = (LET_GO,)
        remove_stored_overlay(changes.id)
        raise


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
    whole = resolve(name)
    allowed = tuple(os.path.abspath(path) for path in allow_write)
    before = transaction_store.read_entry(whole).active
    try:
        applied = apply_held(
            whole, paths, contents=contents, allowed=allowed, undo=undo, names=names
        )
    except KeyboardInterrupt:
        made = _applied_after_all(whole)
        if made is None or transaction_store.read_entry(whole).active == before:
            raise
        return made
    with suppress(KeyboardInterrupt):  # it is applied: only the making of room is stopped
        if is_due():
            collect(wait=False)
    if applied.kept > RetentionBounds().bytes:
        make_due()
    return applied


def _applied_after_all(name: str) -> Applied | None:
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
    try:
        with settled(transaction_store.read_entry(whole)):
            entry = transaction_store.read_entry(whole)
            refuse_discard(entry.shown)
            retire(entry, Standing.DISCARDED)
        remove_stored_overlay(whole)
    except KeyboardInterrupt as stop:
        if not transaction_store.read_entry(whole).shown.standing.holds:
            stop.args = (LET_GO,)  # its overlay is removed by who makes room next
        raise


def refuse_discard(entry: HistoryEntry) -> None:
    """An error where a transaction holds nothing that could be let go."""
    if entry.standing is Standing.APPLIED:
        raise ChangeError(
            "{id} is applied: discarding it would only keep it from being undone",
            id=entry.id,
            hint=f"redoma undo {entry.id}",
        )
    if entry.standing not in _CAN_BE_APPLIED and entry.standing is not Standing.INTERRUPTED:
        raise PreviewGone(
            "{id} is {standing} already",
            id=entry.id,
            standing=Message(entry.standing.value),
            hint="redoma history",
        )


def undo(name: str | None = None, *, workspace: str = "") -> Undone:
    """Takes back a transaction that was applied; without a name, the last one."""
    recover()
    whole = resolve(name) if name else last_applied(workspace)
    before = transaction_store.read_entry(whole).active
    try:
        return undo_applied(whole)
    except KeyboardInterrupt:
        if transaction_store.read_entry(whole).active == before:
            raise
        return Undone(id=whole, notes=("stopped when everything was taken back",))


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


def obeyed_files(changes: Changes, grant: Grant) -> dict[str, str]:
    """The paths that a person should see before a tool obeys them, each with the tool's name."""
    names = obeyed().with_more(grant.protected)
    found: dict[str, str] = {}
    for item in changes.items:
        if item.did is Did.DELETED or item.after is None:
            continue
        row = names.of_path(item.path, directory=item.after.kind is FileKind.DIRECTORY)
        if row is None or row.treat is not Treat.ASK:
            continue
        place = f"{changes.workspace}/{item.path}"
        if not any(given != "/" and is_within(place, given) for given in grant.writable):
            found[item.path] = row.tool
    return found


def kept_aside(changes: Changes, asked: dict[str, str], notes: str) -> tuple[str, ...]:
    """What to do about files that nobody allowed; they stay held."""
    first = next(iter(asked)).split("/")
    path = first[0] if len(asked) > 1 and all(p.split("/")[0] == first[0] for p in asked) else ""
    path = path or "/".join(first)
    way = f"redoma apply {changes.id} {path} --allow-write {path}"
    said = Message(
        "{count} files are held, since your own tools would obey them: {way} keeps them",
        count=len(asked),
        way=way,
    )
    if len(asked) == 1:
        said = Message(
            "{path} is held, since your own tools would obey it: {way} keeps it", path=path, way=way
        )
    return (said, notes) if notes else (said,)
