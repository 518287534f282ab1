"""Judges without running: what a command or a file write would mean, and what policy says of it."""

from __future__ import annotations

import os
from time import monotonic, thread_time

from redoma.judge.interpret.state import Ground
from redoma.judge.judgement import (
    assess,
    assess_write,
    decide,
    examine,
    examine_call,
    examine_write,
)
from redoma.judge.text.budget import Budget, Exhausted, Judging, spend
from redoma.model.decision import Assessment, Decision, Effect, Fact, Finding, Risk, Verdict
from redoma.model.message import Message
from redoma.model.policy import BUILT_IN, ISOLATION_ONLY, Circumstances, Environment
from redoma.model.value import replace
from redoma.pipeline.decisions.knowledge import knowledge
from redoma.pipeline.decisions.knowledge import pack as pack_named
from redoma.pipeline.decisions.script_reader import ScriptReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.judge.programs.knowledge import Knowledge
    from redoma.judge.rules.pack import Pack
    from redoma.model.decision import Target
    from redoma.model.policy import Policy
    from redoma.model.request import PythonCall

ON_THE_WALL = 10
"""How much longer than its processor time a judgement may take by the clock on the wall."""
RULE = "input.too-complicated"
REASON = "is too complicated: it cannot be judged in the time that a judgement may take"
ALTERNATIVE = "put it into a script file, or into several shorter commands"


def judging(policy: Policy) -> Judging:
    """A judgement with the deadline of a policy; one inside of another shares the other's.

    Attack: an agent waits for its hook for a while and then goes on as if it had been allowed. So
    a judgement has an end of its own, far below any agent's patience: processor time of the thread
    that judges, which a busy machine does not stretch, and ten times as much by the clock on the
    wall. It is looked at wherever work is counted, so it holds in every thread.
    """
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


def broken_span(text: str) -> tuple[int, int] | None:
    """Where the text holds what UTF-8 cannot (bytes kept by `surrogateescape`), if it does."""
    if text.isascii():
        return None
    for at, char in enumerate(text):
        if "\ud800" <= char <= "\udfff":
            return at, at + 1
    return None


def refuse_broken(decision: Decision) -> Decision:
    """The decision, or a refusal where the text it is about is not valid UTF-8.

    Attack: a shell reads bytes, the judge reads characters. Where the two cannot be the same
    thing, what was judged is not what would run.
    """
    span = broken_span(decision.assessment.text)
    if span is None:
        return decision
    reason = "the command is not valid UTF-8, so what is judged is not what would run"
    finding = Finding(
        rule="input.not-utf8", effect=Effect.UNKNOWN, risk=Risk.FORBIDDEN, span=span, reason=reason
    )
    assessment = decision.assessment
    return replace(
        decision,
        verdict=Verdict.DENY,
        because=(reason, *decision.because),
        assessment=replace(assessment, findings=(finding, *assessment.findings)),
    )


LONGEST_PATH = 4096
FOLLOWED = 256
"""What looking a path up is taken to cost."""


def check(
    text: str,
    *,
    pack: str = "",
    cwd: str | None = None,
    home: str | None = None,
    policy: Policy | None = None,
    circumstances: Circumstances | None = None,
) -> Decision:
    """The decision for a shell command, taken to run in `cwd`; nothing runs.

    `cwd` and `home` are this process's own by default. Without a `policy` of the caller's, the
    built-in one decides; `redoma.load_policy` has the one that applies to a directory. An empty
    `pack` is the policy's own. `circumstances` are what else is known of the command. It never
    raises because of the text: what cannot be judged before the policy's deadline is refused.
    UsageError for an unknown pack, or a text that is none.

    >>> import redoma
    >>> redoma.check("git push --force origin main").verdict
    <Verdict.CONFIRM: 2>
    """
    _a_text(text)
    policy = policy or BUILT_IN
    rules = pack_named(pack or policy.pack)
    where = ground(cwd, home)
    with judging(policy):
        decision = in_time(
            text, rules, policy, lambda: _checked(text, rules, policy, where, circumstances)
        )
        if policy.beside is None:
            return decision
        from redoma.pipeline.decisions.own_rules import stricter

        other = check(text, cwd=cwd, home=home, policy=policy.beside, circumstances=circumstances)
        return stricter(other, decision)


check.__module__ = "redoma"


def _checked(
    text: str, rules: Pack, policy: Policy, where: Ground, circumstances: Circumstances | None
) -> Decision:
    enclosed = circumstances is not None and circumstances.containment is not None
    if policy is BUILT_IN and not enclosed:
        return refuse_broken(decide(assess(text, rules, knowledge(), where), rules))
    decision = _decided(text, rules, policy, where, circumstances, knowledge(policy.cards))
    if policy.project_cards:
        # Attack: a project's card says that a program of the user's, or one that ships, is
        # harmless. So its cards count in a second judgement, and the stricter of both decides.
        known = knowledge((*policy.cards, *policy.project_cards))
        other = _decided(text, rules, policy, where, circumstances, known)
        graver = (other.verdict, other.assessment.risk) > (
            decision.verdict,
            decision.assessment.risk,
        )
        from redoma.pipeline.decisions.own_rules import stricter

        decision = stricter(other, decision) if graver else stricter(decision, other)
    return decision if policy.name == ISOLATION_ONLY else refuse_broken(decision)


