"""Examines this machine: every guarantee, who gives it, what is missing and what to type."""

from __future__ import annotations

import os

from redoma.base.levels import LEVELS
from redoma.jail.engines.choice import given_here, plan
from redoma.jail.engines.registry import DECLARED, NAMES
from redoma.jail.profiles.profile import load
from redoma.jail.supervisor.limiter import OTHERWISE
from redoma.model.errors import NoEngine
from redoma.model.grant import EngineReport, Guarantee
from redoma.model.request import Request, ShellCommand
from redoma.model.value import Value
from redoma.pipeline.this_host import this_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from redoma.jail.kernel.cgroups import Groups

    class Machine(Protocol):
        """Whoever knows what can be enforced somewhere."""

        def report(self, name: str, *, anew: bool = False) -> EngineReport: ...
        def controllers(self) -> frozenset[str]: ...
        def groups(self) -> Groups | None: ...


USUAL_LIMITS = (
    "memory", "processes", "cpu_percent", "cpu_seconds", "wall_seconds", "open_files", "file_size",
    "total_written", "keep_free", "temporary", "changes", "depth", "output", "output_total",
)  # fmt: skip
CONTROLLERS = {"memory": "memory", "processes": "pids", "cpu_percent": "cpu"}


class Diagnosis(Value):
    """What was found."""

    engines: tuple[EngineReport, ...]
    # level -> the engine that would run it, "" where none can
    levels: tuple[tuple[str, str], ...]
    why_not: tuple[tuple[str, str], ...]
    groups: str
    # What a run in `standard` gets: each limit's name, how much (None: no limit), what holds it.
    limits: tuple[tuple[str, int | float | None, str], ...]
    hints: tuple[str, ...]
    # engine -> what a user installs or switches on to have it
    needs: tuple[tuple[str, str], ...] = ()

    def givers(self, guarantee: Guarantee) -> tuple[str, ...]:
        """The engines that give a guarantee here."""
        return tuple(r.name for r in self.engines if guarantee in r.guarantees)

    @property
    def healthy(self) -> bool:
        """Whether the default level can be enforced."""
        return bool(dict(self.levels)["standard"])


def engine_names() -> tuple[str, ...]:
    """Every engine there is, by its name."""
    return tuple(NAMES)


def examine(host: Machine | None = None) -> Diagnosis:
    """Tries every engine of this machine anew, or of another that is described by `host`."""
    host = host or this_host()
    groups = host.groups()
    tried = [host.report(name, anew=True) for name in NAMES]
    reports = tuple(given_here(report, host.controllers()) for report in tried)
    levels, why_not = [], []
    for level in LEVELS:
        grant = load(level).grant("/nonexistent")
        try:
            chosen = plan(Request(workload=ShellCommand(text=":")), grant, host, alone=True)
            levels.append((level, chosen.engine))
        except NoEngine as error:
            levels.append((level, ""))
            why_not.append((level, str(error)))
    hints = []
    if not all(engine for _, engine in levels):
        hints = [hint for report in reports for hint in report.hints]
    if groups is None:
        words = "none of our own: rlimits for each process, the tree watched"
        if os.path.isdir("/run/systemd/system"):
            hints.append(
                "sudo systemctl set-property user@$(id -u).service Delegate='cpu memory pids'"
                "   # control groups of your own"
            )
    else:
        words = f"{groups.words}: {', '.join(sorted(groups.controllers))}"
    return Diagnosis(
        engines=reports,
        levels=tuple(levels),
        why_not=tuple(why_not),
        groups=words,
        limits=tuple(_limits(groups)),
        hints=tuple(dict.fromkeys(hints)),
        needs=tuple((each.name, each.needs) for each in DECLARED),
    )


def _limits(groups: Groups | None) -> Iterator[tuple[str, int | float | None, str]]:
    """The usual limits, each with what holds it here."""
    from resource import RLIMIT_NOFILE, getrlimit

    limits = load("standard").limits
    held = groups.controllers if groups is not None else frozenset[str]()
    for name in USUAL_LIMITS:
        value = getattr(limits, name)
        by = OTHERWISE.get(name, "")
        if name == "open_files" and value is None:
            value, by = getrlimit(RLIMIT_NOFILE)[1], "your own limit"
        elif value is None:
            by = ""
        elif groups is not None and CONTROLLERS.get(name) in held:
            by = groups.words
        yield name, value, by


def known_guarantees() -> tuple[Guarantee, ...]:
    """The guarantees that an engine can give today."""
    return tuple(Guarantee)
