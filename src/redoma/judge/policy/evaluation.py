"""Evaluates a policy for a command: everything it says, the strictest of which counts."""

from __future__ import annotations

from redoma.base.levels import LEVELS
from redoma.judge.interpret.arg import UNKNOWN
from redoma.judge.interpret.hosts import host_of
from redoma.judge.policy.conditions import holds
from redoma.judge.policy.patterns import (
    above,
    blocked_by,
    covered,
    expanded,
    first_named,
    host_fits,
    within,
)
from redoma.judge.policy.subject import Subject, hosts_of, known_start, names_of
from redoma.model.decision import Assessment, Decision, Effect, Place, Risk, Verdict
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
    from redoma.model.decision import Fact
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

_CHANGES = frozenset((Effect.WRITES, Effect.DELETES, Effect.PERSISTS))
_WHOLE = frozenset(("recursive", "whole"))
_SCHEMES = {"http": 80, "https": 443, "ssh": 22, "ftp": 21, "telnet": 23, "rdp": 3389}
_PROGRAMS = {
    **dict.fromkeys(("ssh", "scp", "sftp", "autossh", "mosh"), 22),
    "telnet": 23,
    **dict.fromkeys(("xfreerdp", "rdesktop"), 3389),
}
_PORT_OPTIONS = {"ssh": "-p", "autossh": "-p", "scp": "-P", "sftp": "-P"}
_LAST_IS_PORT = frozenset("telnet nc ncat netcat".split())


def evaluate(
    assessment: Assessment, pack: Pack, policy: Policy, circumstances: Circumstances
) -> Decision:
    """The decision of a policy and of every policy below it."""
    circumstances = _of_the_command(circumstances)
    seen = _seen(assessment, (), policy, circumstances)
    said = voices(assessment, pack, policy, circumstances, seen)
    verdict = max(voice.verdict for voice in said)
    strictest = [voice for voice in said if voice.verdict is verdict]
    because = [voice.reason for voice in strictest if voice.reason]
    set_aside = strictest[0].rule == "allowlist_extensions"
    if assessment.risk and verdict >= pack.verdict(assessment.risk) and not set_aside:
        because = [*(finding.reason for finding in assessment.worst), *because]
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
    )


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
) -> list[Voice]:
    """Everything that is said to a command, the layer's own words before those below it."""
    said: list[Voice] = []
    whole = seen or _seen(assessment, (), policy, circumstances)
    layer: Policy | None = policy
    while layer is not None:
        whole.under(layer)
        said += _voices(assessment, pack, layer, circumstances, whole)
        layer = layer.floor
    whole.under(policy)
    return list(dict.fromkeys(said))


def _voices(
    assessment: Assessment,
    pack: Pack,
    policy: Policy,
    circumstances: Circumstances,
    whole: Subject,
) -> list[Voice]:
    facts = circumstances.facts
    spans = covered(assessment.text, facts or (), policy.allow)
    rest = _seen(assessment, spans, policy, circumstances) if spans else whole
    said = [_by_level(rest.level, pack)] if _shipped(policy) else _own(policy, rest)
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


def _by_level(level: Risk, pack: Pack) -> Voice:
    verdict = pack.verdict(level)
    return Voice(verdict=verdict, rule=SHIPPED_RULES[verdict], reason="")


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


def file_voices(seen: Subject, policy: Policy, circumstances: Circumstances) -> list[Voice]:
    """Paths outside of what may be written, and paths that may not be touched."""
    rules = policy.filesystem
    workspace, home = circumstances.workspace, circumstances.home
    root = policy.root or workspace
    said: list[Voice] = []
    blocked = [(each, expanded(each, root, home)) for each in rules.blocked_paths]
    allowed = None
    if rules.allowed_paths is not None:
        allowed = [expanded(each, root, home) for each in rules.allowed_paths]
    for fact in seen.facts:
        for path in names_of(fact, workspace):
            shown = path.replace(UNKNOWN, "…")
            for written, pattern in blocked:
                taken = not _WHOLE.isdisjoint(fact.tags) and above(path, pattern)
                if within(path, pattern) or taken:
                    reason = f"{shown} is blocked by the policy: {written}"
                    said.append(_voice(Verdict.DENY, "filesystem.blocked_paths", reason))
                elif _may_be(path, pattern):
                    reason = f"{shown} may be blocked by the policy: {written}"
                    said.append(_voice(Verdict.CONFIRM, "filesystem.blocked_paths", reason))
            if allowed is None or fact.effect not in _CHANGES:
                continue
            if path.startswith(UNKNOWN):
                reason = "what is written is not known, and only some paths may be"
                said.append(_voice(Verdict.CONFIRM, "filesystem.allowed_paths", reason))
            elif not any(within(path, pattern) for pattern in allowed):
                reason = f"{shown} lies outside of the paths that may be written"
                said.append(_voice(Verdict.DENY, "filesystem.allowed_paths", reason))
    return said