def _decided(
    text: str,
    rules: Pack,
    policy: Policy,
    where: Ground,
    circumstances: Circumstances | None,
    known: Knowledge,
) -> Decision:
    assessment, around = examined(text, rules, where, circumstances, known)
    return decide(assessment, rules, policy, around)


def facts(text: str, *, cwd: str | None = None, home: str | None = None) -> tuple[Fact, ...]:
    """Everything that a command would do, as found in its text and before any judgement of it.

    `cwd` and `home` are this process's own by default. UsageError for a text that is none.

    >>> import redoma
    >>> [fact.effect.value for fact in redoma.facts("rm -rf build")]
    ['calls', 'deletes']
    """
    _a_text(text)
    try:
        with judging(BUILT_IN):
            found = examine(text, pack_named("default"), knowledge(), ground(cwd, home))[1]
            return followed(found)
    except Exhausted:
        return unjudged(text)


facts.__module__ = "redoma"


def _a_text(given: object) -> None:
    if not isinstance(given, str):
        from redoma.model.arguments import WrongType, shown

        raise WrongType(Message("text: a command is one text, not {given}", given=shown(given)))


def check_call(
    call: PythonCall,
    *,
    cwd: str | None = None,
    policy: Policy | None = None,
    circumstances: Circumstances | None = None,
) -> Decision:
    """The decision for a Python call; what the function does is the sandbox's to hold."""
    policy = policy or BUILT_IN
    rules = pack_named(policy.pack)
    where = ground(cwd)
    return in_time(
        call.shown, rules, policy, lambda: _checked_call(call, rules, policy, where, circumstances)
    )


def _checked_call(
    call: PythonCall,
    rules: Pack,
    policy: Policy,
    where: Ground,
    circumstances: Circumstances | None,
) -> Decision:
    assessment, facts = examine_call(call, rules, knowledge(policy.cards), where)
    known = circumstances or Circumstances()
    if policy is BUILT_IN and known.containment is None:
        return refuse_broken(decide(assessment, rules))
    around = replace(
        known,
        facts=facts,
        workspace=known.workspace or where.workspace,
        home=known.home or where.home,
    )
    decision = decide(assessment, rules, policy, around)
    return decision if policy.name == ISOLATION_ONLY else refuse_broken(decision)


def check_write(
    path: str,
    *,
    pack: str = "",
    cwd: str | None = None,
    home: str | None = None,
    policy: Policy | None = None,
) -> Decision:
    """The decision for a tool that writes the file at `path`, seen from `cwd`."""
    policy = policy or BUILT_IN
    rules = pack_named(pack or policy.pack)
    where = ground(cwd, home)
    if path.startswith("~/"):
        path = where.home + path[1:]
    return in_time(path, rules, policy, lambda: _checked_write(path, rules, policy, where))


def _checked_write(path: str, rules: Pack, policy: Policy, where: Ground) -> Decision:
    if policy is BUILT_IN:
        return refuse_broken(decide(assess_write(path, rules, knowledge(), where), rules))
    assessment, facts = examine_write(path, rules, knowledge(policy.cards), where)
    around = Circumstances(workspace=where.workspace, home=where.home, facts=followed(facts))
    return refuse_broken(decide(assessment, rules, policy, around))


def examined(
    text: str,
    rules: Pack,
    where: Ground,
    circumstances: Circumstances | None,
    known_programs: Knowledge | None = None,
) -> tuple[Assessment, Circumstances]:
    """The assessment of a text, and the circumstances with all that was found in it."""
    assessment, facts = examine(text, rules, known_programs or knowledge(), where)
    known = circumstances or Circumstances()
    around = replace(
        known,
        facts=followed(facts),
        workspace=known.workspace or where.workspace,
        home=known.home or where.home,
    )
    return assessment, around


def followed(facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """The facts with what links on this machine make of their paths now.

    Attack: a link made earlier gives what a policy blocks another name. One that is made between
    this look and the run is held by the sandbox.
    """
    return tuple(
        replace(fact, targets=tuple(map(_followed, fact.targets)))
        if any(target.path for target in fact.targets)
        else fact
        for fact in facts
    )


def _followed(target: Target) -> Target:
    path = target.path
    # What is longer than any path the kernel takes leads nowhere.
    if not path.startswith("/") or len(path) > LONGEST_PATH:
        return target
    spend(FOLLOWED + len(path))
    # What is a pattern or not known is followed up to there.
    end = next((at for at, char in enumerate(path) if char in "*?[\0"), len(path))
    known = path[: path.rfind("/", 0, end) + 1] if end < len(path) else path
    try:
        real = os.path.realpath(known)
    except (OSError, ValueError):
        return target
    real = real + ("/" if end < len(path) and real != "/" else "") + path[len(known) :]
    return target if real == path else replace(target, real=real)


def ground(cwd: str | None = None, home: str | None = None) -> Ground:
    """Where a command is taken to run; the caller's own directory and home by default."""
    workspace = os.path.normpath(cwd) if cwd else _here()
    own = home or os.environ.get("HOME") or "/root"
    return Ground(workspace, os.path.normpath(own), ScriptReader(workspace))


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "/nonexistent"
