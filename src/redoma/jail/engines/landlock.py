"""Encloses with Landlock, filters of system calls and rlimits: for machines without namespaces.

What ordinary work loses here: there is no private /tmp (TMPDIR and HOME are a directory of the
run's own), no socket at all while the network is closed, no `chmod`, `chown`, `touch` of what
exists, nor any other change of attributes, no System V memory and queues, no news of changed
directories, and of /proc only the command's own entry.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager, suppress

from redoma.jail import own, view
from redoma.jail.engines import program
from redoma.jail.engines.endpoints import pipes_below
from redoma.jail.engines.shield import Shield
from redoma.jail.engines.simple import Plain, seen_by
from redoma.jail.kernel.process import is_machines_root
from redoma.model.access import Writes
from redoma.model.errors import EngineFailed
from redoma.model.plan import Handshake, Launch, RunPlan
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.model.guarantee import EngineReport

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


class Landlock:
    """No namespaces: the command gives up what it may not use before it begins."""

    name = "landlock"

    def __init__(self) -> None:
        # A directory that a probe's command has to fail on, see `inner/trial`.
        self.trial = ""

    def probe(self) -> EngineReport:
        from redoma.jail.probe.landlock import report

        return report(self)

    @contextmanager
    def prepare(self, plan: RunPlan) -> Iterator[Plain]:
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
            command = program.command(plan.request.workload, env["PATH"], visible)
            package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
            launch = Launch(
                argv=(
                    *(own.INTERPRETER, "-I", "-S", "-c", _START),
                    *(os.path.dirname(package), str(_FIRST_FD + 2), "--", *command),
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
                [Shield(grant.workspace, grant.writable, grant.protected).raised()]
                if direct
                else []
            )
            enclosure = Plain(launch, protected, (_NO_ATTRIBUTES,))
            try:
                yield enclosure
            finally:
                enclosure.settle()
        finally:
            import shutil

            shutil.rmtree(temporary, ignore_errors=True)
            for fd in (status, go, *(fd for fd, _ in fds)):
                with suppress(OSError):
                    os.close(fd)

    def _orders(self, plan: RunPlan, temporary: str) -> tuple[list[str], dict[str, str]]:
        """What the keeper is told, as key after value, and the command's environment."""
        grant = plan.grant
        seen, env = seen_by(plan)
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
        ours = own.parts_below(root)
        if ours:
            raise EngineFailed(
                f"landlock cannot keep commands from writing {ours[0]}, and Redoma runs from it",
                hint="install Redoma elsewhere: pipx install redoma",
            )
