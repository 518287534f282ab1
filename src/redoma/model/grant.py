"""What one run may touch, what a sandbox promises, and how the run will be done."""

from __future__ import annotations

from enum import Enum

from redoma.model.message import Message
from redoma.model.network import Reach
from redoma.model.request import Request
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn, TypeAlias

    # The launch, its three standard descriptors, its limits and its terminal's path: a process.
    Starter: TypeAlias = Callable[["Launch", tuple[int, int, int], Any, str], int]


_HIDDEN = "Secret(…)"


class Secret:
    """A text that is only given to who asks for it by name.

    It is not printed, formatted, pickled, copied or encoded as JSON, and a dump of the local
    variables of a traceback shows a placeholder. The text lies behind a function, so that whoever
    walks the attributes of values does not come to it either.
    """

    __slots__ = ("reveal",)
    reveal: Callable[[], str]
    """The secret itself."""

    def __init__(self, text: str) -> None:
        # Set past our own guard; nobody sets it again.
        object.__setattr__(self, "reveal", lambda: text)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a secret does not change")

    def __repr__(self) -> str:
        return _HIDDEN

    __str__ = __repr__

    def __format__(self, form: str) -> str:
        return _HIDDEN

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written down")

    def __copy__(self) -> NoReturn:
        raise TypeError("a secret is not copied")

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise TypeError("a secret is not copied")


class Guarantee(Enum):
    """One thing that a sandbox keeps a command from doing."""

    WRITES_CONFINED = "writes-confined"
    READS_CONFINED = "reads-confined"
    PROTECTED_PATHS = "protected-paths"
    NETWORK_CLOSED = "network-closed"
    NETWORK_ALLOW_LISTED = "network-allow-listed"
    PROCESSES_HIDDEN = "processes-hidden"
    NO_NEW_PRIVILEGES = "no-new-privileges"
    SYSCALLS_FILTERED = "syscalls-filtered"
    MEMORY_CAPPED = "memory-capped"  # the kernel holds the tree as a whole to it
    MEMORY_WATCHED = "memory-watched"  # we look at the tree, and end it when it is past it
    CPU_CAPPED = "cpu-capped"
    CPU_WATCHED = "cpu-watched"
    PROCESSES_CAPPED = "processes-capped"
    DISK_CAPPED = "disk-capped"
    DISK_WATCHED = "disk-watched"
    TREE_KILLED = "tree-killed"
    CHANGES_HELD = "changes-held"

    # Enum's own hash is a Python function; sets of guarantees are compared on every run.
    __hash__ = object.__hash__

    @property
    def words(self) -> str:
        """The guarantee as a reader says it: `writes confined`."""
        return self.value.replace("-", " ")


_WEAKER = {
    Guarantee.MEMORY_CAPPED: Guarantee.MEMORY_WATCHED,
    Guarantee.CPU_CAPPED: Guarantee.CPU_WATCHED,
    Guarantee.DISK_CAPPED: Guarantee.DISK_WATCHED,
}


def covered(held: frozenset[Guarantee]) -> frozenset[Guarantee]:
    """What is held, and what that is more than: whoever wants it watched has it capped."""
    return held.union(weaker for stronger, weaker in _WEAKER.items() if stronger in held)


class EngineReport(Value):
    """What one engine enforces on this machine, as found by trying it."""

    name: str
    version: str = ""
    # The program that was tried, where an engine starts one.
    program: str = ""
    # Whether what is only read was shown through overlays, where an engine shows it so.
    overlays: bool = True
    guarantees: frozenset[Guarantee] = frozenset()
    # What it cannot give here, each with the reason; and what a person would type to change that.
    missing: tuple[tuple[Guarantee, str], ...] = ()
    hints: tuple[str, ...] = ()
    # How each thing is held, for people: `memory-capped` -> `cgroup v1`.
    mechanisms: tuple[tuple[Guarantee, str], ...] = ()

    @property
    def usable(self) -> bool:
        """Whether it can run something at all, be it without any guarantee."""
        return bool(self.guarantees or self.version)

    def why_not(self, required: frozenset[Guarantee]) -> str:
        """Why this engine cannot give what is required, in one line."""
        reasons = dict(self.missing)
        lacking = sorted(required - covered(self.guarantees), key=lambda g: g.value)
        told = dict.fromkeys(
            reasons.get(g, Message("does not give {guarantee}", guarantee=Message(g.words)))
            for g in lacking
        )
        return Message.joined("; ", told)


