"""Examines this machine: every guarantee, who gives it, what is missing and what to type."""

from __future__ import annotations

import os

from redoma.flow.sandbox import this_host
from redoma.jail.engines.catalog import NAMES
from redoma.jail.levels import LEVELS, load
from redoma.jail.plan import plan
from redoma.model.errors import NoEngine
from redoma.model.guarantee import EngineReport, Guarantee
from redoma.model.request import Request, ShellCommand
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from redoma.jail.kernel.cgroups import Groups

    class Machine(Protocol):
        """Whoever knows what can be enforced somewhere."""

        def report(self, name: str, *, anew: bool = False) -> EngineReport: ...
        def controllers(self) -> frozenset[str]: ...
        def groups(self) -> Groups | None: ...


class Diagnosis(Value):
    """What was found."""

    engines: tuple[EngineReport, ...]
    # level -> the engine that would run it, "" where none can
    levels: tuple[tuple[str, str], ...]
    why_not: tuple[tuple[str, str], ...]
    groups: str
    hints: tuple[str, ...]

    def givers(self, guarantee: Guarantee) -> tuple[str, ...]:
        """The engines that give a guarantee here."""
        return tuple(r.name for r in self.engines if guarantee in r.guarantees)

    @property
    def healthy(self) -> bool:
        """Whether the default level can be enforced."""
        return bool(dict(self.levels)["standard"])


def examine(host: Machine | None = None) -> Diagnosis:
    """Tries every engine of this machine anew, or of another that is described by `host`."""
    host = host or this_host()
    reports = tuple(host.report(name, anew=True) for name in NAMES)
    levels, why_not = [], []
    for level in LEVELS:
        grant = load(level).grant("/nonexistent")
        try:
            chosen = plan(Request(workload=ShellCommand(text=":")), grant, host, alone=True)
            levels.append((level, chosen.engine))
        except NoEngine as error:
            levels.append((level, ""))
            why_not.append((level, str(error)))
    groups = host.groups()
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
        hints=tuple(dict.fromkeys(hints)),
    )


def known_guarantees() -> tuple[Guarantee, ...]:
    """The guarantees that an engine can give today."""
    return tuple(Guarantee)
