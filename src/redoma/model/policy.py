"""What may happen and under which conditions: a `sandbox.yaml`, or several, understood.

A policy is read by `redoma.judge.policy` and put together from its layers: what is built in, the
user's own file, the project's. `floor` is the policy below the last layer; a decision is never
milder than the floor's.
"""

from __future__ import annotations

from enum import Enum, IntEnum

from redoma.model.decision import Verdict
from redoma.model.request import Choice
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from redoma.model.containment import Containment
    from redoma.model.decision import Fact

    # A parsed condition: an operator and its operands, as plain tuples that can be kept.
    Tree: TypeAlias = tuple[object, ...]

DEFAULT, STRICT, ISOLATION_ONLY = "default", "strict", "isolation-only"
BUILT_IN_SOURCE = "built-in"
SHIPPED_RULES = ("allow_safe", "log_elevated", "confirm_dangerous", "block_forbidden")
"""The rule of the default policy behind each verdict."""


class Action(Enum):
    """What a rule does with a command that its condition fits."""

    ALLOW = "allow"
    LOG = "log_and_allow"
    DRY_RUN = "dry_run"
    CONFIRM = "require_confirmation"
    BLOCK = "block"

    @property
    def verdict(self) -> Verdict:
        return _VERDICTS[self.value]


_VERDICTS = {
    "allow": Verdict.ALLOW,
    "log_and_allow": Verdict.LOG,
    "dry_run": Verdict.ALLOW,
    "require_confirmation": Verdict.CONFIRM,
    "block": Verdict.DENY,
}


class Environment(IntEnum):
    """What the machine is for; from production on, what leaves the workspace is confirmed."""

    DEVELOPMENT = 0
    TEST = 1
    STAGING = 2
    PRODUCTION = 3

    @property
    def label(self) -> str:
        return self.name.lower()


class Clause(Value):
    """A condition with the words it was written in."""

    text: str
    tree: Tree


class Rule(Value):
    """A named condition and what it does; `of` is the policy it belongs to, or "" when added."""

    name: str
    when: Clause
    action: Action
    of: str = ""
    source: str = BUILT_IN_SOURCE


class Isolation(Value):
    """How tightly runs are enclosed, at least."""

    default_level: str = ""
    strict_for: tuple[tuple[str, ...], ...] = ()
    # A phase of a workflow and its level, or the file of a profile.
    phases: tuple[tuple[str, str], ...] = ()

    def of_phase(self, phase: str) -> str:
        """The level of a phase; the default level where the phase has none."""
        return dict(self.phases).get(phase, self.default_level)


class Confirmation(Value):
    """When a person is asked, for how long, and what silence means."""

    timeout_seconds: float = 60.0
    default_action: Choice = Choice.DENY
    required_for: tuple[Clause, ...] = ()
    # Whether a person is also asked about what the sandbox holds or undo takes back.
    ask_about_held: bool = False


class Judgement(Value):
    """How long a judgement may take; what takes longer is refused."""

    # Processor time of the thread that judges, and ten times as much by the clock on the wall.
    deadline_seconds: float = 1.0


class DryRun(Value):
    """When a command is previewed before it runs."""

    auto_enable_for: tuple[Clause, ...] = ()


class Filesystem(Value):
    """Which paths a command may write, which it may not touch, and how much it may write."""

    allowed_paths: tuple[str, ...] | None = None
    blocked_paths: tuple[str, ...] = ()
    # Names that no command may write, beside those that tools obey.
    protected_names: tuple[str, ...] = ()
    max_file_size_mb: int | None = None
    max_total_size_mb: int | None = None
    max_changes: int | None = None
    max_depth: int | None = None


class NetworkRules(Value):
    """Which hosts a command may name; None is no list of our own."""

    allowed_hosts: tuple[str, ...] | None = None
    blocked_ports: tuple[int, ...] = ()
    max_connections: int | None = None
    inspect: bool = False
    # Hosts whose answers are kept, and the seconds before one is asked for the same again.
    cache_hosts: tuple[str, ...] = ()
    cache_ignored_headers: tuple[str, ...] = ()
    cache_min_interval: int = 30

    @property
    def restricted(self) -> bool:
        """Whether anything is said that an open network could not keep."""
        return bool(
            self.allowed_hosts is not None
            or self.blocked_ports
            or self.max_connections is not None
            or self.inspect
            or self.cache_hosts
        )


class SecretRules(Value):
    """Which secrets of the vault a command may get in plaintext; None is no list of our own."""

    allowed: tuple[str, ...] | None = None
    # Whether a person confirms each run that gets one.
    confirm: bool = True


class Resources(Value):
    """How much a run may use; None leaves it to the level."""

    max_memory_mb: int | None = None
    max_cpu_percent: int | None = None
    max_execution_time_seconds: float | None = None
    max_open_files: int | None = None
    max_processes: int | None = None


