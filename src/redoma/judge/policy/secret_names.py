"""What a policy says of secrets that a command is to get in plaintext, by their names."""

from __future__ import annotations

from redoma.judge.policy.patterns import within
from redoma.model.decision import Verdict
from redoma.model.policy import Voice
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from redoma.model.decision import Decision
    from redoma.model.grant import SecretGrant
    from redoma.model.policy import Policy


def with_secrets(decision: Decision, policy: Policy, grants: Sequence[SecretGrant]) -> Decision:
    """The decision on a command that is to get these secrets as well; never a milder one.

    Whatever decided about the command, this is said beside it: no allow list sets it aside.
    """
    said: list[Voice] = []
    layer: Policy | None = policy
    while layer is not None:
        said += _voices(layer, grants)
        layer = layer.floor
    if policy.beside is not None:
        said += _voices(policy.beside, grants)
    verdict = max((voice.verdict for voice in said), default=decision.verdict)
    if not said or verdict < decision.verdict:
        return decision
    reasons = [voice.reason for voice in said if voice.verdict is verdict]
    if verdict is decision.verdict:
        because = dict.fromkeys((*decision.because, *reasons))
        return replace(decision, because=tuple(because))
    rule = next(voice.rule for voice in said if voice.verdict is verdict)
    return replace(decision, verdict=verdict, because=tuple(dict.fromkeys(reasons)), rule=rule)


def _voices(policy: Policy, grants: Sequence[SecretGrant]) -> list[Voice]:
    """Secrets that are not on the list, and that someone confirms those that are."""
    rules = policy.secrets
    said: list[Voice] = []
    for grant in grants:
        if rules.allowed is not None and not any(fits(grant.name, each) for each in rules.allowed):
            reason = f"the secret {grant.name} is not on the list of those that a command may get"
            said.append(Voice(verdict=Verdict.DENY, rule="secrets.allowed", reason=reason))
        elif rules.confirm:
            reason = f"it gets the secret {grant.name} in plaintext: {grant.place}"
            said.append(Voice(verdict=Verdict.CONFIRM, rule="secrets.confirm", reason=reason))
    return said


def fits(name: str, pattern: str) -> bool:
    """Whether a name is one that a pattern with `*` names.

    >>> fits("npm_publish", "npm_*"), fits("github", "npm_*"), fits("npm_*", "npm_*")
    (True, False, True)
    """
    return within(f"/{name}", f"/{pattern}")
