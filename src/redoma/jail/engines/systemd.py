"""Confines in a systemd scope around the namespaces, so that systemd holds the limits of the tree.

The scope ends with its last process and takes its counters with it. So a shell stays in it until
the sandbox has ended, and says which limits were met.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from redoma.jail.engines.bubblewrap import Bubblewrap
from redoma.jail.kernel.cgroups import mounted
from redoma.model.errors import IsolationError
from redoma.model.grant import NOBODYS_UID, EngineReport, Guarantee, Launch, Limits
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from redoma.jail.engines.prepared_sandbox import PreparedSandbox
    from redoma.jail.engines.registry import Engines
    from redoma.jail.probe.trial import TrialRunner
    from redoma.model.grant import RunPlan

SYSTEMD_RUN = "/usr/bin/systemd-run"
SLICE = "redoma.slice"
HELD = ("memory", "swap", "processes", "cpu_percent")
# The shell in the scope, systemd-run's heir, and the sandbox's own two processes count as well.
_NOT_THE_COMMAND = 3

# Descriptors below ten, the only ones that every shell can name.
_STATUS, _MEMORY, _PIDS = 7, 8, 9
_REPORT = r"""
"$@" 7>&- 8<&- 9<&-
code=$?
memory= pids= both=
while IFS=: read -r _ names path; do
    case ,$names, in
        *,memory,*) memory=$path ;;
        *,pids,*) pids=$path ;;
        ,,) both=$path ;;
    esac
done < /proc/self/cgroup
met() {
    [ -r "$1" ] || return
    while read -r key value; do
        if [ "$key" = "$2" ] && [ "$value" -gt 0 ]; then echo "{ \"reached\": \"$3\" }" >&7; fi
    done < "$1"
}
met "/proc/self/fd/8${memory:-$both}/memory.oom_control" oom_kill memory
met "/proc/self/fd/8${memory:-$both}/memory.events" oom_kill memory
met "/proc/self/fd/9${pids:-$both}/pids.events" max processes
exit $code
"""

_BY_SYSTEMD = {
    Guarantee.MEMORY_CAPPED: "systemd scope: MemoryMax, MemorySwapMax",
    Guarantee.PROCESSES_CAPPED: "systemd scope: TasksMax",
    Guarantee.CPU_CAPPED: "systemd scope: CPUQuota",
    Guarantee.DISK_CAPPED: "systemd scope: MemoryMax",
}
_LIMITS = Limits(memory=1 << 28, processes=61, cpu_percent=50)
_SHOWN = {
    "memory": ("memory.max 268435456", "memory.limit_in_bytes 268435456"),
    "processes": ("pids.max 64",),
    "cpu": ("cpu.max 50000 100000", "cpu.cfs_quota_us 50000"),
}
_READ = r"""
while IFS=: read -r _ names path; do
    for place in "/sys/fs/cgroup/$names" "/sys/fs/cgroup/${names%%,*}" /sys/fs/cgroup; do
        for name in memory.max memory.limit_in_bytes pids.max cpu.max cpu.cfs_quota_us; do
            [ -r "$place$path/$name" ] || continue
            read -r line < "$place$path/$name"
            echo "$name $line"
        done
    done
done < /proc/self/cgroup
"""
_DELEGATE = (
    "sudo mkdir -p /etc/systemd/system/user@.service.d && printf '[Service]\\nDelegate=cpu memory"
    " pids\\n' | sudo tee /etc/systemd/system/user@.service.d/delegate.conf"
    "   # then log in again: systemd gives your manager these controllers"
)

_MANAGER = (
    "sudo loginctl enable-linger $(id -un)"
    "   # gives you a manager of your own; then log in again, or run it as root"
)


class Systemd:
    """A scope of its own for each run, around everything that bubblewrap does."""

    name = "systemd"

    def __init__(self, engines: Engines) -> None:
        inner = engines.engine("bubblewrap")
        assert isinstance(inner, Bubblewrap)
        self.inner = inner

    def probe(self, run: TrialRunner) -> EngineReport:
        """What bubblewrap gives here, with limits of systemd's, if a scope really holds them."""
        why, hints = _scope_works(run)
        if why:
            lost = tuple((g, why) for g in Guarantee)
            return EngineReport(name=self.name, missing=lost, hints=hints)
        found = self.inner.probe(run)
        if not found.usable:
            return replace(found, name=self.name)
        others = [pair for pair in found.mechanisms if pair[0] not in _BY_SYSTEMD]
        return replace(
            found,
            name=self.name,
            guarantees=found.guarantees | _BY_SYSTEMD.keys(),
            missing=tuple(pair for pair in found.missing if pair[0] not in _BY_SYSTEMD),
            mechanisms=(*others, *_BY_SYSTEMD.items()),
        )

    def probe_identity(self) -> str:
        """Bubblewrap's binaries, and the manager that is asked for scopes."""
        return f"{self.inner.probe_identity()} {_manager()}"

    def adopt(self, report: EngineReport) -> None:
        """Uses the bubblewrap that worked in a scope."""
        self.inner.adopt(report)

    @contextmanager
    def prepare(self, plan: RunPlan) -> Iterator[PreparedSandbox]:
        """The same sandbox, started in a scope that systemd limits."""
        counted = plan.controllers | {"memory", "pids", "cpu"}
        with self.inner.prepare(replace(plan, controllers=counted)) as prepared:
            limits = plan.grant.limits
            launch = prepared.launch
            identity: tuple[str, ...] = ()
            if launch.inside is not None:
                # Only root may ask the system's manager; who enters the sandbox is nobody.
                nobody = str(NOBODYS_UID)
                identity = ("--reuid", nobody, "--regid", nobody, "--clear-groups")
            launch.fds.extend(_reporting(launch))
            prepared.launch = replace(
                launch,
                argv=(
                    *_scope(limits, user=os.geteuid() != 0),
                    *("/usr/bin/setpriv", "--pdeathsig", "KILL", *identity, "--"),
                    *("/bin/sh", "-c", _REPORT, "redoma"),
                    *("/usr/bin/env", "-i", *(f"{k}={v}" for k, v in launch.env.items())),
                    *launch.argv,
                ),
                env=_manager_environment(),
                inside=self._as_root_first(launch.inside) if launch.inside is not None else None,
                held_by_engine=frozenset(n for n in HELD if getattr(limits, n) is not None),
            )
            yield prepared

    def close(self) -> None:
        """Nothing of systemd's own stays."""

    def _as_root_first(
        self, as_nobody: Callable[[Callable[[], int]], int]
    ) -> Callable[[Callable[[], int]], int]:
        stage = self.inner.preparer.staged()

        def inside(job: Callable[[], int]) -> int:
            try:
                answer: int = stage.call(job)
            except PermissionError:
                return as_nobody(job)  # a root that may not limit others
            return answer

        return inside


