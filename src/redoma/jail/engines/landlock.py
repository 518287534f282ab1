"""Encloses with Landlock, a filter of system calls and rlimits: for machines without namespaces."""

from __future__ import annotations

import os
from contextlib import contextmanager

from redoma.jail.engines.shield import Shield
from redoma.jail.engines.simple import Plain, seen_by, shim
from redoma.jail.inner.confinement import joined
from redoma.jail.kernel import landlock, seccomp
from redoma.jail.run.limiter import resource_limits
from redoma.model.access import Writes
from redoma.model.errors import EngineFailed
from redoma.model.guarantee import EngineReport, Guarantee
from redoma.model.plan import Launch, Plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# TCP since the fourth version, signals and abstract sockets since the sixth.
_OLDEST = 6
_SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix/store"]
_ETC = """alternatives ld.so.cache ld.so.conf ld.so.conf.d localtime nsswitch.conf passwd group
    hosts host.conf ssl/certs ssl/openssl.cnf pki/tls/certs profile bash.bashrc""".split()
_DEVICES = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"]

_GIVES = frozenset(
    {
        Guarantee.WRITES_CONFINED,
        Guarantee.READS_CONFINED,
        Guarantee.NETWORK_CLOSED,
        Guarantee.NO_NEW_PRIVILEGES,
        Guarantee.SYSCALLS_FILTERED,
        Guarantee.DISK_CAPPED,
        Guarantee.MEMORY_CAPPED,
        Guarantee.CPU_CAPPED,
        Guarantee.TREE_KILLED,
    }
)
_MISSING = {
    Guarantee.PROTECTED_PATHS: "Landlock cannot make a part of the workspace read-only",
    Guarantee.PROCESSES_HIDDEN: "other processes are seen in /proc, though not signalled or traced",
    Guarantee.PROCESSES_CAPPED: "without a user namespace the limit would count the whole user",
    Guarantee.CHANGES_HELD: "Landlock keeps no copy",
    Guarantee.NETWORK_ALLOW_LISTED: "Landlock knows ports, not hosts",
}


class Landlock:
    """No namespaces: the command gives up what it may not use before it begins."""

    name = "landlock"

    def probe(self) -> EngineReport:
        """What holds, by the version of Landlock, the filter, and who asks."""
        why = ""
        version = landlock.abi()
        if version < _OLDEST:
            why = f"Landlock has version {version} here, {_OLDEST} is needed (Linux 6.12)"
        elif not seccomp.supported(os.uname().machine):
            why = f"no filter of system calls is known for {os.uname().machine}"
        elif os.geteuid() == 0:
            why = "run by root the command would keep root's kernel uid"
        if why:
            return EngineReport(name=self.name, missing=tuple((g, why) for g in Guarantee))
        return EngineReport(
            name=self.name,
            version=f"ABI {version}",
            guarantees=_GIVES,
            missing=tuple(_MISSING.items()),
            mechanisms=tuple((g, "Landlock and seccomp") for g in Guarantee if g in _GIVES),
        )

    @contextmanager
    def prepare(self, plan: Plan) -> Iterator[Plain]:
        """The command behind a shim that confines itself first."""
        grant = plan.grant
        if grant.writes is Writes.MEMORY:
            raise EngineFailed("landlock cannot hold changes in memory", hint="redoma doctor")
        seen, env = seen_by(plan)
        temporary = _temporary()
        env |= {"TMPDIR": temporary, "HOME": temporary}
        writable = [*grant.writable, temporary, *_DEVICES]
        readable = [*_SYSTEM, *(f"/etc/{name}" for name in _ETC), *grant.readable, "/proc/self"]
        readable += [source for source, place in seen.binds if place != "/etc"]
        (writable if grant.writes is Writes.DIRECT else readable).append(grant.workspace)
        orders = [
            f"cwd={plan.request.cwd or grant.workspace}",
            f"limits={resource_limits(grant.limits)}",
            "landlock=1",
            f"network={grant.network.value}",
            f"syscalls={grant.syscalls.value}",
            f"readable={joined(readable)}",
            f"writable={joined(writable)}",
            *(["terminal=1"] if plan.terminal else []),
        ]
        raised = Shield(grant.workspace, grant.writable).raised()
        try:
            yield Plain(
                Launch(
                    argv=shim(orders, plan, env),
                    env=env,
                    fds=[],
                    terminal=plan.terminal,
                    limits=grant.limits,
                    own_process_namespace=False,
                ),
                [raised],
            )
        finally:
            import shutil

            shutil.rmtree(temporary, ignore_errors=True)


def _temporary() -> str:
    import tempfile

    return tempfile.mkdtemp(prefix="redoma-")
