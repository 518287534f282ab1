"""What the plan of one enclosed run holds, as far as a decision about its command depends on it."""

from __future__ import annotations

from enum import Enum

from redoma.model.grant import Apply, Guarantee, NetworkMode, Writes
from redoma.model.network import Reach
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.grant import Grant, RunPlan


class Holder(Enum):
    """What keeps an effect from happening, or takes it back."""

    UNDO = "undo"
    WRITES = "confined writes"
    CHANGES = "confined writes and undo"
    READS = "hidden secrets"
    NETWORK = "the closed network"
    GATE = "the egress gate"
    PROCESSES = "hidden processes"
    PRIVILEGES = "no new privileges"
    LIMITS = "limits"
    SANDBOX = "the sandbox"

    @property
    def words(self) -> str:
        return self.value


class Containment(Value):
    """What holds the effects of a command: the facts of its plan, and nothing that is only hoped.

    `held` is what the chosen engine was found to enforce on this machine. `ours` are paths that
    whoever encloses the command gave it for itself, such as the file in which an agent's shell
    leaves its directory: they count as no right that the command could use.
    """

    workspace: str
    held: frozenset[Guarantee]
    writes: Writes = Writes.LAYER
    apply: Apply = Apply.ON_SUCCESS
    undo: bool = True
    network: NetworkMode = NetworkMode.CLOSED
    reach: Reach = Reach()
    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    # Whether it gets something that acts for a person elsewhere: a secret, a key agent.
    carries: bool = False
    ours: tuple[str, ...] = ()

    @property
    def takes_back(self) -> bool:
        """Whether the workspace can be had as it was: by an undo, or because nothing is applied."""
        if self.writes is Writes.DIRECT:
            return False
        if self.writes is not Writes.LAYER:
            return Guarantee.WRITES_CONFINED in self.held
        kept = self.undo or self.apply in (Apply.ASK, Apply.NEVER)
        return kept and Guarantee.CHANGES_HELD in self.held

    @property
    def nothing_leaves(self) -> bool:
        """Whether no connection reaches another machine, or a service of this one."""
        if self.network is NetworkMode.CLOSED:
            return Guarantee.NETWORK_CLOSED in self.held
        gated = self.network is NetworkMode.GATED and Guarantee.NETWORK_ALLOW_LISTED in self.held
        return gated and self.reach.mock


def containment_of(
    grant: Grant, held: frozenset[Guarantee], *, ours: tuple[str, ...] = ()
) -> Containment:
    """What a grant leaves open and an engine holds; `ours` are paths that are no right of its."""
    given = set(ours)
    return Containment(
        workspace=grant.workspace,
        held=held,
        writes=grant.writes,
        apply=grant.apply,
        undo=grant.undo,
        network=grant.network,
        reach=grant.reach,
        writable=tuple(path for path in grant.writable if path not in given),
        readable=tuple(path for path in grant.readable if path not in given),
        carries=bool(grant.secrets or grant.reach.credentials),
        ours=ours,
    )


def containment_of_plan(plan: RunPlan, *, ours: tuple[str, ...] = ()) -> Containment:
    """What one plan holds: its grant, under what its engine was found to enforce."""
    return containment_of(plan.grant, plan.enforcement.held, ours=ours)
