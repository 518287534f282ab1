"""From a call to an answer: judge it, and say in a few sentences why."""

from __future__ import annotations

import os
import sys

from redoma.base.log import logger
from redoma.base.text import harmless, shortened
from redoma.cli.streams import read_all
from redoma.hook.agents import ASK, DENY, Unreadable, call_of, payload_of
from redoma.i18n import phrased
from redoma.model.decision import Decision, Verdict
from redoma.model.errors import PolicyError, RecordError
from redoma.model.message import Message
from redoma.pipeline.checks import CommandCheck, WriteCheck
from redoma.pipeline.decisions.policies import load_policy
from redoma.pipeline.requests import Caller
from redoma.pipeline.secrets import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.hook.agents import Agent, ToolCall
    from redoma.model.decision import Finding
    from redoma.model.policy import Policy

log = logger(__name__)
LONGEST_REASON = 1000
LONGEST_PART = 120
MOST_FINDINGS = 3
ENCLOSED = "--enclosed"


def answer(call: ToolCall, pack: str, agent: str) -> tuple[str, str] | None:
    """`ask` or `deny` with the reason; None where the agent's own rules are left to decide.

    Attack: `npx some-package`, `bash setup.sh`, `scp -r . host:` raise no finding that stops them,
    and the agent would ask about them by itself. An `allow` of ours would take that question away
    from a command that runs unconfined: so a call that we do not stop gets no answer at all.
    """
    if call.foreign:
        tool = harmless(call.tool)
        return ASK, phrased(
            "Redoma reads POSIX shells and cannot judge what {tool} runs.", tool=tool
        )
    if call.command is None and not call.paths and not call.looks:
        return None
    try:
        policy = load_policy(call.project or call.cwd or ".", home=os.environ.get("HOME"))
        decisions = _judged(call, pack, policy, Caller(name=agent, session=call.session))
    except (PolicyError, RecordError) as error:
        # Who breaks the policy must not get rid of it, and what cannot be written down does not
        # happen: nothing is judged until it is right.
        why = phrased("Redoma refuses this: {error}", error=harmless(phrased(str(error))))
        return DENY, shortened(why, LONGEST_REASON)
    decision = max(decisions, key=lambda d: (d.verdict, d.assessment.risk))
    if decision.verdict <= Verdict.LOG:
        return None
    # The reason goes into an agent's prompt and from there anywhere: no secret of the command does.
    word = ASK if decision.verdict is Verdict.CONFIRM else DENY
    return word, redact(reason(decision))


def _judged(call: ToolCall, pack: str, policy: Policy, caller: Caller) -> tuple[Decision, ...]:
    home = os.environ.get("HOME")
    texts = call.looks if call.command is None else (call.command,)
    found: tuple[Decision, ...] = ()
    if texts:
        found = CommandCheck(policy, caller, pack=pack, cwd=call.cwd, home=home).checked(texts)
    if call.paths:
        checks = WriteCheck(policy, caller, pack=pack, cwd=call.cwd, home=home)
        found += checks.checked(call.paths)
    return found


def reason(decision: Decision) -> str:
    """Why, in words that fit a prompt: the level, the parts that raised it, the safer way."""
    found = decision.assessment
    level = phrased(found.risk.label)
    said = phrased("Redoma refuses this ({level}).", level=level)
    if decision.verdict is Verdict.CONFIRM:
        said = phrased("Redoma asks a person first ({level}).", level=level)
    sentences = [said]
    worst = found.worst[:MOST_FINDINGS]
    sentences += [_sentence(finding, found.text) for finding in worst]
    if len(found.worst) > len(worst):
        sentences.append(phrased("And {count} more.", count=len(found.worst) - len(worst)))
    told = {finding.reason for finding in found.worst}
    own = [because for because in decision.because if because not in told]
    sentences += [f"{harmless(phrased(because))}." for because in own[:MOST_FINDINGS]]
    other = next((finding.alternative for finding in worst if finding.alternative), "")
    if other:
        sentences.append(phrased("Instead: {other}.", other=harmless(phrased(other)).rstrip(".")))
    return shortened(" ".join(sentences), LONGEST_REASON)


def _sentence(finding: Finding, text: str) -> str:
    start, end = finding.span
    part = text[start:end].strip()
    said = harmless(phrased(finding.reason))
    if not part or part == text.strip():
        return f"{said}."
    return phrased("{said}, in: {part}.", said=said, part=shortened(harmless(part), LONGEST_PART))


ANSWERED, STOP = 0, 2


def respond(agent: Agent, arguments: list[str]) -> int:
    """Answers the call on standard input; 0 for a judgement, 2 where there can be none."""
    try:
        pack, flags = read_options(arguments)
        payload = payload_of(read_all(sys.stdin.buffer))
        if ENCLOSED in flags and payload.get("hook_event_name") != agent.event:
            from redoma.hook.enclosed_calls import heard

            return heard(agent, payload)
        call = call_of(payload, agent)
        found = answer(call, pack, agent.name)
    except Unreadable as error:
        what = harmless(phrased(str(error)))
        why = phrased("Redoma cannot read this call, so it is refused: {what}", what=what)
        return refuse(agent, shortened(why, LONGEST_REASON))
    log.info("%s: %s", agent.name, "nothing against it" if found is None else found[0])
    if found is not None and found[0] == ASK and "--no-ask" in flags:
        found = DENY, found[1] + phrased(" Nobody is here to ask, so this is refused.")
    said = agent.says(*found) if found is not None else ""
    if ENCLOSED in flags and call.command is not None and (found is None or found[0] == ASK):
        from redoma.hook.enclosed_calls import enclosed

        said = enclosed(agent, call, payload, said)
    sys.stdout.write(said)
    sys.stdout.flush()
    return ANSWERED


def refuse(agent: Agent, why: str) -> int:
    """Says no in every way that the agent listens to."""
    sys.stdout.write(agent.says(DENY, why))
    sys.stdout.flush()
    sys.stderr.write(f"{why}\n")
    return STOP


def read_options(arguments: list[str]) -> tuple[str, set[str]]:
    """The pack and the flags given to a hook; anything else is refused."""
    if not arguments or arguments == [ENCLOSED]:  # as nearly always: the table is not worth it
        return "", set(arguments)
    from redoma.hook.install import CALL
    from redoma.model.errors import UsageError

    try:
        line = CALL.read(arguments)
    except UsageError as error:
        raise Unreadable(str(error)) from error
    if line.words:
        raise Unreadable(Message("unknown option {option}", option=line.words[0]))
    return line.values.get("--pack", ""), line.flags
