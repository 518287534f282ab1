"""Turns an assessment into a verdict under the built-in policy of its pack."""

from __future__ import annotations

from redoma.model.decision import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.rules.pack import Pack
    from redoma.model.risk import Assessment


def decide(assessment: Assessment, pack: Pack) -> Decision:
    """Allow, log, confirm or deny, with the reasons of the findings that led there."""
    risk = assessment.risk
    return Decision(
        verdict=pack.verdict(risk),
        because=tuple(dict.fromkeys(f.reason for f in assessment.worst)) if risk else (),
        policy="default",
        assessment=assessment,
        level=pack.level(risk),
    )
