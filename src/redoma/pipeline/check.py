"""Judges without running: what a command or a file write would mean, and what policy says of it."""

from __future__ import annotations

import os

from redoma.judge.assess import assess, assess_write, examine, examine_call, examine_write
from redoma.judge.decide import BUILT_IN, Circumstances, decide
from redoma.judge.interpret.state import Ground
from redoma.judge.text.budget import Exhausted, spend
from redoma.model.policy import ISOLATION_ONLY
from redoma.model.value import replace
from redoma.pipeline.broken import refuse_broken
from redoma.pipeline.deadline import in_time, judging, unjudged
from redoma.pipeline.knowledge import knowledge
from redoma.pipeline.knowledge import pack as pack_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.rules.pack import Pack
    from redoma.model.decision import Decision
    from redoma.model.policy import Policy
    from redoma.model.request import PythonCall
    from redoma.model.risk import Assessment, Fact, Target

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
    """The decision for a shell command, taken to run in `cwd`.

    Without a `policy` of the caller's, the built-in one decides; `redoma.pipeline.policies.load`
    has the one that applies to a directory. An empty `pack` is the policy's own. What cannot be
    judged before the policy's deadline is refused.
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
        from redoma.pipeline.policy_beside import stricter

        other = check(text, cwd=cwd, home=home, policy=policy.beside, circumstances=circumstances)
        return stricter(other, decision)


def _checked(
    text: str, rules: Pack, policy: Policy, where: Ground, circumstances: Circumstances | None
) -> Decision:
    if policy is BUILT_IN:
        return refuse_broken(decide(assess(text, rules, knowledge(), where), rules))
    assessment, around = examined(text, rules, where, circumstances)
    decision = decide(assessment, rules, policy, around)
    return decision if policy.name == ISOLATION_ONLY else refuse_broken(decision)


def facts(text: str, *, cwd: str | None = None, home: str | None = None) -> tuple[Fact, ...]:
    """Everything that a command would do, as found in its text and before any judgement of it."""
    _a_text(text)
    try:
        with judging(BUILT_IN):
            found = examine(text, pack_named("default"), knowledge(), ground(cwd, home))[1]
            return followed(found)
    except Exhausted:
        return unjudged(text)


def _a_text(given: object) -> None:
    if not isinstance(given, str):
        from redoma.model.arguments import WrongType, shown

        raise WrongType(f"text: a command is one text, not {shown(given)}")


def check_call(
    call: PythonCall,
    *,
    cwd: str | None = None,
    policy: Policy | None = None,
    circumstances: Circumstances | None = None,
) -> Decision:
    """The decision for a Python call; what the function does is the enclosure's to hold."""
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
    assessment, facts = examine_call(call, rules, knowledge(), where)
    if policy is BUILT_IN:
        return refuse_broken(decide(assessment, rules))
    known = circumstances or Circumstances()
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
    assessment, facts = examine_write(path, rules, knowledge(), where)
    around = Circumstances(workspace=where.workspace, home=where.home, facts=followed(facts))
    return refuse_broken(decide(assessment, rules, policy, around))


def examined(
    text: str, rules: Pack, where: Ground, circumstances: Circumstances | None
) -> tuple[Assessment, Circumstances]:
    """The assessment of a text, and the circumstances with all that was found in it."""
    assessment, facts = examine(text, rules, knowledge(), where)
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
    this look and the run is held by the enclosure.
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
    return Ground(workspace, os.path.normpath(own))


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "/nonexistent"
