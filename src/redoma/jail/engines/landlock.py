"""Confines with Landlock, filters of system calls and rlimits: for machines without namespaces.

What ordinary work loses here: there is no private /tmp (TMPDIR and HOME are a directory of the
run's own), no socket at all while the network is closed, no `chmod`, `chown`, `touch` of what
exists, nor any other change of attributes, no System V memory and queues, no news of changed
directories, and of /proc only the command's own entry.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager, suppress

from redoma.base import own_directories
from redoma.jail.engines import view
from redoma.jail.engines.prepared_sandbox import (
    PreparedSandbox,
    command_of,
    file_stamp,
    shown_as_it_is,
)
from redoma.jail.kernel import landlock, seccomp
from redoma.jail.kernel.process import is_machines_root
from redoma.jail.probe.inside import LIMITS
from redoma.jail.protect import installation
from redoma.jail.protect.covers import pipes_below
from redoma.jail.protect.protected_paths import ProtectedPaths
from redoma.model.errors import EngineFailed, IsolationError
from redoma.model.grant import (
    Enforcement,
    EngineReport,
    Grant,
    Guarantee,
    Handshake,
    Launch,
    Limits,
    RunPlan,
    Writes,
)
from redoma.model.request import Program, Request
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.jail.engines.registry import Engines
    from redoma.jail.probe.trial import TrialRunner

_SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"]
_DEVICES = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"]
_ABOUT_THE_MACHINE = """/proc/cpuinfo /proc/filesystems /proc/loadavg /proc/meminfo /proc/stat
    /proc/sys /proc/uptime /proc/version /sys/devices/system/cpu""".split()
_START = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from redoma.jail.forkserver.landlock_keeper import main; main(sys.argv[2:])"
)
_FIRST_FD = 100
_NO_ATTRIBUTES = "no attribute of a file can be changed: chmod, chown, touch of what exists"

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


class Landlock:
    """No namespaces: the command gives up what it may not use before it begins."""

    name = "landlock"

    def __init__(self, engines: Engines) -> None:
        # A directory that a probe's command has to fail on, see `inner/trial`.
        self.trial = ""

    def probe(self, run: TrialRunner) -> EngineReport:
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
            from redoma.jail.probe.obstacles import obstacle

            held, why = _try_out(self, run)
            found = obstacle(why) if not held else None
            why = found.why if found is not None else why
        lost = f"not with version {version} of Landlock"
        return EngineReport(
            name=self.name,
            version=f"ABI {version}" if held else "",
            guarantees=held,
            missing=tuple((g, why or _NEVER.get(g, lost)) for g in Guarantee if g not in held),
            mechanisms=tuple((g, _HOW[g]) for g in Guarantee if g in held),
        )

    def probe_identity(self) -> str:
        """The interpreter that confines itself and becomes the command."""
        return file_stamp(installation.INTERPRETER)

    def adopt(self, report: EngineReport) -> None:
        """There is nothing to choose."""

    def close(self) -> None:
        """Nothing is kept ready."""

    @contextmanager
    def prepare(self, plan: RunPlan) -> Iterator[PreparedSandbox]:
        """The command behind a keeper that confines it."""
        from redoma.model.remedies import Help, Remedy

        grant = plan.grant
        if grant.writes in (Writes.MEMORY, Writes.LAYER):
            raise EngineFailed("landlock cannot hold changes apart", hint="redoma doctor")
        if is_machines_root():
            raise EngineFailed("landlock does not run for root", hint=Remedy(help=Help.BUBBLEWRAP))
        for place in (grant.workspace, *grant.writable, *grant.readable):
            for pipe in pipes_below(place) if place != "/" else ():
                # Attack: whoever reads a named pipe is talked to through it; no rule of Landlock
                # takes one file out of a directory.
                raise EngineFailed(
                    f"landlock cannot keep a command away from the named pipe {pipe}",
                    hint=Remedy(help=Help.BUBBLEWRAP),
                )
        if grant.writes is Writes.DIRECT:
            _refuse_ours((grant.workspace, *grant.writable))
        temporary = tempfile.mkdtemp(prefix="redoma-")
        status, status_end = os.pipe()
        go_end, go = os.pipe()
        fds = [(status_end, _FIRST_FD), (go_end, _FIRST_FD + 1)]
        try:
            words, env = self._orders(plan, temporary)
            words += ["status", str(_FIRST_FD), "go", str(_FIRST_FD + 1)]
            orders = os.memfd_create("redoma")
            fds.append((orders, _FIRST_FD + 2))
            os.write(orders, "\0".join(words).encode(errors="surrogateescape"))
            os.lseek(orders, 0, os.SEEK_SET)
            visible = (*_SYSTEM, "/opt", grant.workspace)
            command = command_of(plan.request.workload, env["PATH"], visible)
            launch = Launch(
                argv=(
                    *(installation.INTERPRETER, "-I", "-S", "-c", _START),
                    *(installation.LIBRARY, str(_FIRST_FD + 2), "--", *command),
                ),
                env={},
                fds=fds,
                handshake=Handshake(status=status, go=go),
                terminal=plan.terminal,
                # The keeper counts processes itself, and no memory file system is there to cap.
                limits=replace(grant.limits, processes=None, temporary=None),
                complaint="redoma: ",
            )
            direct = grant.writes is Writes.DIRECT
            protected = (
                [ProtectedPaths(grant.workspace, grant.writable, grant.protected).begin()]
                if direct
                else []
            )
            prepared = PreparedSandbox(launch, protected, (_NO_ATTRIBUTES,))
            try:
                yield prepared
            finally:
                prepared.settle()
        finally:
            import shutil

            shutil.rmtree(temporary, ignore_errors=True)
            for fd in (status, go, *(fd for fd, _ in fds)):
                with suppress(OSError):
                    os.close(fd)

    def _orders(self, plan: RunPlan, temporary: str) -> tuple[list[str], dict[str, str]]:
        """What the keeper is told, as key after value, and the command's environment."""
        grant = plan.grant
        seen, env = shown_as_it_is(plan)
        env |= {"TMPDIR": temporary, "HOME": temporary}
        writable = [*grant.writable, temporary, *_DEVICES]
        readable = [
            *_SYSTEM,
            *_ABOUT_THE_MACHINE,
            *(f"/etc/{name}" for name in view.ETC),
            *grant.readable,
        ]
        readable += [source for source, place in seen.binds if place != "/etc"]
        (writable if grant.writes is Writes.DIRECT else readable).append(grant.workspace)
        words = ["cwd", plan.request.cwd or grant.workspace, "temporary", temporary]
        words += ["network", grant.network.value, "syscalls", grant.syscalls.value]
        for key, values in (("readable", readable), ("writable", writable)):
            words += [word for value in values for word in (key, value)]
        words += [word for pair in env.items() for word in ("env", "=".join(pair))]
        if grant.limits.processes is not None:
            words += ["processes", str(grant.limits.processes)]
        if grant.limits.memory is None or "memory" in plan.controllers:
            words += ["memory", "counted"]
        if plan.terminal:
            words += ["terminal", "yes"]
        if self.trial:
            words += ["try", self.trial]
        return words, env


def _refuse_ours(written: tuple[str, ...]) -> None:
    """Landlock gives a directory as a whole: no part of one can stay ours alone."""
    for root in written:
        ours = installation.parts_below(root)
        if ours:
            raise EngineFailed(
                f"landlock cannot keep commands from writing {ours[0]}, and Redoma runs from it",
                hint="install Redoma elsewhere: pipx install redoma",
            )


def _try_out(engine: Landlock, run: TrialRunner) -> tuple[frozenset[Guarantee], str]:
    import shutil

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
        with engine.prepare(made) as prepared:
            ended = run(prepared.launch, directory=workspace)
    except (IsolationError, OSError) as error:
        return frozenset(), str(error)
    finally:
        engine.trial = ""
        shutil.rmtree(outside, ignore_errors=True)
        shutil.rmtree(workspace, ignore_errors=True)
    done = ended.stdout.decode(errors="replace").split()
    if ended.code != 0 or "done" not in done:
        said = ended.stderr.decode(errors="replace").strip()[:300]
        return frozenset(), said or "it did not start"
    held = {g for g, attempts in _SHOWN_BY.items() if not attempts & set(done)}
    return frozenset(held | _WITH_IT), ""
