"""Tries a sandbox of namespaces as it will be used, and reads from inside what holds there."""

from __future__ import annotations

import os
import tempfile

from redoma.base import own_directories
from redoma.jail.kernel import seccomp
from redoma.jail.probe.inside import SCRIPT, held_inside
from redoma.jail.probe.obstacles import hints, obstacle
from redoma.model.errors import IsolationError
from redoma.model.grant import (
    Enforcement,
    EngineReport,
    Grant,
    Guarantee,
    Launch,
    Limits,
    NetworkMode,
    RunPlan,
    Writes,
)
from redoma.model.message import Message
from redoma.model.request import Request, ShellCommand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Protocol

    from redoma.model.result import Exit

    class TrialRunner(Protocol):
        """Whoever runs a launch to its end: the supervisor."""

        def __call__(self, launch: Launch, *, directory: str = "") -> Exit: ...

    class TriedSandbox(Protocol):
        """What an engine prepares for a trial."""

        @property
        def launch(self) -> Launch: ...
        def settle(self) -> object: ...

    class Preparer(Protocol):
        """What makes the parts of a sandbox, with overlays or without."""

        overlays: bool

    class TriedEngine(Protocol):
        """An engine whose sandbox is made of namespaces."""

        name: str

        @property
        def preparer(self) -> Preparer: ...
        def prepare(self, plan: RunPlan) -> AbstractContextManager[TriedSandbox]: ...
        def close(self) -> None: ...


EVERYTHING = frozenset(Guarantee)
MECHANISMS = (
    (Guarantee.WRITES_CONFINED, "mount namespace with a root of its own"),
    (Guarantee.READS_CONFINED, "mount namespace with a root of its own"),
    (Guarantee.PROTECTED_PATHS, "read-only mounts; what is new is taken away afterwards"),
    (Guarantee.NETWORK_CLOSED, "network namespace"),
    (Guarantee.NETWORK_ALLOW_LISTED, "network namespace behind a gate"),
    (Guarantee.PROCESSES_HIDDEN, "process namespace"),
    (Guarantee.NO_NEW_PRIVILEGES, "no_new_privs, no capabilities, no set-user-id"),
    (Guarantee.SYSCALLS_FILTERED, "seccomp"),
    (Guarantee.TREE_KILLED, "process namespace"),
    (Guarantee.CHANGES_HELD, "overlay in memory"),
)


def tried(engine: TriedEngine, run: TrialRunner, *, version: str, program: str) -> EngineReport:
    """What held when it was tried, with overlays where they work."""
    preparer = engine.preparer
    for overlays in (True, False):
        preparer.overlays = overlays
        held, why = _try_out(engine, run)
        if held:
            break
        engine.close()
    else:
        return nothing_held(engine.name, why or "it did not hold when tried")
    missing = EVERYTHING - held
    return EngineReport(
        name=engine.name,
        version=version,
        program=program,
        overlays=preparer.overlays,
        guarantees=held,
        missing=tuple((g, why or "it did not hold when tried") for g in Guarantee if g in missing),
        mechanisms=tuple((g, how) for g, how in MECHANISMS if g in held),
    )


def nothing_held(name: str, why: str, *, install: str = "") -> EngineReport:
    """The report of an engine that is of no use here, and what would change that.

    `install` is the command that installs what is missing, where that is the reason.
    """
    found = None if install else obstacle(why)
    said = why if found is None else found.why
    return EngineReport(
        name=name,
        missing=tuple((g, said) for g in Guarantee if g in EVERYTHING),
        hints=hints(install=install) if found is None else (found.hint,),
    )


def _try_out(engine: TriedEngine, run: TrialRunner) -> tuple[frozenset[Guarantee], str]:
    """What held in a real sandbox, and what was said where it could not be built."""
    if not seccomp.supported(os.uname().machine):
        return frozenset(), Message(
            "no filter of system calls is known for {machine}", machine=os.uname().machine
        )
    place = tempfile.mkdtemp(prefix="probe-", dir=own_directories.made_cache())
    try:
        limits = Limits(memory=1 << 28, processes=16, total_written=1 << 20, wall_seconds=10)
        held, why = _one(engine, run, Grant(level="probe", workspace=place, limits=limits))
        if held:
            grant = Grant(level="probe", workspace=place, limits=limits, writes=Writes.MEMORY)
            kept, why = _one(engine, run, grant)
            if kept and os.listdir(place) == []:
                held |= {Guarantee.CHANGES_HELD}
            gated = Grant(level="probe", workspace=place, limits=limits, network=NetworkMode.GATED)
            if Guarantee.NETWORK_CLOSED in _one(engine, run, gated)[0]:
                # Nothing but loopback is seen inside, and the gate stood when the command began.
                held |= {Guarantee.NETWORK_ALLOW_LISTED}
        return held, why
    finally:
        for left in os.listdir(place):
            os.unlink(f"{place}/{left}")
        os.rmdir(place)


def _one(engine: TriedEngine, run: TrialRunner, grant: Grant) -> tuple[frozenset[Guarantee], str]:
    request = Request(workload=ShellCommand(text=SCRIPT))
    nothing = Enforcement(engine=engine.name, required=frozenset(), held=frozenset())
    made = RunPlan(
        request=request,
        grant=grant,
        engine=engine.name,
        enforcement=nothing,
        journaled=False,
    )
    outside = f"{own_directories.cache()}/probe-outside"
    try:
        with engine.prepare(made) as prepared:
            ended = run(prepared.launch, directory=grant.workspace)
            prepared.settle()
    except (IsolationError, OSError) as error:
        return frozenset(), str(error)
    if os.path.exists(outside):
        os.unlink(outside)
        return frozenset(), "a file appeared outside the workspace"
    if ended.code != 0:
        return frozenset(), ended.stderr.decode(errors="replace").strip()[:500]
    return held_inside(ended.stdout.decode(errors="replace")), ""


def version_of(program: str, run: TrialRunner) -> str:
    """What a program says of its version; nothing where it cannot be run."""
    launch = Launch(argv=(program, "--version"), env={}, fds=[], own_process_namespace=False)
    try:
        return run(launch).stdout.decode(errors="replace").strip().rpartition(" ")[2]
    except (IsolationError, OSError):
        return ""
