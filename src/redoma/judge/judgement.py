"""Judges a command: every fact found in its text, a pack's findings, a policy's decision."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import NOTHING, arg
from redoma.judge.interpret.invocation import Invocation
from redoma.judge.interpret.state import Ground, State
from redoma.judge.interpret.walker import TooMuch, Walker
from redoma.judge.shell.parser import parse
from redoma.judge.text.deception import as_seen, deceptions
from redoma.model.decision import Assessment, Decision, Effect, Fact, Finding
from redoma.model.policy import BUILT_IN, SHIPPED_RULES, Circumstances

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.programs.knowledge import Knowledge
    from redoma.judge.rules.pack import Pack
    from redoma.model.policy import Policy
    from redoma.model.request import PythonCall

_EXTGLOB = re.compile(r"[?*+@!]\(")
# What a call of some module's function means is read once; a program calls the same ones often.
_of_modules: dict[tuple[object, ...], list[Fact]] = {}
_MOST_MODULES = 256
_KNOWN_NOTHING = Circumstances()


def assess(text: str, pack: Pack, knowledge: Knowledge, ground: Ground) -> Assessment:
    """The findings for any text at all; what cannot be read is a finding, never an error."""
    return _judged(text, pack, facts_of(text, pack, knowledge, ground))


def examine(
    text: str, pack: Pack, knowledge: Knowledge, ground: Ground
) -> tuple[Assessment, tuple[Fact, ...]]:
    """The findings, and every fact behind them, calls included, for a policy that asks further."""
    facts = facts_of(text, pack, knowledge, ground, calls=True)
    return _judged(text, pack, facts), tuple(facts)


def assess_write(path: str, pack: Pack, knowledge: Knowledge, ground: Ground) -> Assessment:
    """The findings for a tool that writes one file, judged by where that file lies."""
    return examine_write(path, pack, knowledge, ground)[0]


def examine_write(
    path: str, pack: Pack, knowledge: Knowledge, ground: Ground
) -> tuple[Assessment, tuple[Fact, ...]]:
    """The findings and facts of a tool that writes one file."""
    if len(path) > pack.longest:
        facts = [_unknown(path, "length", str(pack.longest))]
    else:
        facts = _write_facts(path, knowledge, ground)
    return _judged(path, pack, facts), tuple(facts)


def examine_call(
    call: PythonCall, pack: Pack, knowledge: Knowledge, ground: Ground
) -> tuple[Assessment, tuple[Fact, ...]]:
    """The findings and facts of a Python call, judged as Python that runs the call's module.

    Attack: a plan that says `os:system` of what its shell would be asked about. So a call that was
    written as a text is judged as that text.
    """
    # A function that is in no module, or in one whose name is no word, is code of the project.
    module = call.name.rpartition(".")[0]
    named = module.replace(".", "").replace("_", "").isalnum() and module.isascii()
    text = f"python3 -m {module if named else 'call'}"
    if call.source:
        from shlex import quote

        text = f"python3 -c {quote(call.source)}"
    length = len(call.shown)
    # What the function does is the sandbox's to hold: no file is read for it.
    ground = Ground(ground.workspace, ground.home)
    key = (text, pack, knowledge, ground.workspace, ground.home)
    found = _of_modules.get(key)
    if found is None:
        found = facts_of(text, pack, knowledge, ground, calls=True)
        if not call.source and len(_of_modules) < _MOST_MODULES:
            _of_modules[key] = found
    facts = [_somewhere(fact, length) for fact in found]
    return _judged(call.shown, pack, facts), tuple(facts)


def _write_facts(path: str, knowledge: Knowledge, ground: Ground) -> list[Fact]:
    if not path.strip():
        return [_unknown(path, "empty")]
    facts = deceptions(path)
    if "\0" not in path:
        walker = Walker(path, ground, knowledge)
        word = arg(path, (0, len(path)))
        Invocation(walker, [word], State(ground), NOTHING, {}, word.span).writes(word)
        facts += walker.facts
    return facts


def _unknown(text: str, tag: str, detail: str = "") -> Fact:
    span = (0, len(text))
    return Fact(effect=Effect.UNKNOWN, span=span, tags=frozenset((tag,)), detail=detail)


def _judged(text: str, pack: Pack, facts: list[Fact]) -> Assessment:
    found: dict[tuple[str, object, str], Finding] = {}
    for fact in facts:
        finding = pack.judge(fact)
        if finding is not None:
            found.setdefault((finding.rule, finding.span, finding.reason), finding)
    ordered = sorted(found.values(), key=lambda f: (-f.risk, f.span))
    return Assessment(text=text, pack=pack.name, findings=tuple(ordered))


def facts_of(
    text: str, pack: Pack, knowledge: Knowledge, ground: Ground, *, calls: bool = False
) -> list[Fact]:
    """Everything that the text would do, in the order it was found."""
    # Conditions on programs are about what the command itself calls; a pack's rules are not.
    in_files = pack.wants_calls
    calls = calls or in_files
    if not text.strip():
        return [_unknown(text, "empty")]
    if len(text) > pack.longest:
        return [_unknown(text, "length", str(pack.longest))]
    facts = deceptions(text)
    if any("nul" in fact.tags or "invalid" in fact.tags for fact in facts):
        return facts
    facts += _walked(text, knowledge, ground, extglob=True, calls=calls, in_files=in_files)
    seen = text if text.isascii() and "\r" not in text else as_seen(text)
    if seen != text and seen.strip():
        # Attack: a dash that is none, a carriage return: people and terminals read it otherwise.
        facts += [
            _somewhere(fact, len(text))
            for fact in _walked(
                seen, knowledge, ground, extglob=True, calls=calls, in_files=in_files
            )
            if "syntax" not in fact.tags and "program" not in fact.tags
        ]
    if _EXTGLOB.search(text):
        # The shell may read `!(x)` either way: the worse of both counts.
        facts += [
            fact if "syntax" not in fact.tags else _only_without_extglob(fact)
            for fact in _walked(
                text, knowledge, ground, extglob=False, calls=calls, in_files=in_files
            )
        ]
    return facts


def _walked(
    text: str, knowledge: Knowledge, ground: Ground, *, extglob: bool, calls: bool, in_files: bool
) -> list[Fact]:
    walker = Walker(text, ground, knowledge)
    walker.extglob = extglob
    walker.calls_wanted = calls
    walker.calls_in_files = in_files
    try:
        walker.script(parse(text, extglob=extglob), State(ground))
    except (TooMuch, RecursionError):
        walker.facts.append(_unknown(text, "too-much"))
    return walker.facts


def _somewhere(fact: Fact, length: int) -> Fact:
    """The same fact of the whole text, where places have moved."""
    return Fact(
        effect=fact.effect,
        span=(0, length),
        program=fact.program,
        targets=fact.targets,
        tags=fact.tags,
        detail=fact.detail,
        where=fact.where,
    )


def _only_without_extglob(fact: Fact) -> Fact:
    return Fact(effect=Effect.UNKNOWN, span=fact.span, tags=frozenset(("extglob",)))


def decide(
    assessment: Assessment,
    pack: Pack,
    policy: Policy = BUILT_IN,
    circumstances: Circumstances = _KNOWN_NOTHING,
) -> Decision:
    """Allow, log, confirm or deny, with the reasons of what led there."""
    if policy is not BUILT_IN or circumstances.containment is not None:
        # Without a policy of anybody's own, a hook does without all that this needs.
        from redoma.judge.policy.evaluation import evaluate
        from redoma.judge.policy.shipped import start

        policy = start(pack.name) if policy is BUILT_IN else policy
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
        multiple_files=_several_files(assessment),
    )


def _several_files(assessment: Assessment) -> bool:
    """Whether the findings name more than one file that changes, or a pattern of them."""
    changed = {
        target
        for finding in assessment.findings
        if finding.effect in (Effect.WRITES, Effect.DELETES)
        for target in finding.targets
    }
    return len(changed) > 1 or any(not set("*?…").isdisjoint(target) for target in changed)
