"""What a condition can ask about: everything that is known of one line, by name."""

from __future__ import annotations

from redoma.judge.interpret.arg import UNKNOWN
from redoma.judge.interpret.hosts import host_of
from redoma.judge.policy.patterns import expanded, host_fits, within
from redoma.model.decision import Effect, Place, Risk
from redoma.model.policy import Environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from redoma.model.decision import Assessment, Fact, Target
    from redoma.model.policy import Circumstances, Policy

_OF_FILES = frozenset(
    (Effect.READS, Effect.WRITES, Effect.DELETES, Effect.EXECUTES, Effect.SECRETS, Effect.PERSISTS)
)
_CHANGES = frozenset((Effect.WRITES, Effect.DELETES))
_ELSEWHERE = frozenset((Place.HOST, Place.LOOPBACK, Place.NOWHERE))
_MANY = frozenset(("recursive", "whole", "unpacked", "project"))
_COPIERS = frozenset(("cp", "mv", "install", "ln"))


class Subject:
    """The values of every name, for one line under one policy."""

    __slots__ = (
        "changed",
        "circumstances",
        "effects",
        "environment",
        "external",
        "facts",
        "findings",
        "hosts",
        "level",
        "paths",
        "programs",
        "root",
        "uncertain",
    )

    def __init__(
        self,
        assessment: Assessment,
        level: Risk,
        facts: tuple[Fact, ...] | None,
        policy: Policy,
        circumstances: Circumstances,
    ) -> None:
        self.level = level
        self.findings = assessment.findings
        self.circumstances = circumstances
        self.under(policy)
        self.facts = facts or ()
        if facts is None:
            # Nobody looked at the calls: what they are could be anything.
            self.effects = {finding.effect.value for finding in assessment.findings}
            self.programs = self.paths = self.hosts = {UNKNOWN}
            self.changed = len({t for f in assessment.findings for t in f.targets})
            self.uncertain = any(f.effect in _CHANGES for f in assessment.findings)
            self.external = any(f.effect.leaves_machine for f in assessment.findings)
            return
        self.effects = {f.effect.value for f in facts if f.effect is not Effect.CALLS}
        self.programs = {_program(f) for f in facts if f.effect is Effect.CALLS}
        self.paths = {path for f in facts for path in names_of(f, circumstances.workspace)}
        self.hosts = {host for f in facts for host in hosts_of(f)}
        self.changed, self.uncertain = _files_changed(facts, circumstances.workspace)
        self.external = any(map(_goes_out, facts))

    def under(self, policy: Policy) -> None:
        """The same line, seen by another layer."""
        self.environment = policy.environment
        self.root = policy.root or self.circumstances.workspace

    @property
    def multiple_files(self) -> bool:
        """Whether more than one file changes, as far as is known."""
        known = self.circumstances.files_affected
        return self.changed > 1 or self.uncertain if known is None else known > 1

    def fits(self, sign: str, name: str, values: tuple[str, ...]) -> tuple[bool, bool]:
        """Whether a comparison holds for some value of the name, and whether for every one."""
        if name == "safety_level":
            return _both(any(_compared(sign, self.level, Risk[v.upper()]) for v in values))
        if name == "environment":
            here = self.environment
            return _both(any(_compared(sign, here, Environment[v.upper()]) for v in values))
        if name == "files_affected":
            return self._counted(sign, values)
        if name == "multiple_files":
            return _both(self.multiple_files)
        if name == "external_network":
            return _both(self.external)
        if name == "first_execution":
            return _both(self.circumstances.first_execution is True)
        return self._among(name, values)

    def _among(self, name: str, values: tuple[str, ...]) -> tuple[bool, bool]:
        around = self.circumstances
        if name in ("path", "workspace"):
            found = self.paths if name == "path" else {around.workspace or UNKNOWN}
            wanted = [expanded(value, self.root, around.home) for value in values]
            return _matched(found, wanted, within)
        if name == "host":
            return _matched(self.hosts, values, host_fits)
        single = {"profile": around.profile, "phase": around.phase}
        found = {"effects": self.effects, "program": self.programs}.get(
            name, {single.get(name, "")}
        )
        return _matched(found, values, str.__eq__)

    def _counted(self, sign: str, values: tuple[str, ...]) -> tuple[bool, bool]:
        known = self.circumstances.files_affected
        count = self.changed if known is None else known
        wanted = [int(value) for value in values]
        now = any(_compared(sign, count, each) for each in wanted)
        if known is not None or not self.uncertain:
            return _both(now)
        more = any(_compared(sign, 1 << 60, each) for each in wanted)
        return now or more or sign == "==", now and more and sign != "=="


