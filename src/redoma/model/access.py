"""What a command may touch and how much of it: limits and grants."""

from __future__ import annotations

from enum import Enum

from redoma.model.guarantee import Guarantee
from redoma.model.network import Reach
from redoma.model.value import Value

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

    ON_SUCCESS = "on_success"
    ALWAYS = "always"  # however it ended, as in a terminal; it can still be taken back
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
        return f"the variable {self.variable}" if self.variable else f"the file {self.path}"


class Grant(Value):
    """What one run may do, and what has to be enforced for it to run at all."""

    level: str
    workspace: str
    writes: Writes = Writes.DIRECT
    apply: Apply = Apply.ON_SUCCESS
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
