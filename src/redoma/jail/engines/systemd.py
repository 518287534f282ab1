"""Confines in a systemd scope around the namespaces, so that systemd holds the limits of the tree.

The scope ends with its last process and takes its counters with it. So a shell stays in it until
the sandbox has ended, and says which limits were met.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from enum import Enum

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
SUDO = "/usr/bin/sudo"
SUDO_VARIABLE = "REDOMA_SUDO"
"""`yes` lets an ordinary user without a manager of their own ask the machine's, by `sudo -n`."""
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

# Root's shell, in the scope that it was started in, takes the caller into it and goes. `tasks`
# where there is one: it takes this one process, and nothing that shares its group.
_TAKE_IN = r"""
while IFS=: read -r _ names path; do
    for place in "/sys/fs/cgroup/${names#name=}" "/sys/fs/cgroup/${names%%,*}" \
        /sys/fs/cgroup/unified /sys/fs/cgroup; do
        for file in tasks cgroup.procs; do
            [ -w "$place$path/$file" ] || continue
            echo "$1" > "$place$path/$file" && continue 3
        done
    done
done < /proc/self/cgroup
"""
# The caller's own shell asks for that and waits; sudo's rights end before anything else begins.
_JOIN = r"""
count=$1
shift
asked=
while [ "$count" -gt 0 ]; do
    asked="$asked '$1'"
    shift
    count=$((count - 1))
done
eval "$asked \"\$\$\"" < /dev/null > /dev/null || exit 125
exec "$@"
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


_ALOUD = "; scopes by sudo -n"
_SAID = (
    "sudo -n asked the machine's systemd for the scope of this run; the command has no right by it"
)


class ScopeManager(Enum):
    """Which manager is asked for scopes, and by which right."""

    SYSTEM = "system"
    USER = "user"
    SUDO = "sudo"


class Systemd:
    """A scope of its own for each run, around everything that bubblewrap does."""

    name = "systemd"

    def __init__(self, engines: Engines) -> None:
        inner = engines.engine("bubblewrap")
        assert isinstance(inner, Bubblewrap)
        self.inner = inner
        # Through whom scopes are asked for: root's own right, the user's manager, or sudo.
        self._through = ScopeManager.SYSTEM if os.geteuid() == 0 else ScopeManager.USER

    def probe(self, run: TrialRunner) -> EngineReport:
        """What bubblewrap gives here, with limits of systemd's, if a scope really holds them."""
        why, hints = _scope_works(run, self._through)
        if why and self._through is ScopeManager.USER and _may_ask_sudo():
            why, hints = _scope_works(run, ScopeManager.SUDO)
            if not why:
                self._through = ScopeManager.SUDO
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
            version=f"{found.version}{_ALOUD if self._through is ScopeManager.SUDO else ''}",
            guarantees=found.guarantees | _BY_SYSTEMD.keys(),
            missing=tuple(pair for pair in found.missing if pair[0] not in _BY_SYSTEMD),
            mechanisms=(*others, *_BY_SYSTEMD.items()),
        )

    def probe_identity(self) -> str:
        """Bubblewrap's binaries, and the manager that is asked for scopes."""
        sudo = "sudo " if _may_ask_sudo() else ""
        return f"{self.inner.probe_identity()} {sudo}{_manager()}"

    def adopt(self, report: EngineReport) -> None:
        """Uses the bubblewrap that worked in a scope, and whoever made that."""
        self.inner.adopt(report)
        if report.version.endswith(_ALOUD) and _may_ask_sudo():
            self._through = ScopeManager.SUDO

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
                    *_scope(limits, self._through),
                    *("/usr/bin/setpriv", "--pdeathsig", "KILL", *identity, "--"),
                    *("/bin/sh", "-c", _REPORT, "redoma"),
                    *("/usr/bin/env", "-i", *(f"{k}={v}" for k, v in launch.env.items())),
                    *launch.argv,
                ),
                env=_manager_environment(),
                inside=self._as_root_first(launch.inside) if launch.inside is not None else None,
                held_by_engine=frozenset(n for n in HELD if getattr(limits, n) is not None),
            )
            if self._through is ScopeManager.SUDO:
                prepared.notes = (*prepared.notes, _SAID)
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


def _scope(limits: Limits, through: ScopeManager) -> tuple[str, ...]:
    """What starts a program in a scope with these limits, up to the program."""
    made = [SYSTEMD_RUN, *(["--user"] if through is ScopeManager.USER else [])]
    made += ["--scope", "--quiet", "--collect"]
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
    if through is not ScopeManager.SUDO:
        return (*made, "--")
    # sudo closes every descriptor, and a sandbox needs its own: so root's shell only takes the
    # caller into the scope. -n: it asks for no password, and fails where it would have to.
    asked = (SUDO, "-n", "--", *made, "--", "/bin/sh", "-c", _TAKE_IN, "redoma")
    return ("/bin/sh", "-c", _JOIN, "redoma", str(len(asked)), *asked)


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


def _may_ask_sudo() -> bool:
    """Whether the user wants sudo to be asked, and it is there to be."""
    wanted = os.environ.get(SUDO_VARIABLE) == "yes" and os.geteuid() != 0
    return wanted and os.access(SUDO, os.X_OK)


def _scope_works(run: TrialRunner, through: ScopeManager) -> tuple[str, tuple[str, ...]]:
    """Nothing where a scope with limits can be made, else the reason, and what would help."""
    if not os.access(SYSTEMD_RUN, os.X_OK):
        return "systemd-run is not installed", ()
    if not os.path.isdir("/run/systemd/system"):
        return "systemd is not the init of this machine", ()
    user = through is not ScopeManager.SYSTEM
    launch = Launch(
        argv=(*_scope(_LIMITS, through), "/bin/sh", "-c", _READ),
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
