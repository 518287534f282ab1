"""Evaluates a policy for a command: everything it says, the strictest of which counts."""

from __future__ import annotations

from redoma.base.levels import LEVELS
from redoma.judge.interpret.arg import UNKNOWN
from redoma.judge.policy.conditions import holds
from redoma.judge.policy.listed_voices import file_voices, network_voices
from redoma.judge.policy.patterns import blocked_by, covered, first_named
from redoma.judge.policy.subject import Subject
from redoma.model.decision import Assessment, Decision, Effect, Risk, Verdict
from redoma.model.policy import (
    BUILT_IN_SOURCE,
    DEFAULT,
    SHIPPED_RULES,
    Action,
    Environment,
    Voice,
)
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.rules.pack import Pack
    from redoma.model.decision import Fact, HeldFinding
    from redoma.model.policy import Circumstances, Policy, Rule
    from redoma.model.script import Span

# What outlives the run in other systems or in this machine: in production someone confirms it.
_LASTING = (
    Effect.PUBLISHES,
    Effect.REMOTE,
    Effect.SCHEMA_CHANGE,
    Effect.REWRITES_HISTORY,
    Effect.PERSISTS,
    Effect.SYSTEM,
    Effect.PRIVILEGE,
)


def evaluate(
    assessment: Assessment, pack: Pack, policy: Policy, circumstances: Circumstances
) -> Decision:
    """The decision of a policy and of every policy below it."""
    held = held_here(pack, policy, circumstances)
    circumstances = _of_the_command(circumstances)
    seen = _seen(assessment, (), policy, circumstances)
    said = voices(assessment, pack, policy, circumstances, seen, held=held)
    verdict = max(voice.verdict for voice in said)
    strictest = [voice for voice in said if voice.verdict is verdict]
    because = [voice.reason for voice in strictest if voice.reason]
    set_aside = strictest[0].rule in ("allowlist_extensions", HELD)
    if assessment.risk and verdict >= pack.verdict(assessment.risk) and not set_aside:
        kept = {each.key for each in held}
        worst = [f for f in assessment.worst if f.key not in kept] or assessment.worst
        because = [*(finding.reason for finding in worst), *because]
    return Decision(
        verdict=verdict,
        because=tuple(dict.fromkeys(because)),
        policy=policy.name,
        assessment=assessment,
        level=pack.level(assessment.risk),
        rule=strictest[0].rule,
        isolation=isolation(policy, circumstances)[0],
        preview=preview(seen, policy),
        multiple_files=seen.multiple_files,
        held=held,
    )


HELD = "held_by_the_sandbox"
"""The rule of a decision that would have been a question, were the run not enclosed."""


def held_here(pack: Pack, policy: Policy, circumstances: Circumstances) -> tuple[HeldFinding, ...]:
    """What an enclosed run is not asked about under a policy; nothing where one says so.

    The documents' packs have levels and verdicts of their own, which no sandbox changes.
    """
    plan, facts = circumstances.containment, circumstances.facts
    if plan is None or not facts or pack.name != DEFAULT:
        return ()
    layer: Policy | None = policy
    while layer is not None:
        if layer.confirmation.ask_about_held:
            return ()
        layer = layer.floor
    from redoma.judge.policy.held_findings import held_findings

    return held_findings(facts, pack, plan)


def _of_the_command(circumstances: Circumstances) -> Circumstances:
    """Without what was found in script files: a policy's lists are about the command itself.

    What a script reaches, reads or writes beyond them, the sandbox holds to the same policy.
    """
    if not circumstances.facts or not any(fact.where for fact in circumstances.facts):
        return circumstances
    own = tuple(fact for fact in circumstances.facts if not fact.where)
    return replace(circumstances, facts=own)


def voices(
    assessment: Assessment,
    pack: Pack,
    policy: Policy,
    circumstances: Circumstances,
    seen: Subject | None = None,
    *,
    held: tuple[HeldFinding, ...] = (),
) -> list[Voice]:
    """Everything that is said to a command, the layer's own words before those below it.

    Only the levels' own verdicts are weighed against what is `held`: a rule that somebody wrote
    says what they want to be asked about, wherever it runs.
    """
    said: list[Voice] = []
    whole = seen or _seen(assessment, (), policy, circumstances)
    layer: Policy | None = policy
    while layer is not None:
        whole.under(layer)
        said += _voices(assessment, pack, layer, circumstances, whole, held)
        layer = layer.floor
    whole.under(policy)
    return list(dict.fromkeys(said))


def _voices(
    assessment: Assessment,
    pack: Pack,
    policy: Policy,
    circumstances: Circumstances,
    whole: Subject,
    held: tuple[HeldFinding, ...],
) -> list[Voice]:
    facts = circumstances.facts
    spans = covered(assessment.text, facts or (), policy.allow)
    rest = _seen(assessment, spans, policy, circumstances) if spans else whole
    said = [_by_level(rest, pack, held)] if _shipped(policy) else _own(policy, rest)
    if spans and rest.level < whole.level:
        reason = "what the allow list names is left out of this judgement"
        said[0] = Voice(verdict=said[0].verdict, rule="allowlist_extensions", reason=reason)
    for rule in policy.added_rules:
        seen = whole if rule.action is Action.BLOCK else rest
        if _matches(rule, seen):
            said.append(_rule_voice(rule))
    for clause in policy.confirmation.required_for:
        if holds(clause.tree, rest)[0]:
            said.append(
                Voice(
                    verdict=Verdict.CONFIRM,
                    rule="confirmation.required_for",
                    reason=f"confirmation is required for: {clause.text}",
                )
            )
    entry = blocked_by(assessment.text, facts, policy.block, circumstances.home)
    if entry:
        said.append(
            Voice(
                verdict=Verdict.DENY,
                rule="blocklist_extensions",
                reason=f"the block list has: {entry}",
            )
        )
    said += _production(rest, policy)
    said += file_voices(whole, policy, circumstances)
    said += network_voices(whole, policy)
    return said