class LogLevel(IntEnum):
    """How much is written down."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2

    @property
    def label(self) -> str:
        return self.name.lower()


class Logging(Value):
    """What is written down of a run."""

    level: LogLevel = LogLevel.NORMAL
    include_command_output: bool = False
    redact_secrets: bool = True


class RateLimits(Value):
    """How often and how much in a time; None is no limit."""

    executions_per_minute: int | None = None
    concurrent_runs: int | None = None
    cpu_seconds_per_day: int | None = None
    bytes_written_per_day: int | None = None


class Retention(Value):
    """How much of the past is kept."""

    entries_per_session: int = 1000


class ConfirmPlans(Enum):
    """How often a person is asked about a plan of several steps."""

    PLAN = "plan"  # once, for exactly the steps that were shown
    STEP = "step"  # before each step that has to be confirmed


class KeptGrants(Value):
    """What runs are given for good, each as its option is written: `--allow-host`, `--env` …"""

    hosts: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    credentials: tuple[str, ...] = ()
    # Names of limits, and what they are set to.
    limits: tuple[tuple[str, str], ...] = ()

    def beside(self, other: KeptGrants) -> KeptGrants:
        """Both; of two values for one limit the other's counts."""
        names = ("hosts", "read", "write", "env", "credentials")
        both = {
            name: tuple(dict.fromkeys((*getattr(self, name), *getattr(other, name))))
            for name in names
        }
        limits = {**dict(self.limits), **dict(other.limits)}
        return KeptGrants(limits=tuple(limits.items()), **both)


NO_GRANTS = KeptGrants()


class RequestedGrants(Value):
    """What a project's file asks for, with the very content that asks: nothing by itself."""

    path: str
    digest: str
    grants: KeptGrants


class Plans(Value):
    """How plans of work are run."""

    confirm: ConfirmPlans = ConfirmPlans.STEP


class Example(Value):
    """A command and what the policy is expected to say to it."""

    command: str
    expect: Verdict
    source: str
    phase: str = ""
    isolation: str = ""


class Policy(Value):
    """Everything that decides, from every layer that applies."""

    __module__ = "redoma"

    name: str = DEFAULT
    digest: str = BUILT_IN_SOURCE
    pack: str = "default"
    environment: Environment = Environment.DEVELOPMENT
    rules: tuple[Rule, ...] = ()
    isolation: Isolation = Isolation()
    judgement: Judgement = Judgement()
    confirmation: Confirmation = Confirmation()
    dry_run: DryRun = DryRun()
    allow: tuple[tuple[str, ...], ...] = ()
    block: tuple[str, ...] = ()
    filesystem: Filesystem = Filesystem()
    network: NetworkRules = NetworkRules()
    secrets: SecretRules = SecretRules()
    resources: Resources = Resources()
    logging: Logging = Logging()
    rate_limits: RateLimits = RateLimits()
    retention: Retention = Retention()
    plans: Plans = Plans()
    # What the user's own file gives to every run, and what files of the project only ask for.
    grants: KeptGrants = KeptGrants()
    requests: tuple[RequestedGrants, ...] = ()
    # What a project may loosen after all, by key; only the user's own file can say so.
    projects_may: tuple[str, ...] = ()
    tests: tuple[Example, ...] = ()
    sources: tuple[str, ...] = (BUILT_IN_SOURCE,)
    # What `${PROJECT_ROOT}` and relative paths start from: the directory of a project's file, the
    # top of the project for the user's; empty where only the workspace of a request is known.
    root: str = ""
    floor: Policy | None = None
    # Another policy, judged by its own pack, that counts as well: the stricter of both decides.
    beside: Policy | None = None
    # The user's own cards, a program's name and its compiled card each; and a project's, by which
    # a command is judged a second time: they can only add risk.
    cards: tuple[tuple[str, bytes], ...] = ()
    project_cards: tuple[tuple[str, bytes], ...] = ()

    @property
    def own_rules(self) -> tuple[Rule, ...]:
        """The rules that make up the policy itself, without those that were added to it."""
        return tuple(rule for rule in self.rules if rule.of)

    @property
    def added_rules(self) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rules if not rule.of)


BUILT_IN = Policy()
"""Without any file: the levels decide, by the verdicts of the pack."""


class Circumstances(Value):
    """What is known of a request beside its text."""

    __module__ = "redoma"

    phase: str = ""
    profile: str = ""
    # None: nobody knows, which counts as not the first.
    first_execution: bool | None = None
    # How many files a preview saw change; None: there was none.
    files_affected: int | None = None
    workspace: str = ""
    home: str = ""
    # Everything found in the text, calls included; None: only the findings are known.
    facts: tuple[Fact, ...] | None = None
    # What the plan of an enclosed run holds; None: it runs as it is, or nobody knows yet.
    containment: Containment | None = None


class Voice(Value):
    """One thing a policy says to a command, and why."""

    verdict: Verdict
    rule: str
    reason: str
    source: str = BUILT_IN_SOURCE


class Rates(Value):
    """What one caller, or one session, may use; None is no limit."""

    executions_per_minute: int | None = None
    concurrent_runs: int | None = None
    cpu_seconds_per_day: float | None = None
    # What its runs wrote to files and printed, together.
    bytes_per_day: int | None = None


class AdmissionLimits(Value):
    """The rates of each caller and of each session; both hold."""

    per_caller: Rates = Rates()
    per_session: Rates = Rates()

    @property
    def any(self) -> bool:
        """Whether anything is limited at all."""
        return self.per_caller != Rates() or self.per_session != Rates()
