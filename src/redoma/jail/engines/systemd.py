"""Encloses in a systemd scope around the namespaces, so that systemd holds the limits of the tree.

The scope ends with its last process and takes its counters with it. So a shell stays in it until
the enclosure has ended, and says which limits were met.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from redoma.jail.engines.bubblewrap import Bubblewrap
from redoma.jail.engines.unshare import Unshare
from redoma.jail.kernel.cgroups import mounted
from redoma.model.access import NOBODYS_UID
from redoma.model.guarantee import EngineReport
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from redoma.jail.engines.bubblewrap import Enclosure
    from redoma.model.access import Limits
    from redoma.model.plan import Launch, RunPlan

SYSTEMD_RUN = "/usr/bin/systemd-run"
SLICE = "redoma.slice"
HELD = ("memory", "swap", "processes", "cpu_percent")
# The shell in the scope, systemd-run's heir, and the enclosure's own two processes count as well.
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


class Systemd:
    """A scope of its own for each run, around everything that another engine does."""

    name = "systemd"

    def __init__(self, bubblewrap: Bubblewrap) -> None:
        self.bubblewrap = bubblewrap
        self._unshare: Unshare | None = None
        self._binary = ""

    @property
    def binary(self) -> str:
        """The program that makes the namespaces in the scope."""
        return self._binary

    @binary.setter
    def binary(self, path: str) -> None:
        self._binary = path
        if path and os.path.basename(path) != "unshare":
            self.bubblewrap.binary = path

    @property
    def overlays(self) -> bool:
        """Whether what is shown is shown through overlays."""
        return self.inner.overlays

    @overlays.setter
    def overlays(self, value: bool) -> None:
        self.inner.overlays = value

    @property
    def inner(self) -> Bubblewrap | Unshare:
        """The engine inside the scope: bubblewrap, or util-linux where only that works."""
        if os.path.basename(self._binary) != "unshare":
            return self.bubblewrap
        if self._unshare is None:
            self._unshare = Unshare()
        return self._unshare

    def probe(self) -> EngineReport:
        from redoma.jail.probe.systemd import report

        return report(self)

    @contextmanager
    def prepare(self, plan: RunPlan) -> Iterator[Enclosure]:
        """The same enclosure, started in a scope that systemd limits."""
        counted = plan.controllers | {"memory", "pids", "cpu"}
        with self.inner.prepare(replace(plan, controllers=counted)) as enclosure:
            limits = plan.grant.limits
            launch = enclosure.launch
            identity: tuple[str, ...] = ()
            if launch.inside is not None:
                # Only root may ask the system's manager; who enters the enclosure is nobody.
                nobody = str(NOBODYS_UID)
                identity = ("--reuid", nobody, "--regid", nobody, "--clear-groups")
            launch.fds.extend(_reporting(launch))
            enclosure.launch = replace(
                launch,
                argv=(
                    *scope(limits, user=os.geteuid() != 0),
                    *("/usr/bin/setpriv", "--pdeathsig", "KILL", *identity, "--"),
                    *("/bin/sh", "-c", _REPORT, "redoma"),
                    *("/usr/bin/env", "-i", *(f"{k}={v}" for k, v in launch.env.items())),
                    *launch.argv,
                ),
                env=manager_environment(),
                inside=self._as_root_first(launch.inside) if launch.inside is not None else None,
                held_by_engine=frozenset(n for n in HELD if getattr(limits, n) is not None),
            )
            yield enclosure

    def close(self) -> None:
        """Ends what is kept ready; bubblewrap's own belongs to bubblewrap."""
        if self._unshare is not None:
            self._unshare.close()

    def _as_root_first(
        self, as_nobody: Callable[[Callable[[], int]], int]
    ) -> Callable[[Callable[[], int]], int]:
        inner = self.inner
        stage = (inner if isinstance(inner, Bubblewrap) else inner.description).staged()

        def inside(job: Callable[[], int]) -> int:
            try:
                answer: int = stage.call(job)
            except PermissionError:
                return as_nobody(job)  # a root that may not limit others
            return answer

        return inside


def scope(limits: Limits, *, user: bool) -> tuple[str, ...]:
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


def manager_environment() -> dict[str, str]:
    """What systemd-run needs to find its manager; none of it goes on to the enclosure."""
    names = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "PATH")
    return {name: os.environ[name] for name in names if name in os.environ}
