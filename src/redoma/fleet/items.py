"""What a fleet is given and what it gives back: one item, and one typed end for each."""

from __future__ import annotations

from enum import Enum

from redoma.model.errors import IsolationError, RedomaError, RunError
from redoma.model.message import Message
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import ClassVar

    from redoma.model.change import Change
    from redoma.model.result import Result


class FleetItem(Value):
    """One thing to run: a shell command (a text), a program (words), or a Python call.

    `cwd` is relative to the workspace, `timeout` in seconds; `id` is the caller's own name for it.

    >>> import redoma.fleet
    >>> redoma.fleet.FleetItem(command=("echo", "hi"), id="a").id
    'a'
    """

    __module__ = "redoma.fleet"

    command: str | tuple[str, ...] = ""
    cwd: str = ""
    stdin: bytes = b""
    timeout: float | None = None
    id: str = ""
    # A call in bytes for the sandbox: its name, its arguments as a person sees them, its payload.
    call: tuple[str, str, bytes] | None = None


class ItemOutcome(Enum):
    """How an item ended; each item of a fleet ends once, with one of these."""

    __module__ = "redoma.fleet"

    FINISHED = "finished"  # it ran to an end of its own; `result` says which
    REFUSED = "refused"  # policy, or no node that could hold it: nothing ran
    UNUSABLE = "unusable"  # it cannot be understood: nothing ran
    BROKEN = "broken"  # the machinery failed it, as often as it may
    UNKNOWN = "unknown"  # it was begun, its end is not known, and to repeat it is not safe
    CANCELLED = "cancelled"


class ReturnedChanges(Value):
    """What an item changed in its own copy of the workspace, and nothing else.

    `patch` is for `git apply`; `archive` is a tar file with every changed file whole, and
    `left_out` says what neither holds.
    """

    __module__ = "redoma.fleet"

    items: tuple[Change, ...] = ()
    patch: bytes = b""
    archive: bytes = b""
    left_out: tuple[str, ...] = ()


class ItemResult(Value):
    """What became of an item: its outcome, the run's whole result, where it ran, how often."""

    __module__ = "redoma.fleet"

    number: int
    outcome: ItemOutcome
    id: str = ""
    result: Result | None = None
    why: str = ""
    node: str = ""
    attempts: int = 0
    changes: ReturnedChanges | None = None

    @property
    def ok(self) -> bool:
        """Whether it ran, and the command called that success."""
        return self.outcome is ItemOutcome.FINISHED and self.result is not None and self.result.ok

    def raise_for_outcome(self) -> ItemResult:
        """This result if the item succeeded; else the error that says how it ended."""
        if self.ok:
            return self
        if self.result is not None:
            self.result.raise_for_outcome()
        raise ItemFailed(
            "item {number} is {outcome}: {why}",
            number=self.number,
            outcome=Message(self.outcome.value),
            why=Message(self.why),
        )


class ItemFailed(RunError):
    """An item of a fleet did not come to an end of its own."""

    code = "item-failed"


class NoNode(IsolationError):
    """No node of the cluster can hold what is asked for; `tried` says why not, node by node."""

    __module__ = "redoma.fleet"

    code: ClassVar[str] = "no-node"

    def __init__(self, tried: Mapping[str, str], *, hint: str = "redoma fleet nodes") -> None:
        self.tried = dict(tried)
        reasons = [
            Message("\n  {node}: {why}", node=node, why=Message(why))
            for node, why in self.tried.items()
        ]
        super().__init__(
            "no node can take this work{tried}",
            tried=Message.joined("", reasons) or Message(": the cluster has no living node"),
            hint=hint,
        )

    def details(self) -> dict[str, object]:
        return {"tried": self.tried}


class ClusterError(RedomaError):
    """The cluster cannot be reached, or went away."""

    code = "cluster"


class Delivery(Value):
    """What a worker hands back for an item: between our own processes, never out of a sandbox."""

    number: int
    outcome: ItemOutcome
    result: Result | None = None
    why: str = ""
    changes: ReturnedChanges | None = None
    # Whether the machinery failed it, so that it may be tried again; and whether it had begun.
    again: bool = False
    begun: bool = False
    # Rows of this worker's own audit log that were not handed over before.
    rows: tuple[tuple[object, ...], ...] = ()
