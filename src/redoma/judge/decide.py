"""Turns an assessment into a decision under a policy; the strictest thing said is what counts."""

from __future__ import annotations

from redoma.model.decision import Decision
from redoma.model.policy import BUILT_IN, SHIPPED_RULES, Circumstances

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.rules.pack import Pack
    from redoma.model.policy import Policy
    from redoma.model.risk import Assessment

__all__ = ["BUILT_IN", "Circumstances", "decide"]
_KNOWN_NOTHING = Circumstances()


def decide(
    assessment: Assessment,
    pack: Pack,
    policy: Policy = BUILT_IN,
    circumstances: Circumstances = _KNOWN_NOTHING,
) -> Decision:
    """Allow, log, confirm or deny, with the reasons of what led there."""
    if policy is not BUILT_IN:
        # Without a policy of anybody's own, a hook does without all that this needs.
        from redoma.judge.policy.evaluation import evaluate

        return evaluate(assessment, pack, policy, circumstances)
    risk = assessment.risk
    verdict = pack.verdict(risk)
    return Decision(
        verdict=verdict,
        because=tuple(dict.fromkeys(f.reason for f in assessment.worst)) if risk else (),
        policy="default",
        assessment=assessment,
        level=pack.level(risk),
        rule=SHIPPED_RULES[verdict],
        multiple_files=_several(assessment),
    )


def _several(assessment: Assessment) -> bool:
    """Whether the findings name more than one file that changes, or a pattern of them."""
    changed = {
        target
        for finding in assessment.findings
        if finding.effect.value in ("writes", "deletes")
        for target in finding.targets
    }
    return len(changed) > 1 or any(not set("*?…").isdisjoint(target) for target in changed)
