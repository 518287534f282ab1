"""What every engine is, and the sandbox that it prepares for one run.

The command of a run: its command line inside, and its environment where no root is built.

What every root has of its own, whoever builds it: the one description that engines keep to.

Which directories of the machine are shown is a grant's to say (`view`, `engines/frame`); what
stands here is the same in every sandbox of namespaces. `tests/contract/test_root.py` looks from
inside each of them and compares.
"""

from __future__ import annotations

import os

from redoma.jail.engines import view
from redoma.jail.protect import installation
from redoma.model.errors import EngineFailed
from redoma.model.request import Program, PythonCall, ShellCommand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Protocol

    from redoma.jail.overlay.store import Overlay
    from redoma.jail.probe.trial import TrialRunner
    from redoma.jail.protect.protected_paths import RunProtection
    from redoma.jail.protect.run_journal import RunEntry
    from redoma.model.grant import EngineReport, Launch, RunPlan
    from redoma.model.request import Workload
    from redoma.model.result import Quarantined

    class Engine(Protocol):
        """One way to confine a command; `registry` declares what it can do."""

        name: str

        def probe(self, run: TrialRunner) -> EngineReport:
            """What it enforces here, found by running something in it with `run`."""

        def probe_identity(self) -> str:
            """What the probe's findings depend on beside the machine: the files it starts."""

        def adopt(self, report: EngineReport) -> None:
            """Uses what a probe found: the program that worked, and how."""

        def prepare(self, plan: RunPlan) -> AbstractContextManager[PreparedSandbox]:
            """Builds what is needed to start a run; never starts it."""

        def close(self) -> None:
            """Ends what is kept ready for further runs."""


# /dev: the devices that every program may use, and the links beside them.
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
DEVICE_LINKS = (
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("core", "/proc/kcore"),
    ("ptmx", "pts/ptmx"),
)
DEVICE_DIRECTORIES = ("shm", "pts")

# /proc: what changes the machine can only be read; where its mode lets nobody write it anyway, it
# is left as it is.
READ_ONLY_IN_PROC = ("sys", "sysrq-trigger", "irq", "bus")
# The first process is the sandbox's own. Attack: /proc/1/exe leads to the launcher's program past
# every mount made here, /proc/1/mem to what it will say of the command's end. Bubblewrap's is
# covered by an empty directory; our own are invisible to whoever may not trace them.
FIRST_PROCESS = "/proc/1"
PROC_OPTIONS = "hidepid=2"

# By kind of file system, what every mount of it has. An overlay that is written under bubblewrap
# has none of these by name: it belongs to a user namespace, where the kernel opens no device
# through it, and no program gains anything by its set-id bits since none may gain privileges.
ALWAYS = frozenset({"nosuid", "nodev"})
FLAGS = {"proc": ALWAYS | {"noexec"}, "devpts": frozenset({"nosuid", "noexec"})}
# A device is of use through its own mount alone.
OF_DEVICES = frozenset({"nosuid"})

# What a process of the command has, as /proc/self/status says it.
STATUS = {
    "CapInh": "0" * 16,
    "CapPrm": "0" * 16,
    "CapEff": "0" * 16,
    "CapBnd": "0" * 16,
    "CapAmb": "0" * 16,
    "NoNewPrivs": "1",
    "Seccomp": "2",
}
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")


# 127 for a missing program and 126 for one that may not be run, as every shell says.
_EXEC = 'exec "$0" "$@"'
# Nothing of the caller's is in the interpreter but what it reads from its standard input.
_CALL = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from redoma.jail.calls.harness import main; main(sys.argv[2:])"
)


def command_of(workload: Workload, path: str, visible: tuple[str, ...]) -> tuple[str, ...]:
    """What to execute for a workload."""
    if isinstance(workload, ShellCommand):
        # A line that begins with a dash would be read as the shell's own options.
        text = f" {workload.text}" if workload.text.startswith(("-", "+")) else workload.text
        return (workload.shell, "-c", text)
    if isinstance(workload, PythonCall):
        python = (installation.INTERPRETER, "-I", "-S", "-B", "-X", "utf8")
        return (*python, "-c", _CALL, installation.LIBRARY, *workload.entry)
    assert isinstance(workload, Program)
    name, *rest = workload.argv
    found = _found(name, path, visible)
    if found:
        return (found, *rest)
    return ("/bin/sh", "-c", _EXEC, name, *rest)


def shown_as_it_is(plan: RunPlan) -> tuple[view.View, dict[str, str]]:
    """The view and the environment for engines that show the machine's own paths."""
    grant = plan.grant
    if any(each.path for each in grant.secrets):
        raise EngineFailed(
            f"the engine {plan.engine} has no place of its own for a secret's file",
            hint="give the secret in a variable, or take an engine with a root of its own",
        )
    home = view.home_directory()
    roots = (grant.workspace, *grant.writable, *grant.readable)
    seen = view.build(grant.home, home=home, path=os.environ.get("PATH", ""), keep=roots)
    env = view.clean(
        view.passing(grant.variables),
        home=home,
        path=seen.path,
        user=view.user_name(os.geteuid()),
        given=(*grant.env, *secret_variables(plan)),
        visible=tuple(place for _, place in seen.binds) + roots,
    )
    return seen, env


def secret_variables(plan: RunPlan) -> list[tuple[str, str]]:
    """The variables that a command gets a secret in; none at a trial, which has no secrets."""
    pairs = zip(plan.grant.secrets, plan.secrets, strict=False)
    return [(grant.variable, secret.reveal()) for grant, secret in pairs if grant.variable]


def _found(name: str, path: str, visible: tuple[str, ...]) -> str:
    """The program's full path if it can surely be executed inside."""
    if "/" in name:
        candidates = [name] if name.startswith("/") else []
    else:
        candidates = [f"{entry}/{name}" for entry in path.split(":")]
    for candidate in candidates:
        if os.access(candidate, os.X_OK) and os.path.isfile(candidate):
            real = os.path.realpath(candidate)
            return candidate if real.startswith(tuple(f"{v}/" for v in visible)) else ""
    return ""


class PreparedSandbox:
    """One run's sandbox before it starts: how to start it, and what to take back after it."""

    def __init__(
        self,
        launch: Launch,
        protections: list[RunProtection],
        notes: tuple[str, ...] = (),
        *,
        entry: RunEntry | None = None,
        overlay: Overlay | None = None,
    ) -> None:
        self.launch = launch
        # Where the run's writes are held, if they are; whoever runs it sees to it afterwards.
        self.overlay = overlay
        self.notes = notes
        self._protections = protections
        self._entry = entry

    def settle(self) -> tuple[Quarantined, ...]:
        """Takes back what the command made where it may not; called when the tree is dead."""
        taken: list[Quarantined] = []
        while self._protections:
            taken += self._protections.pop(0).settle()
        if self._entry is not None:
            self._entry.end()
        return tuple(taken)


def file_stamp(path: str) -> str:
    """A word that is another one as soon as the file at a path is."""
    try:
        status = os.stat(path)
    except OSError:
        return f"{path}:gone"
    return f"{path}:{status.st_mtime_ns}:{status.st_size}"