def _may_be(path: str, pattern: str) -> bool:
    """Whether a path that is known in part could still become one that the pattern names."""
    known = known_start(path)
    return known not in ("", path) and pattern.startswith(known)


def network_voices(seen: Subject, policy: Policy) -> list[Voice]:
    """Hosts that are not on the list, ports that are blocked, and any where none may be reached."""
    rules = policy.network
    if not rules.restricted:
        return []
    said: list[Voice] = []
    named: set[str] = set()
    for fact in seen.facts:
        hosts = hosts_of(fact)
        local = {t.place for t in fact.targets} == {Place.LOOPBACK}
        if rules.allowed_hosts is not None:
            said += _unlisted(hosts, rules.allowed_hosts, local=local)
        if hosts or fact.effect is Effect.CALLS:
            said += [
                _voice(Verdict.DENY, "network.blocked_ports", f"port {port} is blocked")
                for port in _ports(fact)
                if port in rules.blocked_ports
            ]
        named.update(host for host in hosts if not local)
    if rules.max_connections == 0 and named:
        reason = "it names a host, and no connection is allowed"
        said.append(_voice(Verdict.DENY, "network.max_connections", reason))
    return said


def _unlisted(hosts: list[str], allowed: tuple[str, ...], *, local: bool) -> list[Voice]:
    said = []
    for host in hosts:
        if host == UNKNOWN:
            reason = "which host it talks to is not known, and only some are allowed"
            said.append(_voice(Verdict.CONFIRM, "network.allowed_hosts", reason))
        elif not any(host_fits(host, each) for each in allowed) and not (
            local and any(each in ("localhost", "127.0.0.1", "::1") for each in allowed)
        ):
            reason = f"{host or 'this machine'} is not on the list of hosts"
            said.append(_voice(Verdict.DENY, "network.allowed_hosts", reason))
    return said


def _ports(fact: Fact) -> set[int]:
    """The ports that a fact speaks of: as written, or the usual one of the scheme or program."""
    if fact.effect is Effect.CALLS:
        return _called_ports(fact.detail.split("\x1f"))
    found: set[int] = set()
    for target in fact.targets:
        text = str(target.text)
        if target.place not in (Place.HOST, Place.LOOPBACK):
            continue
        if text.startswith(("/dev/tcp/", "/dev/udp/")):
            found.update(int(part) for part in text.split("/")[4:5] if part.isdigit())
            continue
        scheme, double, rest = text.partition("://")
        authority = (rest if double else text).partition("/")[0].rpartition("@")[2]
        port = authority.rpartition("]")[2].rpartition(":")[2]
        if port.isdigit() and port != host_of(text):
            found.add(int(port))
        elif double and scheme.lower() in _SCHEMES:
            found.add(_SCHEMES[scheme.lower()])
        elif not double and "@" in text and ":" in text:
            found.add(22)  # git@host:path goes through ssh
    return found


def _called_ports(argv: list[str]) -> set[int]:
    name = argv[0]
    option = _PORT_OPTIONS.get(name)
    if option:
        for place, word in enumerate(argv[1:], 1):
            given = argv[place + 1] if word == option and place + 1 < len(argv) else word[2:]
            if word.startswith(option) and given.isdigit():
                return {int(given)}
    if name in _LAST_IS_PORT and argv[-1].isdigit():
        return {int(argv[-1])}
    return {_PROGRAMS[name]} if name in _PROGRAMS else set()


def _voice(verdict: Verdict, rule: str, reason: str) -> Voice:
    return Voice(verdict=verdict, rule=rule, reason=reason)
