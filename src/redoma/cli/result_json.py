"""A result as JSON, for programs."""

from __future__ import annotations

import json

from redoma.model.guarantee import Guarantee
from redoma.model.value import fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.result import Result


def text(result: Result) -> str:
    """One object on one line; ASCII only, so that nothing in it acts on a terminal."""
    return json.dumps(whole(result)) + "\n"


def whole(result: Result) -> dict[str, object]:
    """What `redoma run --json` prints."""
    used = result.resources_used
    ended = result.exit
    traced = result.files_accessed
    files = None if traced is None else [_text(path) for path in traced]
    made: dict[str, object] = {
        "run": result.run,
        "outcome": result.outcome.value,
        "ok": result.ok,
        "exit_code": result.exit_code,
        "signal": ended.signal if ended else None,
        "stdout": result.stdout.decode(errors="replace"),
        "stderr": result.stderr.decode(errors="replace"),
        "truncated": ended.truncated if ended else False,
        "limits_reached": list(ended.limits_reached) if ended else [],
        "limited_by": dict(ended.limited_by) if ended else {},
        "execution_time_ms": round(used.wall_seconds * 1000, 1),
        "resources_used": {
            "memory_mb": round(used.peak_memory / (1 << 20), 1),
            "cpu_seconds": round(used.cpu_seconds, 3),
            "bytes_written": used.bytes_written,
            "output_bytes": used.output_bytes,
            "files_accessed": files,
        },
        "held_back": [
            {"path": _text(h.path), "why": h.why, "kept": _text(h.kept)} for h in result.held_back
        ],
        "network_calls": _calls(result),
        "transaction": result.changes.id if result.changes and result.changes.items else None,
        "applied": result.applied,
        "undoable": result.applied and result.undoable,
        "notes": list(result.notes),
        "enforcement": None,
        "decision": None,
    }
    if result.decision is not None:
        from redoma.cli.as_json import whole as decided

        made["decision"] = decided(result.decision)
    if result.enforcement is not None:
        enforced = result.enforcement
        made["enforcement"] = {
            "engine": enforced.engine,
            "required": [g.value for g in Guarantee if g in enforced.required],
            "held": [g.value for g in Guarantee if g in enforced.held],
            "mechanisms": {g.value: how for g, how in enforced.mechanisms},
        }
    return made


def _calls(result: Result) -> list[dict[str, object]] | None:
    """What was asked of the network, where a gate stood there."""
    if result.network_calls is None:
        return None
    return [{**fields_of(call), "grant": call.grant} for call in result.network_calls]


def _text(path: str) -> str:
    # Half of a surrogate pair, which a name that is no text has in it, is refused by many readers.
    return path.encode(errors="surrogateescape").decode(errors="replace")
