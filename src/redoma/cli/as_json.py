"""A decision as JSON, for programs: ASCII only, so that nothing in it acts on a terminal."""

from __future__ import annotations

import json

from redoma.model.decision import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.decision import Decision
    from redoma.model.risk import Finding


def line(content: dict[str, object]) -> str:
    """One object on one line."""
    return json.dumps(content) + "\n"


def whole(decision: Decision) -> dict[str, object]:
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
        "suggested_alternative": alternative(decision),
    }


def brief(decision: Decision) -> dict[str, object]:
    """What `redoma check --jsonl` prints for one line of input."""
    found = decision.assessment
    return {
        "cmd": found.text,
        "risk": found.risk.label,
        "verdict": decision.verdict.label,
        "reasons": list(decision.because) or [finding.reason for finding in found.findings],
        "suggested_alternative": alternative(decision),
    }


def alternative(decision: Decision) -> str | None:
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