class Enforcement(Value):
    """What was asked for and what held, with the mechanism that held it."""

    engine: str
    required: frozenset[Guarantee]
    held: frozenset[Guarantee]
    mechanisms: tuple[tuple[Guarantee, str], ...] = ()

    @property
    def shortfall(self) -> frozenset[Guarantee]:
        """Required but not held; never empty without the run having been refused."""
        return self.required - self.held

    def sentence(self) -> str:
        """One line for people: what held, and what did not."""
        said = self.held - {weaker for more, weaker in _WEAKER.items() if more in self.held}
        held = [g.words for g in Guarantee if g in said]
        what = Message.joined(", ", held) or Message("nothing enforced")
        text = Message("{engine}: {held}", engine=self.engine, held=what)
        lost = Message.joined(", ", [g.words for g in Guarantee if g in self.shortfall])
        return (
            Message.joined("; ", (text, Message("NOT held: {lost}", lost=lost))) if lost else text
        )


# Owns nothing on any machine we know: above system users, people and the usual subordinate ids.
NOBODYS_UID = 900_000
SHARED = ("/tmp", "/var/tmp")
"""Directories that everybody writes: where one of them is given, no path in it is protected."""


class Writes(Enum):
    """Where what a command writes into the workspace goes."""

    DIRECT = "direct"
    LAYER = "layer"  # over the workspace in a layer; applied or discarded after the run
    MEMORY = "memory"  # over the workspace in memory; gone when the command ends
    NONE = "none"  # the workspace can be read only


class Apply(Enum):
    """When what a run wrote into its overlay becomes real."""

    ALWAYS = "always"  # however it ended; it can still be taken back
    ON_END = "on_end"  # where it came to an end of its own, whatever its status: as a shell would
    ON_SUCCESS = "on_success"
    ASK = "ask"
    NEVER = "never"  # kept as a preview, to be applied by name


class NetworkMode(Enum):
    """What a command can reach."""

    CLOSED = "closed"  # only a loopback of its own
    GATED = "gated"  # a loopback of its own, and the hosts that were granted through a gate
    OPEN = "open"  # the machine's own network, its loopback included


class Home(Enum):
    """How much of the caller's home directory is seen; credentials never are."""

    TOOLCHAINS = "toolchains"
    NOTHING = "nothing"


class Syscalls(Enum):
    """Which list of system calls is refused."""

    USUAL = "usual"
    STRICTEST = "strictest"


class Variables(Enum):
    """Which of the caller's environment variables pass by themselves."""

    FEW = "few"  # those that say how to show things, and where toolchains stand
    NONE = "none"


class Limits(Value):
    """How much a command may use; None is no limit. Sizes are bytes, times are seconds."""

    __module__ = "redoma"

    memory: int | None = None
    # Beside the memory; where nothing is said, memory never goes to swap.
    swap: int | None = None
    # What one process may map, used or not.
    address_space: int | None = None
    cpu_percent: int | None = None
    cpu_seconds: int | None = None
    processes: int | None = None
    open_files: int | None = None
    file_size: int | None = None
    total_written: int | None = None
    # What has to stay free on the disk that it writes to, whoever fills it.
    keep_free: int | None = None
    temporary: int | None = None
    # How many paths a run may change, and how deep below the workspace, for that to be read and
    # applied by itself; past it everything is held.
    changes: int | None = None
    depth: int | None = None
    wall_seconds: float | None = None
    # Of each stream so much is kept and shown, the rest is read and thrown away; without it all is
    # shown, and 8 MiB kept. Past `output_total` the run is ended.
    output: int | None = None
    output_total: int | None = None


SECRETS = "/run/secrets"
"""Where a secret lies inside that is given as a file: memory of the run's own."""


class SecretGrant(Value):
    """A secret of the vault that a command gets in plaintext: in a variable, or in a file."""

    name: str
    variable: str = ""
    path: str = ""

    @property
    def text(self) -> str:
        """The grant as it is written."""
        return f"{self.name}={self.variable or self.path}"

    @property
    def place(self) -> str:
        """Where the command finds it, for a person."""
        return (
            Message("the variable {variable}", variable=self.variable)
            if self.variable
            else Message("the file {path}", path=self.path)
        )


