"""Chooses the engine for a run: the first that gives everything required."""

from __future__ import annotations

from redoma.jail.engines.registry import declared
from redoma.model.errors import NoEngine, UsageError
from redoma.model.grant import (
    SHARED,
    Enforcement,
    EngineReport,
    Grant,
    Guarantee,
    NetworkMode,
    RunPlan,
    Writes,
    covered,
)
from redoma.model.request import Request
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Reports(Protocol):
        """Whoever knows what engines enforce: this machine's host, or another's report."""

        def report(self, name: str) -> EngineReport:
            """What the engine with this name enforces."""

        def controllers(self) -> frozenset[str]:
            """What control groups can limit there."""


_MEMORY = frozenset({Guarantee.MEMORY_CAPPED, Guarantee.MEMORY_WATCHED})
WATCHED_ONLY = "no control group of our own here: what can be watched is watched"
# What only a control group holds for a tree, and the controller that does.
_BY_CONTROLLER = {
    Guarantee.MEMORY_CAPPED: "memory",
    Guarantee.DISK_CAPPED: "memory",
    Guarantee.CPU_CAPPED: "cpu",
}


def plan(
    request: Request,
    grant: Grant,
    host: Reports,
    *,
    terminal: bool = False,
    trace_files: bool = False,
    alone: bool = False,
) -> RunPlan:
    """The plan for a request, or NoEngine that says why not, engine by engine.

    `alone` is whether nothing ran before in this process: then an engine that stays is the last
    that is tried.
    """
    _refuse_what_no_engine_does(grant, trace_files=trace_files)
    require = _required(grant)
    tried: dict[str, str] = {}
    hints: list[str] = []
    for name in sorted(grant.prefer, key=lambda each: alone and declared(each).stays):
        if trace_files and not declared(name).traces_files:
            tried[name] = "it cannot tell which files a command opens"
            continue
        report = host.report(name)
        if report.usable and require <= covered(report.guarantees):
            enforcement = _known_enforcement(grant, require, report, host.controllers())
            if not enforcement.shortfall:
                chosen = _capping(grant, require, host, enforcement, traced=trace_files)
                return RunPlan(
                    request=request,
                    grant=grant,
                    engine=chosen.engine,
                    enforcement=chosen,
                    terminal=terminal,
                    controllers=host.controllers(),
                    trace_files=trace_files,
                )
            lost = ", ".join(sorted(g.words for g in enforcement.shortfall))
            tried[name] = f"not with these limits: {lost} ({WATCHED_ONLY})"
            continue
        tried[name] = report.why_not(require) or "it cannot be used here"
        hints += report.hints
    required = sorted(guarantee.value for guarantee in require)
    raise NoEngine(
        required=required, tried=tried, hint="; ".join(dict.fromkeys([*hints[:1], "redoma doctor"]))
    )


def _refuse_what_no_engine_does(grant: Grant, *, trace_files: bool) -> None:
    """An error where what is asked for does not fit together, whatever the machine can do."""
    if trace_files and not any(declared(name).traces_files for name in grant.prefer):
        from redoma.model.remedies import Help, Remedy

        raise UsageError(
            f"{', '.join(grant.prefer)} cannot tell which files a command opens",
            hint=Remedy(help=Help.TRACING_ENGINE),
        )
    if grant.network is NetworkMode.GATED:
        from redoma.egress.host_rules import held

        held(grant.reach)
    elif grant.network is NetworkMode.OPEN and grant.reach.opens_tls:
        from redoma.model.remedies import Help, Remedy

        raise UsageError(
            "requests are to be read, and an open network has no gate to read them at",
            hint=Remedy(help=Help.HOSTS_INSTEAD),
        )


def _required(grant: Grant) -> frozenset[Guarantee]:
    """What a grant requires by name, and what it requires by what it is."""
    require = grant.require
    if grant.writes is Writes.LAYER:
        # Whatever else is asked for: without it the command would write the workspace itself.
        require |= {Guarantee.CHANGES_HELD}
    if grant.network is NetworkMode.GATED:
        # Attack: an engine that knows of no gate would leave the whole network open.
        require |= {Guarantee.NETWORK_ALLOW_LISTED}
    elif grant.network is NetworkMode.CLOSED:
        require -= {Guarantee.NETWORK_ALLOW_LISTED}  # what reaches nobody keeps to every list
    return require


def given_here(report: EngineReport, controllers: frozenset[str]) -> EngineReport:
    """What an engine gives with the control groups that this process may make."""
    if declared(report.name).caps_itself:
        return report
    lost = frozenset(g for g, key in _BY_CONTROLLER.items() if key not in controllers)
    if not lost & report.guarantees:
        return report
    why = tuple((g, WATCHED_ONLY) for g in Guarantee if g in lost & report.guarantees)
    return replace(report, guarantees=report.guarantees - lost, missing=(*report.missing, *why))


def _capping(
    grant: Grant,
    require: frozenset[Guarantee],
    host: Reports,
    first: Enforcement,
    *,
    traced: bool,
) -> Enforcement:
    """An engine whose own manager caps memory, where the first one could only watch it."""
    if traced or first.held & _MEMORY != {Guarantee.MEMORY_WATCHED}:
        return first
    for name in grant.prefer:
        if declared(name).caps_itself and name != first.engine:
            report = host.report(name)
            if report.usable and require <= covered(report.guarantees):
                found = _known_enforcement(grant, require, report, host.controllers())
                if not found.shortfall and Guarantee.MEMORY_CAPPED in found.held:
                    return found
    return first


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
    held = set(given_here(report, controllers).guarantees)
    limits = grant.limits
    capped = {
        Guarantee.MEMORY_CAPPED: limits.memory,
        Guarantee.MEMORY_WATCHED: limits.memory,
        Guarantee.PROCESSES_CAPPED: limits.processes,
        Guarantee.CPU_CAPPED: limits.cpu_percent,
        Guarantee.CPU_WATCHED: limits.cpu_seconds,
        Guarantee.DISK_CAPPED: limits.total_written,
        Guarantee.DISK_WATCHED: limits.total_written or limits.keep_free,
    }
    held -= {guarantee for guarantee, value in capped.items() if value is None}
    if grant.writes not in (Writes.MEMORY, Writes.NONE) or grant.writable:
        held.discard(Guarantee.DISK_CAPPED)  # only what is memory is capped, with all of it
    if grant.network is not NetworkMode.CLOSED:
        held.discard(Guarantee.NETWORK_CLOSED)
    if grant.network is not NetworkMode.GATED:
        held.discard(Guarantee.NETWORK_ALLOW_LISTED)
    if grant.writes is Writes.MEMORY or not set(SHARED).isdisjoint(grant.writable):
        held.discard(Guarantee.PROTECTED_PATHS)
    elif grant.writes is not Writes.LAYER:
        held.discard(Guarantee.CHANGES_HELD)
    return Enforcement(
        engine=report.name,
        required=require,
        held=covered(frozenset(held)),
        mechanisms=tuple((g, how) for g, how in report.mechanisms if g in held),
    )
