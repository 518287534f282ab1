"""Tries what a confinement by Landlock has to refuse, from inside one."""

from __future__ import annotations

import os
import shutil
import tempfile

from redoma.base import own_directories
from redoma.jail.kernel import landlock, seccomp
from redoma.jail.kernel.process import is_machines_root
from redoma.jail.probe.inside import LIMITS
from redoma.jail.probe.surroundings import obstacle
from redoma.jail.supervisor.run import run
from redoma.model.access import Grant, Limits
from redoma.model.errors import IsolationError
from redoma.model.guarantee import Enforcement, EngineReport, Guarantee
from redoma.model.plan import RunPlan
from redoma.model.request import Program, Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.engines.landlock import Landlock

# What an attempt that was not refused takes away.
_SHOWN_BY = {
    Guarantee.WRITES_CONFINED: {"wrote", "attributes", "times"},
    Guarantee.READS_CONFINED: {"read", "listed"},
    Guarantee.NETWORK_CLOSED: {"network", "datagrams", "sockets"},
    Guarantee.TREE_KILLED: {"signalled"},
}
_WITH_IT = {
    Guarantee.NO_NEW_PRIVILEGES,
    Guarantee.SYSCALLS_FILTERED,
    *LIMITS,
}
_NEVER = {
    Guarantee.PROTECTED_PATHS: "Landlock cannot make a part of the workspace read-only",
    Guarantee.PROCESSES_HIDDEN: "whether a process exists can be asked, though nothing about it",
    Guarantee.CHANGES_HELD: "Landlock keeps no copy",
    Guarantee.NETWORK_ALLOW_LISTED: "Landlock knows ports and no hosts",
}
_HOW = {
    Guarantee.WRITES_CONFINED: "Landlock; attributes of files by seccomp",
    Guarantee.READS_CONFINED: "Landlock; names can be asked for, contents cannot",
    Guarantee.NETWORK_CLOSED: "seccomp: no sockets; Landlock: no TCP",
    Guarantee.NO_NEW_PRIVILEGES: "no_new_privs, no capabilities",
    Guarantee.SYSCALLS_FILTERED: "seccomp",
    Guarantee.MEMORY_CAPPED: "control group",
    Guarantee.MEMORY_WATCHED: "rlimit for each process, the tree watched",
    Guarantee.CPU_CAPPED: "control group",
    Guarantee.CPU_WATCHED: "rlimit for each process, the tree watched",
    Guarantee.PROCESSES_CAPPED: "rlimit above what the user ran at the start",
    Guarantee.DISK_CAPPED: "control group",
    Guarantee.DISK_WATCHED: "watched",
    Guarantee.TREE_KILLED: "a keeper that ends all it can signal: Landlock's signal scope",
}


def report(engine: Landlock) -> EngineReport:
    """What held when it was tried."""
    version = landlock.abi()
    held, why = frozenset[Guarantee](), ""
    if version < 1:
        why = "this kernel has no Landlock, or it is not switched on (lsm=landlock,…)"
    elif not seccomp.supported(os.uname().machine):
        why = f"no filter of system calls is known for {os.uname().machine}"
    elif is_machines_root():
        why = "run by root the command would keep root's kernel uid"
    else:
        held, why = _try(engine)
        found = obstacle(why) if not held else None
        why = found.why if found is not None else why
    lost = f"not with version {version} of Landlock"
    return EngineReport(
        name=engine.name,
        version=f"ABI {version}" if held else "",
        guarantees=held,
        missing=tuple((g, why or _NEVER.get(g, lost)) for g in Guarantee if g not in held),
        mechanisms=tuple((g, _HOW[g]) for g in Guarantee if g in held),
    )


def _try(engine: Landlock) -> tuple[frozenset[Guarantee], str]:
    outside = tempfile.mkdtemp(prefix="probe-", dir=own_directories.made_cache())
    workspace = tempfile.mkdtemp(prefix="probe-", dir=own_directories.made_cache())
    with open(f"{outside}/read-me", "w") as file:
        file.write("nothing")
    made = RunPlan(
        request=Request(workload=Program(argv=("/bin/true",))),
        grant=Grant(
            level="probe",
            workspace=workspace,
            limits=Limits(memory=1 << 28, processes=32, wall_seconds=10),
        ),
        engine=engine.name,
        enforcement=Enforcement(engine=engine.name, required=frozenset(), held=frozenset()),
    )
    engine.trial = outside
    try:
        with engine.prepare(made) as enclosure:
            ended = run(enclosure.launch, directory=workspace)
    except (IsolationError, OSError) as error:
        return frozenset(), str(error)
    finally:
        engine.trial = ""
        shutil.rmtree(outside, ignore_errors=True)
        shutil.rmtree(workspace, ignore_errors=True)
    done = ended.stdout.decode(errors="replace").split()
    if ended.code != 0 or "done" not in done:
        return frozenset(), ended.stderr.decode(errors="replace").strip()[
            :300
        ] or "it did not start"
    held = {g for g, attempts in _SHOWN_BY.items() if not attempts & set(done)}
    return frozenset(held | _WITH_IT), ""
