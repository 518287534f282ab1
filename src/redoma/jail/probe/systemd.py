"""Makes a systemd scope with limits and reads from inside whether the kernel has them."""

from __future__ import annotations

import os

from redoma.jail.engines.systemd import SYSTEMD_RUN, Systemd, manager_environment, scope
from redoma.jail.supervisor.run import run
from redoma.model.access import Limits
from redoma.model.errors import IsolationError
from redoma.model.guarantee import EngineReport, Guarantee
from redoma.model.plan import Launch
from redoma.model.value import replace

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


def report(engine: Systemd) -> EngineReport:
    """What the engine inside gives here, with limits of systemd's, if a scope really holds them."""
    why, hints = _scope_works()
    if why:
        return _nothing(engine, why, hints)
    engine.binary = ""
    found = engine.inner.probe()
    if not found.usable:
        engine.binary = "/usr/bin/unshare"
        found = engine.inner.probe()
    if not found.usable:
        return _nothing(engine, "; ".join(dict.fromkeys(w for _, w in found.missing)), found.hints)
    engine.binary = found.program
    others = [pair for pair in found.mechanisms if pair[0] not in _BY_SYSTEMD]
    return replace(
        found,
        name=engine.name,
        guarantees=found.guarantees | _BY_SYSTEMD.keys(),
        missing=tuple(pair for pair in found.missing if pair[0] not in _BY_SYSTEMD),
        mechanisms=(*others, *_BY_SYSTEMD.items()),
    )


def _nothing(engine: Systemd, why: str, hints: tuple[str, ...]) -> EngineReport:
    lost = tuple((g, why) for g in Guarantee)
    return EngineReport(name=engine.name, missing=lost, hints=hints)


def _scope_works() -> tuple[str, tuple[str, ...]]:
    """Nothing where a scope with limits can be made, else the reason, and what would help."""
    if not os.access(SYSTEMD_RUN, os.X_OK):
        return "systemd-run is not installed", ()
    if not os.path.isdir("/run/systemd/system"):
        return "systemd is not the init of this machine", ()
    user = os.geteuid() != 0
    launch = Launch(
        argv=(*scope(_LIMITS, user=user), "/bin/sh", "-c", _READ),
        env=manager_environment(),
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
