"""A decision as JSON, for programs: ASCII only, so that nothing in it acts on a terminal."""

from __future__ import annotations

import json

from redoma.model.change import Did
from redoma.model.decision import Verdict
from redoma.model.grant import Guarantee
from redoma.model.value import fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.change import Change, Changes, FileState
    from redoma.model.decision import Decision, Finding, HeldFinding
    from redoma.model.result import Result
    from redoma.pipeline.dry_run import DryRunReport


def line(content: dict[str, object]) -> str:
    """One object on one line."""
    return json.dumps(content) + "\n"


def decision_json(decision: Decision) -> dict[str, object]:
    """What `redoma check --json` prints."""
    found = decision.assessment
    return {
        "cmd": found.text,
        "risk": found.risk.label,
        "level": decision.level or found.risk.label,
        "verdict": decision.verdict.label,
        "allowed": decision.verdict <= Verdict.LOG,
        "requires_confirmation": decision.verdict is Verdict.CONFIRM,
        "policy": decision.policy,
        "rule": decision.rule or None,
        "isolation": decision.isolation or None,
        "dry_run": decision.preview or None,
        "pack": found.pack,
        "reasons": [_reason(finding, found.text) for finding in found.findings],
        "suggested_alternative": safer_way(decision),
        **({"held": [_held(each) for each in decision.held]} if decision.held else {}),
    }


def _held(held: HeldFinding) -> dict[str, object]:
    """What a run is not asked about, and what holds it."""
    return {"rule": held.finding.rule, "reason": held.finding.reason, "by": held.by.value}


def brief_json(decision: Decision) -> dict[str, object]:
    """What `redoma check --jsonl` prints for one line of input."""
    found = decision.assessment
    return {
        "cmd": found.text,
        "risk": found.risk.label,
        "verdict": decision.verdict.label,
        "reasons": list(decision.because) or [finding.reason for finding in found.findings],
        "suggested_alternative": safer_way(decision),
    }


def safer_way(decision: Decision) -> str | None:
    """The safer way that goes with the most serious finding that has one."""
    return next((f.alternative for f in decision.assessment.findings if f.alternative), None)


def _reason(finding: Finding, text: str) -> dict[str, object]:
    start, end = finding.span
    return {
        "rule": finding.rule,
        "effect": finding.effect.value,
        "risk": finding.risk.label,
        "reason": finding.reason,
        "span": [start, end],
        "part": text[start:end],
        "targets": list(finding.targets),
        "alternative": finding.alternative or None,
    }


def result_text(result: Result) -> str:
    """One object on one line; ASCII only, so that nothing in it acts on a terminal."""
    return json.dumps(result_json(result)) + "\n"


def result_json(result: Result) -> dict[str, object]:
    """What `redoma run --json` prints."""
    used = result.resources_used
    ended = result.exit
    traced = result.files_accessed
    files = None if traced is None else [_valid_text(path) for path in traced]
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
            {"path": _valid_text(h.path), "why": h.why, "kept": _valid_text(h.kept)}
            for h in result.held_back
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
        made["decision"] = decision_json(result.decision)
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
    """What was asked of the network, where an egress gate stood there."""
    from redoma.cli.remedies import granting

    if result.network_calls is None:
        return None
    return [{**fields_of(call), "grant": granting(call)} for call in result.network_calls]


def _valid_text(path: str) -> str:
    # Half of a surrogate pair, which a name that is no text has in it, is refused by many readers.
    return path.encode(errors="surrogateescape").decode(errors="replace")


def preview_text(found: DryRunReport) -> str:
    """One object on one line; ASCII only, so that nothing in it acts on a terminal."""
    return json.dumps(preview_json(found)) + "\n"


def preview_json(found: DryRunReport) -> dict[str, object]:
    """What `redoma preview --json` prints."""

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
