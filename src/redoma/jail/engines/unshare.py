"""Encloses with util-linux alone: `unshare`, `mount`, `pivot_root`, `setpriv`; no filter of calls."""

from __future__ import annotations

import os
from contextlib import contextmanager

from redoma.jail.engines import program
from redoma.jail.engines.shield import Shield
from redoma.jail.engines.simple import Plain, seen_by
from redoma.jail.run.limiter import resource_limits
from redoma.model.access import Network, Writes
from redoma.model.errors import EngineFailed
from redoma.model.guarantee import EngineReport, Guarantee
from redoma.model.plan import Launch, Plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

TOOLS = ("unshare", "mount", "umount", "pivot_root", "setpriv", "prlimit", "mkdir", "ln", "touch")
_SIZE = 64 << 20

# Arguments, in order: uid, gid, working directory, rlimits, then orders up to `--`, then the
# command. Orders: `r SOURCE PLACE` read-only, `w SOURCE PLACE` writable, `m SIZE PLACE` memory,
# `l TARGET PLACE` link, `p PLACE` pinned, `o PLACE` read-only what is already there.
SCRIPT = r"""
set -eu
uid=$1 gid=$2 cwd=$3 limits=$4; shift 4
root=/sys
mount -t tmpfs -o mode=755,size=4m,nosuid,nodev none $root
at() { if [ -d "$1" ]; then mkdir -p "$root$2"; else mkdir -p "$root${2%/*}"; [ -e "$root$2" ] || touch "$root$2"; fi; }
while [ "$1" != -- ]; do
    case $1 in
        r) at "$2" "$3"; mount --rbind "$2" "$root$3"; mount -o remount,bind,ro,nosuid,nodev "$root$3"; shift 3 ;;
        w) at "$2" "$3"; mount --rbind "$2" "$root$3"; mount -o remount,bind,nosuid,nodev "$root$3"; shift 3 ;;
        d) at "$2" "$3"; mount --bind "$2" "$root$3"; shift 3 ;;
        m) mkdir -p "$root$3"; mount -t tmpfs -o "size=$2,mode=1777,nosuid,nodev" none "$root$3"; shift 3 ;;
        l) mkdir -p "$root${3%/*}"; ln -s "$2" "$root$3"; shift 3 ;;
        p) mount --bind "$root$2" "$root$2"; shift 2 ;;
        o) mount --bind "$root$2" "$root$2"; mount -o remount,bind,ro,nosuid,nodev "$root$2"; shift 2 ;;
        *) echo "redoma: unknown order $1" >&2; exit 125 ;;
    esac
done
shift
mkdir -p $root/proc $root/old
mount -t proc -o nosuid,nodev,noexec proc $root/proc
# Attack: in a user namespace of its own a command has every capability again. One more is ours.
echo 1 > $root/proc/sys/user/max_user_namespaces
mount --bind $root/proc/sys $root/proc/sys
mount -o remount,bind,ro,nosuid,nodev,noexec $root/proc/sys
mount -o remount,bind,ro,nosuid,nodev $root
cd $root
pivot_root . old
umount -l /old
cd "$cwd"
exec unshare --user --map-user="$uid" --map-group="$gid" \
    setpriv --no-new-privs --bounding-set=-all --inh-caps=-all --ambient-caps=-all \
    prlimit $limits "$@"
"""

GIVES = frozenset(
    {
        Guarantee.WRITES_CONFINED,
        Guarantee.READS_CONFINED,
        Guarantee.PROTECTED_PATHS,
        Guarantee.NETWORK_CLOSED,
        Guarantee.PROCESSES_HIDDEN,
        Guarantee.NO_NEW_PRIVILEGES,
        Guarantee.MEMORY_CAPPED,
        Guarantee.CPU_CAPPED,
        Guarantee.PROCESSES_CAPPED,
        Guarantee.DISK_CAPPED,
        Guarantee.TREE_KILLED,
    }
)
_RLIMITS = {"0": "--cpu", "1": "--fsize", "2": "--data", "4": "--core", "7": "--nofile"}


class Unshare:
    """Namespaces and a root of its own, put together by a script of mounts."""

    name = "unshare"

    def probe(self) -> EngineReport:
        from redoma.jail.probe.unshare import report

        return report(self)

    @contextmanager
    def prepare(self, plan: Plan) -> Iterator[Plain]:
        """The script with its orders; the command is the last of its arguments."""
        grant = plan.grant
        if grant.writes is Writes.MEMORY:
            raise EngineFailed("unshare cannot hold changes in memory", hint="redoma doctor")
        if os.geteuid() == 0:
            raise EngineFailed("unshare does not run for root", hint="--engine bubblewrap")
        seen, env = seen_by(plan)
        raised = Shield(grant.workspace, grant.writable).raised()
        orders: list[str] = []
        inner = [place for _, place in seen.binds if place.startswith(("/tmp/", seen.home + "/"))]
        for source, place in seen.binds:
            if place not in inner:
                orders += ["r", source, place]
        for target, place in (*seen.links, ("/tmp", "/var/tmp"), ("/proc/self/fd", "/dev/fd")):
            orders += ["l", target, place]
        for name in ("null", "zero", "full", "random", "urandom", "tty"):
            orders += ["d", f"/dev/{name}", f"/dev/{name}"]
        size = str(grant.limits.temporary or _SIZE)
        for place in ("/tmp", "/dev/shm", seen.home):
            orders += ["m", size, place]
        for place in (*inner, *grant.readable):
            orders += ["r", place, place]
        kind = "w" if grant.writes is Writes.DIRECT else "r"
        orders += [kind, grant.workspace, grant.workspace]
        for place in grant.writable:
            orders += ["w", place, place]
        if grant.writes is Writes.DIRECT:
            for place in sorted(raised.pinned):
                orders += ["p", place]
            for place in sorted(set(raised.read_only)):
                orders += ["o", place]
        visible = tuple(place for _, place in seen.binds) + (grant.workspace,)
        command = program.command(plan.request.workload, env["PATH"], visible)
        yield Plain(
            Launch(
                argv=(
                    *_namespaces(grant.network),
                    "/bin/sh",
                    "-c",
                    SCRIPT,
                    "redoma",
                    str(os.geteuid()),
                    str(os.getegid()),
                    plan.request.cwd or grant.workspace,
                    _prlimit(plan),
                    *orders,
                    "--",
                    *command,
                ),
                env=env,
                fds=[],
                terminal=plan.terminal,
                limits=grant.limits,
                own_process_namespace=False,
            ),
            [raised],
        )


def _namespaces(network: Network) -> tuple[str, ...]:
    made = ["/usr/bin/unshare", "--user", "--map-root-user", "--mount", "--propagation", "private"]
    made += ["--pid", "--fork", "--kill-child=KILL", "--ipc", "--uts", "--cgroup"]
    if network is Network.CLOSED:
        made.append("--net")
    return (*made, "--")


def _prlimit(plan: Plan) -> str:
    made = []
    for pair in resource_limits(plan.grant.limits).split(","):
        kind, _, value = pair.partition(":")
        made.append(f"{_RLIMITS[kind]}={value}:{value}")
    if plan.grant.limits.processes is not None:
        made.append(f"--nproc={plan.grant.limits.processes + 1}")
    return " ".join(made)
