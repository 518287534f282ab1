"""Chooses the engine for a run: the first that gives everything required."""

from __future__ import annotations

from redoma.model.access import SHARED, Grant, Network, Writes
from redoma.model.errors import NoEngine, UsageError
from redoma.model.guarantee import Enforcement, EngineReport, Guarantee
from redoma.model.plan import Plan
from redoma.model.request import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Reports(Protocol):
        """Whoever knows what engines enforce: this machine's host, or another's report."""

        def report(self, name: str) -> EngineReport:
            """What the engine with this name enforces."""

        def controllers(self) -> frozenset[str]:
            """What control groups can limit there."""


# Engines whose command has the identity of whoever looks on, and no rule of its own on top of it.
TRACES_FILES = frozenset({"bubblewrap", "unshare"})
# Engines that start something which stays; one run alone would pay for it and gain nothing.
STAYS = frozenset({"warm"})


def plan(
    request: Request,
    grant: Grant,
    host: Reports,
    *,
    terminal: bool = False,
    trace_files: bool = False,
    alone: bool = False,
) -> Plan:
    """The plan for a request, or NoEngine that says why not, engine by engine.

    `alone` is whether nothing ran before in this process: then an engine that stays is taken only
    where it is asked for by name.
    """
    if trace_files and not TRACES_FILES.intersection(grant.prefer):
        raise UsageError(
            f"{', '.join(grant.prefer)} cannot tell which files a command opens",
            hint="--engine bubblewrap, or run it without --trace-files",
        )
    if grant.network is Network.GATED:
        from redoma.jail.egress.request_rules import held

        held(grant.reach)
    elif grant.network is Network.OPEN and grant.reach.opens_tls:
        raise UsageError(
            "requests are to be read, and an open network has no gate to read them at",
            hint="--allow-host HOST for each host, or network.allowed_hosts in your sandbox.yaml",
        )
    require = grant.require
    if grant.writes is Writes.LAYER:
        # Whatever else is asked for: without it the command would write the workspace itself.
        require |= {Guarantee.CHANGES_HELD}
    if grant.network is Network.GATED:
        # Attack: an engine that knows of no gate would leave the whole network open.
        require |= {Guarantee.NETWORK_ALLOW_LISTED}
    elif grant.network is Network.CLOSED:
        require -= {Guarantee.NETWORK_ALLOW_LISTED}  # what reaches nobody keeps to every list
    tried: dict[str, str] = {}
    hints: list[str] = []
    for name in grant.prefer:
        if trace_files and name not in TRACES_FILES:
            tried[name] = "it cannot tell which files a command opens"
            continue
        if alone and name in STAYS and len(grant.prefer) > 1:
            tried[name] = "it is not started for one run alone"
            continue
        report = host.report(name)
        if report.usable and require <= report.guarantees:
            enforcement = _known_enforcement(grant, require, report, host.controllers())
            if not enforcement.shortfall:
                return Plan(
                    request=request,
                    grant=grant,
                    engine=name,
                    enforcement=enforcement,
                    terminal=terminal,
                    controllers=host.controllers(),
                    trace_files=trace_files,
                )
            lost = ", ".join(sorted(g.words for g in enforcement.shortfall))
            tried[name] = f"not with these limits: {lost} (no control group of our own here)"
            continue
        tried[name] = report.why_not(require) or "it cannot be used here"
        hints += report.hints
    required = sorted(guarantee.value for guarantee in require)
    raise NoEngine(
        required=required, tried=tried, hint="; ".join(dict.fromkeys([*hints[:1], "redoma doctor"]))
    )


_lately: list[tuple[Grant, EngineReport, frozenset[str], Enforcement]] = []
_MOST_LATELY = 16


def _known_enforcement(
    grant: Grant,
    require: frozenset[Guarantee],
    report: EngineReport,
    controllers: frozenset[str],
) -> Enforcement:
    """The same value for the same grant and the same report, which mostly come again."""
    for before, by, groups, made in _lately:
        if before is grant and by is report and groups == controllers and made.required == require:
            return made
    made = _enforcement(grant, require, report, controllers)
    _lately[:0] = [(grant, report, controllers, made)]
    del _lately[_MOST_LATELY:]
    return made


def _enforcement(
    grant: Grant,
    require: frozenset[Guarantee],
    report: EngineReport,
    controllers: frozenset[str],
) -> Enforcement:
    """What this engine will hold under this grant; more than it asks for is not claimed."""
    held = set(report.guarantees)
    limits = grant.limits
    capped = {
        Guarantee.MEMORY_CAPPED: limits.memory,
        Guarantee.PROCESSES_CAPPED: limits.processes,
        Guarantee.CPU_CAPPED: limits.cpu_percent or limits.cpu_seconds,
        Guarantee.DISK_CAPPED: limits.total_written,
    }
    held -= {guarantee for guarantee, value in capped.items() if value is None}
    if limits.cpu_percent is not None and "cpu" not in controllers and report.name != "systemd":
        held.discard(Guarantee.CPU_CAPPED)  # a share of the processor needs a control group
    if grant.network is not Network.CLOSED:
        held.discard(Guarantee.NETWORK_CLOSED)
    if grant.network is not Network.GATED:
        held.discard(Guarantee.NETWORK_ALLOW_LISTED)
    if grant.writes is Writes.MEMORY or not set(SHARED).isdisjoint(grant.writable):
        held.discard(Guarantee.PROTECTED_PATHS)
    elif grant.writes is not Writes.LAYER:
        held.discard(Guarantee.CHANGES_HELD)
    return Enforcement(
        engine=report.name,
        required=require,
        held=frozenset(held),
        mechanisms=tuple((g, how) for g, how in report.mechanisms if g in held),
    )