def _scope(limits: Limits, *, user: bool) -> tuple[str, ...]:
    """`systemd-run` with these limits, up to the program it runs."""
    made = [SYSTEMD_RUN, *(["--user"] if user else []), "--scope", "--quiet", "--collect"]
    # Else the command line is the description: in the journal for all to read, and refused where it
    # is no UTF-8.
    made.append("--description=a command of redoma")
    # Else systemd itself ends the scope when something in it is killed for memory, the shell too.
    made += [f"--slice={SLICE}", "-p", "OOMPolicy=continue"]
    if limits.memory is not None:
        made += ["-p", f"MemoryMax={limits.memory}", "-p", f"MemorySwapMax={limits.swap or 0}"]
    if limits.processes is not None:
        made += ["-p", f"TasksMax={limits.processes + _NOT_THE_COMMAND}"]
    if limits.cpu_percent is not None:
        made += ["-p", f"CPUQuota={limits.cpu_percent}%"]
    return (*made, "--")


def _reporting(launch: Launch) -> list[tuple[int, int]]:
    """Where the shell in the scope reads counters, and where it writes what it read.

    Directories, since the shell's own view of /sys may be covered.
    """
    assert launch.handshake is not None
    places = mounted()
    status = next(fd for fd, _ in launch.fds)  # the engine's own end of the status pipe is first
    found = [(os.dup(status), _STATUS)]
    for number, controller in ((_MEMORY, "memory"), (_PIDS, "pids")):
        place = places.get(controller) or places.get("cgroup2") or "/"
        found.append((os.open(place, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC), number))
    return found


def _manager_environment() -> dict[str, str]:
    """What systemd-run needs to find its manager; none of it goes on to the sandbox."""
    names = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "PATH")
    return {name: os.environ[name] for name in names if name in os.environ}


def _scope_works(run: TrialRunner) -> tuple[str, tuple[str, ...]]:
    """Nothing where a scope with limits can be made, else the reason, and what would help."""
    if not os.access(SYSTEMD_RUN, os.X_OK):
        return "systemd-run is not installed", ()
    if not os.path.isdir("/run/systemd/system"):
        return "systemd is not the init of this machine", ()
    user = os.geteuid() != 0
    launch = Launch(
        argv=(*_scope(_LIMITS, user=user), "/bin/sh", "-c", _READ),
        env=_manager_environment(),
        fds=[],
        own_process_namespace=False,
        limits=Limits(wall_seconds=10),
    )
    try:
        ended = run(launch)
    except (IsolationError, OSError) as error:
        return str(error), ()
    if ended.code != 0:
        said = ended.stderr.decode(errors="replace").strip()
        return f"systemd-run could not make a scope: {said[:200]}", (_MANAGER,) if user else ()
    lines = set(ended.stdout.decode(errors="replace").splitlines())
    lost = [name for name, shown in _SHOWN.items() if not lines & set(shown)]
    if lost:
        return f"systemd does not hold {', '.join(lost)} here", (_DELEGATE,) if user else ()
    return "", ()


def _manager() -> str:
    """Which systemd is the init here: a container shares the kernel's boot, and maybe the cache."""
    try:
        status = os.stat("/run/systemd/system")
    except OSError:
        return "no systemd"
    return f"systemd:{status.st_dev}:{status.st_ino}"
