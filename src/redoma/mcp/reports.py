"""What the tools answer, as models from which the protocol's output schemas are made."""

from __future__ import annotations

from pydantic import BaseModel, Field

from redoma.cli.history import as_json as history_json
from redoma.cli.json_report import decision_json, impact, result_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma import Confirmed, Decision, Preview, Result
    from redoma.model.change import Applied, HistoryEntry, Undone

LONGEST_DIFF = 64 << 10


class ReasonReport(BaseModel):
    """One finding about a command."""

    rule: str = Field(description="the rule that found it")
    risk: str = Field(description="safe, moderate, elevated, dangerous or forbidden")
    reason: str
    text: str = Field(description="the part of the command that it is about")


class CheckReport(BaseModel):
    """What the policy says to a command."""

    verdict: str = Field(description="allow, log, confirm or deny")
    risk: str
    reasons: list[ReasonReport]
    suggested_alternative: str | None = None


class RunReport(BaseModel):
    """How a command ended, what it printed, and what was enforced."""

    outcome: str = Field(description="exited, signalled, timed-out, denied, declined …")
    ok: bool
    exit_code: int
    stdout: str
    stderr: str
    truncated: bool = Field(description="whether output is missing here")
    transaction: str | None = Field(description="names the changes, for undo or apply")
    applied: bool = Field(description="whether the changes are in the workspace")
    undoable: bool
    held_back: list[dict[str, str]] = Field(description="files that only a person may make")
    enforced: list[str] = Field(description="guarantees that held")
    notes: list[str]
    decision: CheckReport | None = None


class PreviewReport(BaseModel):
    """What a command would change; the workspace is as it was."""

    id: str | None = Field(description="for apply; none where nothing would change")
    would_execute: bool
    exit_code: int
    stdout: str
    stderr: str
    created: list[str]
    modified: list[str]
    deleted: list[str]
    diff: str = Field(description="a unified diff; the resource has all of it")
    diff_is_whole: bool
    warnings: list[str]
    decision: CheckReport | None = None


class ChangedPaths(BaseModel):
    """What an apply or an undo did to the workspace."""

    id: str
    paths: list[str]
    notes: list[str]


class HistoryReport(BaseModel):
    """Transactions, the newest first."""

    entries: list[dict[str, str | int | bool]]


class ConfirmReport(BaseModel):
    """What a person said to a command; nothing was run."""

    approved: bool
    choice: str = Field(description="approve, deny, dry_run, modify; or none where none was asked")
    approved_by: str
    modified_command: str
    notes: str


def check_report(decision: Decision) -> CheckReport:
    """A decision for an agent."""
    found: dict[str, Any] = decision_json(decision)
    reasons = [
        ReasonReport(rule=r["rule"], risk=r["risk"], reason=r["reason"], text=r["part"])
        for r in found["reasons"]
    ]
    return CheckReport(
        verdict=found["verdict"],
        risk=found["risk"],
        reasons=reasons,
        suggested_alternative=found["suggested_alternative"],
    )


def run_report(result: Result, most: int) -> RunReport:
    """A result for an agent, with at most so many characters of each stream."""
    found: dict[str, Any] = result_json(result)
    (out, cut_out), (err, cut_err) = (
        shortened(found["stdout"], most),
        shortened(found["stderr"], most),
    )
    names = ("outcome", "ok", "exit_code", "transaction", "applied", "undoable", "held_back")
    return RunReport(
        **{name: found[name] for name in names},
        stdout=out,
        stderr=err,
        truncated=found["truncated"] or cut_out or cut_err,
        enforced=found["enforcement"]["held"] if found["enforcement"] else [],
        notes=found["notes"],
        decision=check_report(result.decision) if result.decision is not None else None,
    )


def preview_report(preview: Preview, most: int) -> PreviewReport:
    """A preview for an agent, with the beginning of its diff."""
    result = preview.result
    touched: dict[str, Any] = impact(preview.changes)
    diff = preview.diff() if preview.changes.items else ""
    return PreviewReport(
        id=preview.found.id or None,
        would_execute=preview.found.would_execute,
        exit_code=result.exit_code,
        stdout=shortened(result.stdout.decode(errors="replace"), most)[0],
        stderr=shortened(result.stderr.decode(errors="replace"), most)[0],
        created=touched["files_created"],
        modified=touched["files_modified"],
        deleted=touched["files_deleted"],
        diff=diff[:LONGEST_DIFF],
        diff_is_whole=len(diff) <= LONGEST_DIFF,
        warnings=list(preview.found.warnings),
        decision=check_report(result.decision) if result.decision is not None else None,
    )


def changed_paths(done: Applied | Undone) -> ChangedPaths:
    """What an apply or an undo touched."""
    paths = done.paths if hasattr(done, "paths") else tuple(c.path for c in done.changes)
    return ChangedPaths(id=done.id, paths=list(paths), notes=list(done.notes))


def history_report(entries: tuple[HistoryEntry, ...], most: int) -> HistoryReport:
    """The newest transactions of a workspace."""
    return HistoryReport(entries=[history_json(entry) for entry in entries[:most]])  # type: ignore[misc]


def confirm_report(confirmed: Confirmed) -> ConfirmReport:
    """What was said, and by whom."""
    answer = confirmed.answer
    return ConfirmReport(
        approved=confirmed.approved,
        choice=answer.choice.value if answer is not None else "none",
        approved_by=answer.approved_by if answer is not None else "",
        modified_command=answer.modified_command if answer is not None else "",
        notes=answer.notes if answer is not None else "",
    )


def shortened(text: str, most: int) -> tuple[str, bool]:
    """The beginning and the end of a long text, and whether something is missing between them."""
    if len(text) <= most:
        return text, False
    half = most // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n[… {left_out} characters left out …]\n{text[-half:]}", True
