"""How changes are written down, one row for each."""

from __future__ import annotations

from redoma.jail.overlay.spool import Form, made
from redoma.model.change import Change, Did, FileKind, FileState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_DIDS = {did.value: did for did in Did}
_KINDS = {kind.value: kind for kind in FileKind}


def change_row(item: Change) -> list[Any]:
    """A change as JSON can say it."""
    return [
        item.path,
        item.did.value,
        _state_row(item.before),
        _state_row(item.after),
        item.renamed_from,
        item.moved_along,
        item.hard_link_of,
        item.replaces_tree,
    ]


def change_of(row: list[Any]) -> Change:
    """The change again."""
    path, did, before, after, *rest = row
    return made(Change, [path, _DIDS[did], _state(before), _state(after), *rest])


def _state_row(state: FileState | None) -> list[Any] | None:
    if state is None:
        return None
    kind, *numbers, xattrs = state._content()
    return [kind.value, *numbers, [[name, value.hex()] for name, value in xattrs]]


def _state(row: list[Any] | None) -> FileState | None:
    if row is None:
        return None
    kind, *numbers, xattrs = row
    own = tuple([(name, bytes.fromhex(value)) for name, value in xattrs]) if xattrs else ()
    return made(FileState, [_KINDS[kind], *numbers, own])


def _spooled(item: Change) -> tuple[str, list[Any]]:
    path, *rest = change_row(item)
    return path, rest


CHANGES = Form(_spooled, lambda path, rest: change_of([path, *rest]))