class Grant(Value):
    """What one run may do, and what has to be enforced for it to run at all."""

    level: str
    workspace: str
    writes: Writes = Writes.DIRECT
    apply: Apply = Apply.ON_END
    # Whether what is replaced when changes are applied is kept, so that it can be undone.
    undo: bool = True
    home: Home = Home.TOOLCHAINS
    network: NetworkMode = NetworkMode.CLOSED
    # Whether hosts may be granted under it at all.
    network_grants: bool = True
    # Whom a gated network lets through.
    reach: Reach = Reach()
    syscalls: Syscalls = Syscalls.USUAL
    limits: Limits = Limits()
    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    # Names that a policy protects beside those that tools obey.
    protected: tuple[str, ...] = ()
    variables: Variables = Variables.FEW
    # Whether a Python call may start other processes; a command always may.
    subprocesses: bool = True
    # Environment variables given by name and value.
    env: tuple[tuple[str, str], ...] = ()
    # Secrets that it gets in plaintext, by name; their values are nowhere in a grant.
    secrets: tuple[SecretGrant, ...] = ()
    require: frozenset[Guarantee] = frozenset()
    prefer: tuple[str, ...] = ()


class RunPlan(Value):
    """A request with the engine that will run it and what that engine will hold."""

    request: Request
    grant: Grant
    engine: str
    enforcement: Enforcement
    terminal: bool = False
    # What control groups hold for the tree as a whole: `memory`, `pids`, `cpu`.
    controllers: frozenset[str] = frozenset()
    # Whether it is noted which files the command opens.
    trace_files: bool = False
    # Whether somebody has to look after it where we are killed; not at a trial in a place of ours.
    journaled: bool = True
    # The values of the grant's secrets, in their order; empty where it gets none.
    secrets: tuple[Secret, ...] = ()


class Handshake(Value):
    """The engine's own channel: it names its first process, waits, and reports the end.

    Until `go` is written the command does not exist, so limits are on it before its first
    instruction.
    """

    status: int  # read end: JSON lines, `child-pid` first and `exit-code` last
    go: int  # write end


class Launch(Value):
    """One process to start, and nothing of the caller in it but what stands here."""

    argv: tuple[str, ...]
    env: dict[str, str]
    # Who makes the process, where it is not started as a program; it is the sandbox's first.
    starter: Starter | None = None
    cwd: str = ""
    # (our descriptor, its number in the child): every other descriptor is closed. Whoever starts
    # the process closes ours and empties the list.
    fds: list[tuple[int, int]]
    handshake: Handshake | None = None
    terminal: bool = False
    # A sandbox with its own process namespace ends with its first process.
    own_process_namespace: bool = True
    limits: Limits = Limits()
    # Directories inside whose files are in memory, in a file system without a size of its own.
    in_memory: tuple[str, ...] = ()
    # How much of that was used before the run, by whomever.
    in_memory_before: int = 0
    # The same with a size of its own: memory of the run, but nothing that it wrote.
    temporary: tuple[str, ...] = ()
    # Whether a layer on a disk is mounted: the kernel writes all of it out when it takes it away.
    over_disk: bool = False
    # Limits that the engine already holds, by name: the supervisor leaves these alone.
    held_by_engine: frozenset[str] = frozenset()
    # How to call something where the sandbox's mounts are; the start has to happen there.
    inside: Callable[[Callable[[], int]], int] | None = None
    # Bytes on the engine's standard error that mean it could not set up, not the command's words.
    complaint: str = ""
    trace_files: bool = False
    # How many bytes of answer are read from descriptor 3 of the child; 0 where it has none.
    answers: int = 0
    # What a process that is kept ready runs in itself, in the place of `argv`; empty: nothing.
    entry: tuple[str, ...] = ()
    # Whom a gate lets through; None where there is no gate.
    gate: Reach | None = None
    # Who signs certificates for this run, where its TLS is opened.
    authority: object | None = None
    # The secrets of the gate's credentials, in their order; they are never given to the child.
    secrets: tuple[Secret, ...] = ()
    # Those in every form in which a command may print them; stars stand for them in its output.
    hidden: tuple[bytes, ...] = ()
