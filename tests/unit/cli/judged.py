"""Decisions made by hand, for what only shows or sends them."""

from __future__ import annotations

from redoma.model.decision import Assessment, Decision, Effect, Finding, Risk, Verdict

VERDICTS = {
    Risk.SAFE: Verdict.ALLOW,
    Risk.MODERATE: Verdict.ALLOW,
    Risk.ELEVATED: Verdict.LOG,
    Risk.DANGEROUS: Verdict.CONFIRM,
    Risk.FORBIDDEN: Verdict.DENY,
}


def finding(
    span: tuple[int, int], risk: Risk = Risk.DANGEROUS, *, reason: str = "why", instead: str = ""
) -> Finding:
    """A finding about a part of a text."""
    return Finding(
        rule="a.rule",
        effect=Effect.DELETES,
        risk=risk,
        span=span,
        reason=reason,
        targets=("~/old",),
        alternative=instead,
    )


def judged(text: str, *findings: Finding) -> Decision:
    """The decision that the built-in policy makes of these findings."""
    assessment = Assessment(text=text, pack="default", findings=findings)
    return Decision(
        verdict=VERDICTS[assessment.risk],
        because=tuple(found.reason for found in assessment.worst),
        policy="default",
        assessment=assessment,
    )
