"""What each node can enforce, and which of them a fleet's work is given to.

A node reports its engines as `redoma doctor` finds them there. The driver makes the plan of a run
for each report, by the same choice as on its own machine; where there is none, the node gets no
work, and the reason is kept.
"""

from __future__ import annotations

import os

from redoma import __version__
from redoma.base.identity import boot_id
from redoma.jail.engines.choice import plan
from redoma.jail.engines.registry import NAMES
from redoma.jail.profiles.profile import of_machine
from redoma.model.errors import NoEngine, RedomaError, UsageError
from redoma.model.grant import Apply, NetworkMode, Writes
from redoma.model.message import Message
from redoma.model.request import Request, ShellCommand
from redoma.model.value import Value
from redoma.pipeline.run_context import RunContext
from redoma.pipeline.this_host import this_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.model.grant import EngineReport, Grant
    from redoma.pipeline.run_context import SandboxConfig

_LEAST_MEMORY = 64 << 20


class NodeReport(Value):
    """What a node says of itself: who it is, and what every engine enforces there."""

    node: str
    name: str
    version: str
    boot: str
    user: int
    engines: tuple[EngineReport, ...]
    controllers: frozenset[str]


class NodeSize(Value):
    """What Ray may give away on a node."""

    cpus: float
    memory: int


class Share(Value):
    """What one run is given of a node: processors, and memory in bytes."""

    cpus: float
    memory: int


class Suited(Value):
    """A node that gets work: by which engine, how many runs at a time, and the share of each."""

    engine: str
    slots: int
    share: Share


class ReportedHost:
    """A node as the choice of an engine sees it: by its report alone."""

    def __init__(self, report: NodeReport) -> None:
        self._engines = {each.name: each for each in report.engines}
        self._controllers = report.controllers

    def report(self, name: str) -> EngineReport:
        """What the engine with this name enforces there."""
        return self._engines[name]

    def controllers(self) -> frozenset[str]:
        """What control groups can limit there."""
        return self._controllers


def examined(node: str, *, anew: bool = False) -> NodeReport:
    """The report of the machine that this process runs on."""
    host = this_host()
    return NodeReport(
        node=node,
        name=os.uname().nodename,
        version=__version__,
        boot=boot_id(),
        user=os.geteuid(),
        engines=tuple(host.report(name, anew=anew) for name in NAMES),
        controllers=host.controllers(),
    )


class Requirement:
    """What the runs of a fleet have to be given, planned for one node after another."""

    def __init__(
        self,
        config: SandboxConfig,
        slots: int | None,
        *,
        memory_named: bool,
        writes_outside: bool,
    ) -> None:
        """`slots` is how many runs a node has at a time at most; as many as fit by default.

        `memory_named` is whether somebody said how much a run gets, `writes_outside` whether it is
        given paths of the nodes to write.
        """
        self._config = config
        self._slots = slots
        self._named = memory_named
        self._outside = writes_outside
        self._policy = config.policy()
        self._grants: dict[str, Grant] = {}
        self._decides = _tightens(self._policy)

    def isolation_of(self, command: str | tuple[str, ...]) -> str:
        """The level that the policy asks for a command; empty where it asks for none of its own."""
        if not self._decides:
            return ""
        from redoma.pipeline.requests import request_for

        request = request_for(command, caller=self._config.caller)
        decision = RunContext(self._config).judge(request)
        if decision.isolation not in self._grants:
            self._grants[decision.isolation] = self._config.grant(
                self._policy, decision, held_in_layer=False
            )
        return decision.isolation

    def grant(self, isolation: str = "") -> Grant:
        """What a run under this isolation may do; its paths are the node's to say."""
        if isolation not in self._grants:
            from redoma.pipeline.requests import request_for

            request = request_for(":", caller=self._config.caller)
            decision = RunContext(self._config).judge(request)
            grant = self._config.grant(self._policy, decision, held_in_layer=False)
            self._grants[isolation] = grant
        return self._grants[isolation]

    def repeatable(self, isolation: str = "") -> bool:
        """Whether a run that was cut off left nothing behind, so that it may be run once more."""
        return not self._outside and leaves_nothing(self.grant(isolation))

    def engine_on(self, report: NodeReport, isolation: str = "") -> str:
        """The engine that would run it there; NoEngine where none gives what is required."""
        request = Request(workload=ShellCommand(text=":"))
        return plan(request, self.grant(isolation), ReportedHost(report)).engine

    def suits(self, report: NodeReport, size: NodeSize) -> Suited | str:
        """How a node is used, or why it is not."""
        if report.version != __version__:
            return Message(
                "it has version {there}, and this is {here}",
                there=report.version,
                here=__version__,
            )
        try:
            engine = self.engine_on(report)
        except NoEngine as error:
            return str(error).replace("\n ", ";")
        except RedomaError as error:
            return str(error)
        return self._sized(engine, size)

    def _sized(self, engine: str, size: NodeSize) -> Suited | str:
        grant = self.grant()
        cpus = (grant.limits.cpu_percent or 100) / 100
        slots = int(size.cpus // cpus)
        if slots < 1:
            return Message(
                "it has {has} processors to give, and a run may use {wants}",
                has=size.cpus,
                wants=cpus,
            )
        asked = self._memory(grant)
        if asked:
            slots = min(slots, size.memory // asked)
            if slots < 1:
                return Message(
                    "it has {has} MiB of memory to give, and a run may use {wants}",
                    has=size.memory >> 20,
                    wants=asked >> 20,
                )
        if self._slots is not None:
            slots = min(slots, self._slots)
        # Nobody said how much: then a run gets of the memory what it gets of the processors.
        memory = asked or int(size.memory * min(1.0, cpus / size.cpus))
        if memory < _LEAST_MEMORY:
            return Message("it has only {has} MiB of memory for a run", has=memory >> 20)
        return Suited(engine=engine, slots=slots, share=Share(cpus=cpus, memory=memory))

    def _memory(self, grant: Grant) -> int:
        """The memory that a run was given; 0 where nobody said, and it is a share of a machine."""
        given = grant.limits.memory
        if given is None or (not self._named and given == of_machine("memory")):
            return 0
        return given


def leaves_nothing(grant: Grant) -> bool:
    """Whether all that a run can do is in its own layer: nobody was reached, nothing was given."""
    held = grant.writes in (Writes.MEMORY, Writes.NONE) or (
        grant.writes is Writes.LAYER and grant.apply is Apply.NEVER
    )
    closed = grant.network is NetworkMode.CLOSED
    return held and closed and not grant.writable and not grant.secrets


def _tightens(policy: Any) -> bool:
    """Whether the level that holds depends on the command, in this policy or one below it."""
    while policy is not None:
        if policy.isolation.strict_for:
            return True
        policy = policy.floor
    return False


def refuse_unsendable(given: dict[str, Any]) -> None:
    """An error where a fleet is given what holds only on the driver's own machine."""
    access, network = given.get("access"), given.get("network")
    level = given.get("level", "")
    problems = {
        "access.direct": access is not None and access.direct,
        "access.apply": access is not None and access.apply,
        "access.temporary": access is not None and access.temporary,
        "access.secrets": access is not None and access.secrets,
        "network.credentials": network is not None and network.credentials,
        "network.publish": network is not None and network.publish,
        "network.mock": network is not None and isinstance(network.mock, str),
        "level": "/" in level,
    }
    for name, wrong in problems.items():
        if wrong:
            raise UsageError(
                "{name} is not for a fleet: it means something on one machine only",
                name=name,
                hint="what an item changes comes back with its result; secrets stay where they are",
            )
