"""What a command would do, how bad that is, and whether it may happen: effects, risk, verdicts."""

from __future__ import annotations

from enum import Enum, IntEnum

from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.containment import Holder
    from redoma.model.script import Span


class Risk(IntEnum):
    """The only scale in the core; other names for it are tables in `redoma.dialects`."""

    __module__ = "redoma"

    SAFE = 0
    MODERATE = 1
    ELEVATED = 2
    DANGEROUS = 3
    FORBIDDEN = 4

    @property
    def label(self) -> str:
        return self.name.lower()


class Effect(Enum):
    """One kind of thing that a command does to the world."""

    __module__ = "redoma"

    CALLS = "calls"
    READS = "reads"
    WRITES = "writes"
    DELETES = "deletes"
    EXECUTES = "executes"
    DOWNLOADS_AND_EXECUTES = "downloads-and-executes"
    INSTALLS = "installs"
    NETWORK = "network"
    REMOTE = "remote"
    PRIVILEGE = "privilege"
    SECRETS = "secrets"
    EXFILTRATES = "exfiltrates"
    PERSISTS = "persists"
    PUBLISHES = "publishes"
    REWRITES_HISTORY = "rewrites-history"
    SCHEMA_CHANGE = "schema-change"
    KILLS = "kills"
    SYSTEM = "system"
    TAMPERS = "tampers"
    DECEIVES = "deceives"
    UNKNOWN = "unknown"

    @property
    def leaves_machine(self) -> bool:
        """Whether it reaches another machine, or brings in what comes from one."""
        return self in _LEAVING_MACHINE

    @property
    def irreversible(self) -> bool:
        """Whether discarding the changes of a workspace does not take it back."""
        return self in _IRREVERSIBLE


_LEAVING_MACHINE = frozenset(
    (
        *(Effect.NETWORK, Effect.REMOTE, Effect.EXFILTRATES, Effect.PUBLISHES),
        *(Effect.DOWNLOADS_AND_EXECUTES, Effect.INSTALLS),
    )
)
_IRREVERSIBLE = frozenset(
    (
        *(Effect.REMOTE, Effect.PUBLISHES, Effect.EXFILTRATES, Effect.SECRETS),
        *(Effect.DOWNLOADS_AND_EXECUTES, Effect.REWRITES_HISTORY, Effect.SCHEMA_CHANGE),
        *(Effect.KILLS, Effect.SYSTEM, Effect.PRIVILEGE, Effect.TAMPERS, Effect.PERSISTS),
        *(Effect.UNKNOWN, Effect.DECEIVES),
    )
)


class Place(Enum):
    """Where a target lies, as far as its name tells."""

    WORKSPACE = "workspace"
    TEMP = "temp"
    NOWHERE = "nowhere"
    OUTSIDE = "outside"
    HOME = "home"
    HOME_ROOT = "home-root"
    ROOT = "root"
    SYSTEM = "system"
    SYSTEM_TREE = "system-tree"
    DEVICE = "device"
    SECRET = "secret"
    STARTUP = "startup"
    GUARD = "guard"
    REPOSITORY = "repository"
    HOST = "host"
    LOOPBACK = "loopback"
    UNKNOWN = "unknown"


class Target(Value):
    """A thing that an effect touches, as written, and where it lies."""

    text: str
    place: Place
    # The absolute path, where it is one and was worked out; and what links make of it, where
    # someone looked.
    path: str = ""
    real: str = ""


class Fact(Value):
    """An effect found in a command, before any judgement of it."""

    __module__ = "redoma"

    effect: Effect
    span: Span
    program: str = ""
    targets: tuple[Target, ...] = ()
    tags: frozenset[str] = frozenset()
    detail: str = ""
    # The line of a script file that it was found in, `build.sh:3`; empty for the command itself.
    where: str = ""


class Finding(Value):
    """A fact judged by a rule: how bad, why, and what to do instead."""

    __module__ = "redoma"

    rule: str
    effect: Effect
    risk: Risk
    span: Span
    reason: str
    targets: tuple[str, ...] = ()
    alternative: str = ""

    @property
    def key(self) -> tuple[str, Span, str]:
        """What makes it one finding: several facts can lead to the same."""
        return self.rule, self.span, self.reason


class HeldFinding(Value):
    """A finding that an enclosed run need not be asked about, and what holds it."""

    finding: Finding
    by: Holder

    @property
    def key(self) -> tuple[str, Span, str]:
        return self.finding.key


class Listed(Value):
    """A rule of a pack that names commands: `git push --force` is its words and its flags."""

    rule: str
    risk: Risk
    commands: tuple[str, ...]
    reason: str


class Assessment(Value):
    """Everything found in one workload, most serious first."""

    __module__ = "redoma"

    text: str
    pack: str
    findings: tuple[Finding, ...] = ()

    @property
    def risk(self) -> Risk:
        return max((finding.risk for finding in self.findings), default=Risk.SAFE)

    @property
    def worst(self) -> tuple[Finding, ...]:
        """The findings that make the level what it is."""
        risk = self.risk
        return tuple(f for f in self.findings if f.risk == risk)


class Verdict(IntEnum):
    """What is to happen; the strictest of several is their maximum."""

    __module__ = "redoma"

    ALLOW = 0
    LOG = 1
    CONFIRM = 2
    DENY = 3

    @property
    def label(self) -> str:
        return self.name.lower()


class Decision(Value):
    """A verdict with its reasons and the policy that gave it."""

    __module__ = "redoma"

    verdict: Verdict
    because: tuple[str, ...]
    policy: str
    assessment: Assessment
    level: str = ""
    """The level in the words of the pack that judged: `critical` is `terminal`'s for elevated."""
    rule: str = ""
    """The rule of the policy that gave the verdict."""
    isolation: str = ""
    """The isolation level that the policy asks for, where it asks for one."""
    preview: str = ""
    """Why a dry run comes first, where the policy wants one."""
    multiple_files: bool = False
    """Whether more than one file is affected, as far as the text tells."""
    held: tuple[HeldFinding, ...] = ()
    """What an enclosed run is not asked about, each with what holds it; none where it is not
    enclosed, or where the policy wants to be asked all the same."""
