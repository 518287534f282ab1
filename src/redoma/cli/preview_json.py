"""A preview as JSON, for programs: the specified fields of a dry run, and ours beside them."""

from __future__ import annotations

import json

from redoma.model.change import Did

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.change import Change, Changes, FileState
    from redoma.pipeline.dry_run import DryRun


def text(found: DryRun) -> str:
    """One object on one line; ASCII only, so that nothing in it acts on a terminal."""
    return json.dumps(whole(found)) + "\n"


def whole(found: DryRun) -> dict[str, object]:
    """What `redoma preview --json` prints."""
    from redoma.cli.result_json import whole as result_json

    result = result_json(found.result)
    return {
        "id": found.id or None,
        "command": found.command,
        "would_execute": found.would_execute,
        "impact": {
            **impact(found.changes),
            "network_calls": list(found.network_calls),
            "database_operations": list(found.database_operations),
        },
        "warnings": list(found.warnings),
        "estimated_duration": found.estimated_duration,
        "rollback_available": found.rollback_available,
        "ran_instead": list(found.ran_instead),
        "changes": [change_json(change) for change in found.changes.items],
        **{key: result[key] for key in result if key not in ("notes", "held_back")},
    }


def impact(changes: Changes) -> dict[str, object]:
    """Paths by what happened to them."""
    return {
        "files_created": list(changes.paths(Did.CREATED)),
        "files_modified": list(changes.paths(Did.MODIFIED)),
        "files_deleted": list(changes.paths(Did.DELETED)),
        "files_renamed": [
            {"from": item.renamed_from, "to": item.path}
            for item in changes.items
            if item.did is Did.RENAMED
        ],
        "attributes_changed": list(changes.paths(Did.ATTRIBUTES)),
    }


def change_json(change: Change) -> dict[str, object]:
    """One change; names that are no UTF-8 carry their bytes as lone surrogates."""
    made: dict[str, object] = {
        "path": change.path,
        "did": change.did.value,
        "before": _state(change.before),
        "after": _state(change.after),
    }
    if change.renamed_from:
        made["renamed_from"] = change.renamed_from
    if change.moved_along:
        made["moved_along"] = change.moved_along
    if change.hard_link_of:
        made["hard_link_of"] = change.hard_link_of
    return made


def _state(state: FileState | None) -> dict[str, object] | None:
    if state is None:
        return None
    made: dict[str, object] = {
        "kind": state.kind.value,
        "mode": f"{state.mode:04o}",
        "uid": state.uid,
        "gid": state.gid,
        "size": state.size,
    }
    if state.target:
        made["target"] = state.target
    if state.xattrs:
        made["xattrs"] = [name for name, _ in state.xattrs]
    return made