def _seen(
    assessment: Assessment, without: tuple[Span, ...], policy: Policy, circumstances: Circumstances
) -> Subject:
    """What is left of a line without the commands at these places."""
    facts = circumstances.facts
    findings = assessment.findings
    if without:
        # An allow list reaches up to elevated; what is worse is never left out.
        findings = tuple(
            f for f in findings if f.risk > Risk.ELEVATED or not _inside(f.span, without)
        )
        facts = tuple(f for f in facts or () if not _inside(f.span, without))
    level = max((finding.risk for finding in findings), default=Risk.SAFE)
    left = Assessment(text=assessment.text, pack=assessment.pack, findings=findings)
    return Subject(left, level, facts, policy, circumstances)


def _inside(span: Span, places: tuple[Span, ...]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in places)


def _shipped(policy: Policy) -> bool:
    """Whether the levels decide, by the verdicts of the pack."""
    own = policy.own_rules
    return policy.name == DEFAULT and all(rule.source == BUILT_IN_SOURCE for rule in own)


def _by_level(seen: Subject, pack: Pack, held: tuple[HeldFinding, ...]) -> Voice:
    """What the pack says of the level; of a finding that is held, that it is logged."""
    verdict = pack.verdict(seen.level)
    if not held or verdict is not Verdict.CONFIRM:
        return Voice(verdict=verdict, rule=SHIPPED_RULES[verdict], reason="")
    by = {each.key: each.by for each in held}
    left = [finding.risk for finding in seen.findings if finding.key not in by]
    open_to = pack.verdict(max(left, default=Risk.SAFE))
    if open_to is Verdict.CONFIRM:
        return Voice(verdict=verdict, rule=SHIPPED_RULES[verdict], reason="")
    named = dict.fromkeys(by[f.key].words for f in seen.findings if f.key in by)
    reason = f"held by {', '.join(named)}"
    return Voice(verdict=max(open_to, Verdict.LOG), rule=HELD, reason=reason)


def _own(policy: Policy, seen: Subject) -> list[Voice]:
    said = [_rule_voice(rule) for rule in policy.own_rules if _matches(rule, seen)]
    if not said:
        reason = f"no rule of the policy {policy.name} allows it"
        said.append(Voice(verdict=Verdict.DENY, rule="no_rule", reason=reason))
    return said


def _matches(rule: Rule, seen: Subject) -> bool:
    """A rule that tightens needs one reason; a rule that allows needs every value to fit."""
    some, every = holds(rule.when.tree, seen)
    return every if rule.action.verdict <= Verdict.LOG else some


def _rule_voice(rule: Rule) -> Voice:
    verdict = rule.action.verdict
    reason = ""
    if verdict is Verdict.CONFIRM:
        reason = f"rule {rule.name} asks for confirmation: {rule.when.text}"
    elif verdict is Verdict.DENY:
        reason = f"rule {rule.name} blocks this: {rule.when.text}"
    return Voice(verdict=verdict, rule=rule.name, reason=reason, source=rule.source)


def _production(seen: Subject, policy: Policy) -> list[Voice]:
    if policy.environment < Environment.PRODUCTION:
        return []
    lasting = [effect.value for effect in _LASTING if effect.value in seen.effects]
    if not lasting:
        return []
    return [
        Voice(
            verdict=Verdict.CONFIRM,
            rule="environment",
            reason=f"in production what lasts is confirmed: {', '.join(lasting)}",
        )
    ]


def isolation(policy: Policy, circumstances: Circumstances) -> tuple[str, str]:
    """The least isolation that the policy and those below it ask for, and what asks for it."""
    level, why = "", ""
    layer: Policy | None = policy
    while layer is not None:
        for wanted, reason in _levels(layer, circumstances):
            if _rank(wanted) > _rank(level):
                level, why = wanted, reason
        layer = layer.floor
    return level, why


def _levels(policy: Policy, circumstances: Circumstances) -> list[tuple[str, str]]:
    asked = policy.isolation
    found = []
    level = asked.of_phase(circumstances.phase)
    if level:
        of_phase = level != asked.default_level
        found.append((level, f"phase {circumstances.phase}" if of_phase else "default_level"))
    named = first_named(circumstances.facts or (), asked.strict_for)
    if named or (asked.strict_for and _unknown_program(circumstances.facts)):
        found.append(("strict", f"strict_for: {named or 'a program that is not known'}"))
    if policy.environment is Environment.PRODUCTION:
        found.append(("standard", "environment: production"))
    return found


def _unknown_program(facts: tuple[Fact, ...] | None) -> bool:
    if facts is None:
        return True
    return any(f.effect is Effect.CALLS and f.detail.startswith(UNKNOWN) for f in facts)


def _rank(level: str) -> float:
    """How tight a level is; a profile of the user's own counts as they meant it, above standard."""
    if not level:
        return -1
    return LEVELS.index(level) if level in LEVELS else 1.5


def preview(seen: Subject, policy: Policy) -> str:
    """Why a dry run comes first, or nothing."""
    layer: Policy | None = policy
    while layer is not None:
        for clause in layer.dry_run.auto_enable_for:
            if holds(clause.tree, seen)[0]:
                return clause.text
        for rule in layer.rules:
            if rule.action is Action.DRY_RUN and holds(rule.when.tree, seen)[0]:
                return f"rule {rule.name}"
        layer = layer.floor
    return ""
