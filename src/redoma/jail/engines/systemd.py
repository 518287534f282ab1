"""Encloses with bubblewrap inside a systemd scope, so that systemd holds the limits of the tree."""

from __future__ import annotations

import os
from contextlib import contextmanager

from redoma.model.guarantee import EngineReport, Guarantee
from redoma.model.plan import Launch
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.jail.engines.bubblewrap import Bubblewrap, Enclosure
    from redoma.model.access import Limits
    from redoma.model.plan import Plan

_SYSTEMD_RUN = "/usr/bin/systemd-run"
SLICE = "redoma.slice"
_HELD = frozenset({"memory", "processes", "cpu_percent"})
_BY_SYSTEMD = (
    (Guarantee.MEMORY_CAPPED, "systemd scope: MemoryMax, MemorySwapMax"),
    (Guarantee.PROCESSES_CAPPED, "systemd scope: TasksMax"),
    (Guarantee.CPU_CAPPED, "systemd scope: CPUQuota"),
)


class Systemd:
    """A scope of its own for each run, around everything bubblewrap does."""

    name = "systemd"

    def __init__(self, inner: Bubblewrap) -> None:
        self.inner = inner

    def probe(self) -> EngineReport:
        """What bubblewrap gives here, with systemd's limits, if a scope can really be made."""
        from redoma.jail.probe.systemd import scope_works

        why = scope_works()
        inner = self.inner.probe() if not why else EngineReport(name=self.name)
        if not inner.usable:
            reasons = why or "; ".join(dict.fromkeys(reason for _, reason in inner.missing))
            return EngineReport(
                name=self.name,
                missing=tuple((g, reasons) for g in Guarantee),
                hints=inner.hints,
            )
        by_systemd = dict(_BY_SYSTEMD)
        mechanisms = [pair for pair in inner.mechanisms if pair[0] not in by_systemd]
        return replace(inner, name=self.name, mechanisms=(*mechanisms, *_BY_SYSTEMD))

    @contextmanager
    def prepare(self, plan: Plan) -> Iterator[Enclosure]:
        """The same enclosure, started in a scope that systemd limits."""
        with self.inner.prepare(plan) as enclosure:
            launch = enclosure.launch
            enclosure.launch = replace(
                launch,
                argv=(*command(plan.grant.limits, user=os.geteuid() != 0), *launch.argv),
                env=manager_environment(),
                held_by_engine=_held(plan.grant.limits),
            )
            assert isinstance(enclosure.launch, Launch)
            yield enclosure


def command(limits: Limits, *, user: bool) -> tuple[str, ...]:
    """`systemd-run` with these limits, up to the program it runs."""
    made = [_SYSTEMD_RUN, *(["--user"] if user else []), "--scope", "--quiet", "--collect"]
    made.append(f"--slice={SLICE}")
    if limits.memory is not None:
        made += ["-p", f"MemoryMax={limits.memory}", "-p", "MemorySwapMax=0"]
    if limits.processes is not None:
        made += ["-p", f"TasksMax={limits.processes + 2}"]
    if limits.cpu_percent is not None:
        made += ["-p", f"CPUQuota={limits.cpu_percent}%"]
    return (*made, "--")


def _held(limits: Limits) -> frozenset[str]:
    return frozenset(name for name in _HELD if getattr(limits, name) is not None)


def manager_environment() -> dict[str, str]:
    """What systemd-run needs to find its manager; bubblewrap passes none of it on."""
    names = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "PATH")
    return {name: os.environ[name] for name in names if name in os.environ}
