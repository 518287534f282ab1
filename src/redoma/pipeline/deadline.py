"""How long a judgement may take, and the refusal of what would take longer.

Attack: an agent waits for its hook for a while and then goes on as if it had been allowed. So a
judgement has an end of its own, far below any agent's patience: processor time of the thread that
judges, which a busy machine does not stretch, and ten times as much by the clock on the wall, for a
machine so busy that even that is long. It is looked at wherever work is counted, so it holds in
every thread; `redoma.judge.text.budget` says how.
"""

from __future__ import annotations

from time import monotonic, thread_time

from redoma.judge.text.budget import Budget, Exhausted, Judging
from redoma.model.decision import Verdict
from redoma.model.policy import BUILT_IN, ISOLATION_ONLY, Circumstances, Environment
from redoma.model.risk import Assessment, Effect, Fact, Finding, Risk
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.judge.rules.pack import Pack
    from redoma.model.decision import Decision
    from redoma.model.policy import Policy

ON_THE_WALL = 10
"""How much longer than its processor time a judgement may take by the clock on the wall."""
RULE = "input.too-complicated"
REASON = "is too complicated: it cannot be judged in the time that a judgement may take"
ALTERNATIVE = "put it into a script file, or into several shorter commands"


def judging(policy: Policy) -> Judging:
    """A judgement with the deadline of a policy; one inside of another shares the other's."""
    seconds = policy.judgement.deadline_seconds
    return Judging(Budget((thread_time, seconds), (monotonic, seconds * ON_THE_WALL)))


def in_time(text: str, rules: Pack, policy: Policy, judge: Callable[[], Decision]) -> Decision:
    """What `judge` decides about a text, or its refusal where that takes too long."""
    with judging(policy) as budget:
        try:
            decision = judge()
            budget.look()
        except Exhausted:
            pass
        else:
            return decision
    from redoma.judge.decide import decide

    finding = Finding(
        rule=RULE,
        effect=Effect.UNKNOWN,
        risk=Risk.FORBIDDEN,
        span=(0, len(text)),
        reason=REASON,
        alternative=ALTERNATIVE,
    )
    assessment = Assessment(text=text, pack=rules.name, findings=(finding,))
    refused = decide(assessment, rules)
    if _only_isolates(policy):
        # What is confined and never judged runs as it would have run.
        return decide(assessment, rules, policy, Circumstances(facts=()))
    return replace(
        refused,
        verdict=Verdict.DENY,
        because=(REASON,),
        policy=policy.name if policy is not BUILT_IN else refused.policy,
        rule=RULE,
    )


def _only_isolates(policy: Policy) -> bool:
    """Whether nothing that a judgement finds could make a difference, in any layer."""
    asks = (
        policy.block,
        policy.added_rules,
        policy.confirmation.required_for,
        policy.filesystem.blocked_paths,
        policy.filesystem.allowed_paths is not None,
        policy.network.restricted,
        policy.environment >= Environment.PRODUCTION,
    )
    if policy.name != ISOLATION_ONLY or any(asks) or policy.beside is not None:
        return False
    return policy.floor is None or _only_isolates(policy.floor)


def unjudged(text: str) -> tuple[Fact, ...]:
    """What is known of a text that cannot be judged in time: nothing, which is a fact."""
    return (Fact(effect=Effect.UNKNOWN, span=(0, len(text)), tags=frozenset(("too-much",))),)