def _both(answer: bool) -> tuple[bool, bool]:  # noqa: FBT001
    return answer, answer


def _compared(sign: str, one: int, other: int) -> bool:
    if sign == "==":
        return one == other
    if sign == "<":
        return one < other
    if sign == "<=":
        return one <= other
    return one > other if sign == ">" else one >= other


def _matched(found: Iterable[str], wanted: Sequence[str], fits: object) -> tuple[bool, bool]:
    some, every, any_at_all = False, True, False
    for value in found:
        any_at_all = True
        good = any(fits(value, each) for each in wanted)  # type: ignore[operator]
        known = known_start(value)
        if known != value:
            # Attack: `cat ~/$x` may be any file below home; it is some of them, and never all.
            good_enough = any(each.startswith(known) for each in wanted)
            some, every = some or good or good_enough, every and good and UNKNOWN not in value
        else:
            some, every = some or good, every and good
    return some, every and any_at_all


def known_start(value: str) -> str:
    """A path up to where it is a pattern, or not known."""
    for place, char in enumerate(value):
        if char in "*?[\0":
            return value[:place]
    return value


def _program(fact: Fact) -> str:
    name = fact.detail.partition("\x1f")[0]
    return UNKNOWN if UNKNOWN in name else name


def paths_of(fact: Fact, workspace: str) -> list[str]:
    """The absolute paths that a fact is about; what is not known begins with the unknown."""
    if fact.effect not in _OF_FILES:
        return []
    return [_path(t, workspace) for t in fact.targets if t.place not in _ELSEWHERE]


def names_of(fact: Fact, workspace: str) -> list[str]:
    """The same, with what links make of them."""
    found = paths_of(fact, workspace)
    return found + [t.real for t in fact.targets if t.real and fact.effect in _OF_FILES]


def _path(target: Target, workspace: str) -> str:
    path = target.path or target.text
    if path.startswith(("/", UNKNOWN)):
        return path
    if target.place in (Place.WORKSPACE, Place.REPOSITORY) and "/.." not in f"/{path}":
        return f"{workspace}/{path}"
    return UNKNOWN


def hosts_of(fact: Fact) -> list[str]:
    """The hosts that a fact names; none where a program chooses its own."""
    named = [t for t in fact.targets if t.place in (Place.HOST, Place.LOOPBACK)]
    hosts = []
    for target in named:
        text = str(target.text)
        if text.startswith(("/dev/tcp/", "/dev/udp/")):
            text = text.split("/")[3]
        host = host_of(text)
        hosts.append(UNKNOWN if UNKNOWN in host else host)
    return hosts


def _goes_out(fact: Fact) -> bool:
    if not fact.effect.leaves_machine or "listen" in fact.tags:
        return False
    return not fact.targets or any(t.place is not Place.LOOPBACK for t in fact.targets)


def _is_pattern(word: str) -> bool:
    """Whether a word can be several files: a pattern, or a part that is not known."""
    return not set("*?[\0").isdisjoint(word)


def _files_changed(facts: tuple[Fact, ...], workspace: str) -> tuple[int, bool]:
    """How many files the text names as changed, and whether it could be more."""
    changed: set[str] = set()
    more, uncertain = 0, False
    for fact in facts:
        if fact.effect is Effect.CALLS:
            words = fact.detail.split("\x1f")
            git = words[:2] == ["git", "mv"]  # its facts name no file
            operands = [word for word in words[1 + git :] if word[:1] != "-"]
            if words[0] in _COPIERS or git:
                # What is copied or moved is only read; how many files that is, these words tell.
                more += max(0, len(operands) - 2 + git)
                uncertain = uncertain or any(map(_is_pattern, words[1:]))
        elif fact.effect in _CHANGES:
            paths = paths_of(fact, workspace)
            changed.update(paths)
            if any(map(_is_pattern, paths)) or not _MANY.isdisjoint(fact.tags):
                uncertain = True
    return len(changed) + more, uncertain
