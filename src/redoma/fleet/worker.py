"""What runs on the nodes: an agent for each node, and warm workers that run one item after another.

These are plain classes; `redoma.fleet.cluster` makes actors of them. What a worker hands back are
values of ours: what a sandbox printed, as bytes, and what a call returned, read as data.
"""

from __future__ import annotations

import os
import signal
import time

from redoma.base.identity import short_id
from redoma.fleet import node_ledger
from redoma.fleet.calls import performed
from redoma.fleet.gathered_rows import rows_after
from redoma.fleet.items import Delivery, ItemOutcome, ReturnedChanges
from redoma.fleet.node_ledger import NodeLedger, Recalled, recall
from redoma.fleet.nodes import examined
from redoma.fleet.returned_changes import packed
from redoma.fleet.shipment import Arrival, held_workspace, remove_unused
from redoma.model.errors import (
    Declined,
    EngineFailed,
    NoEngine,
    RecordError,
    RedomaError,
    UsageError,
)
from redoma.model.result import Outcome
from redoma.model.value import Value, replace
from redoma.pipeline.sandbox import Sandbox
from redoma.pipeline.settings import Access
from redoma.pipeline.this_host import Control, this_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.fleet.items import FleetItem
    from redoma.fleet.nodes import NodeReport
    from redoma.model.result import Result

# Ray ends a worker's children just before the worker itself: an end by SIGKILL is believed, and
# told, only by a worker that is still there so many seconds later.
_STILL_THERE = 3.0
_REFUSED = frozenset((Outcome.DENIED, Outcome.DECLINED))


class Orders(Value):
    """What a worker is told once: the job, its workspace, and how everything is sandboxed."""

    job: str
    workspace: str  # the digest of a workspace that is at the node
    given: dict[str, Any]  # the arguments of its `Sandbox`
    most_changed: int


class NodeAgent:
    """One for each node and driver: says what the node enforces, receives, and looks back."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._arrival: Arrival | None = None

    def report(self) -> NodeReport:
        """What this node can enforce."""
        node_ledger.remove_old()
        remove_unused()
        return examined(self._node)

    def expect(self, digest: str) -> bool:
        """Whether a workspace has to be sent here; it is awaited from now on."""
        self._drop()
        self._arrival = Arrival(digest)
        if self._arrival.ready:
            self._drop()
            return False
        return True

    def receive(self, piece: bytes) -> None:
        """The next piece of the workspace that is awaited."""
        assert self._arrival is not None
        self._arrival.add(piece)

    def unpack(self) -> None:
        """Checks and unpacks the workspace that has come."""
        assert self._arrival is not None
        try:
            self._arrival.finish()
        finally:
            self._drop()

    def _drop(self) -> None:
        if self._arrival is not None:
            self._arrival.close()
            self._arrival = None

    def workers(self, job: str) -> tuple[str, ...]:
        """The workers of a job that left something here."""
        return node_ledger.workers_of(job)

    def recall(self, job: str, worker: str) -> tuple[Recalled, tuple[tuple[object, ...], ...]]:
        """What became of a worker's items, and its audit rows."""
        found = recall(job, worker)
        return found, rows_after(f"{node_ledger.ledgers_of(job)}/{worker}/audit", 0)

    def dismiss(self, job: str, worker: str) -> None:
        """Forgets a worker that is gone."""
        node_ledger.dismiss(job, worker)


class FleetWorker:
    """Runs items, one at a time, in a sandbox that stays warm."""

    def __init__(self, worker: str, orders: Orders) -> None:
        self._ledger = NodeLedger(orders.job, worker)
        self._root, self._held = held_workspace(orders.workspace)
        self._audit = f"{self._ledger.directory}/audit"
        given = dict(orders.given)
        given["access"] = replace(given.get("access") or Access(), apply="never")
        self._sandbox = Sandbox(self._root, **given, audit=self._audit)
        self._most = orders.most_changed
        self._told = 0
        self._control: tuple[int, Control] | None = None
        self._cancelled: set[int] = set()

    def ready(self) -> int:
        """The process that this is, once everything is loaded."""
        return os.getpid()

    def run(self, number: int, item: FleetItem, arrived: tuple[int, ...]) -> Delivery:
        """Runs an item and stores its end before telling it; `arrived` need not be kept longer."""
        self._ledger.forget(arrived)
        self._ledger.begin(number)
        made = self._delivery(number, item)
        made = replace(made, rows=self._new_rows())
        self._ledger.end(number, made)
        return made

    def cancel(self, number: int) -> None:
        """Ends an item that runs; one that waits does not begin."""
        self._cancelled.add(number)
        now = self._control
        if now is not None and now[0] == number:
            now[1].cancel()

    def finish(self, arrived: tuple[int, ...]) -> tuple[tuple[object, ...], ...]:
        """There is no more: removes what was kept, if it arrived, and gives the last rows."""
        rows = self._new_rows()
        self._ledger.forget(arrived)
        self._ledger.close()
        # It is ended from outside next, and then nobody would remove what it kept ready.
        this_host().close()
        os.close(self._held)
        return rows

    def _new_rows(self) -> tuple[tuple[object, ...], ...]:
        rows = rows_after(self._audit, self._told)
        if rows:
            self._told = rows[-1][0]  # type: ignore[assignment] # its number
        return rows

    def _delivery(self, number: int, item: FleetItem) -> Delivery:
        if number in self._cancelled:
            return Delivery(number=number, outcome=ItemOutcome.CANCELLED, why="it was cancelled")
        control = Control()
        self._control = (number, control)
        try:
            result = self._run(item, control)
            if _may_be_our_own_end(result):
                time.sleep(_STILL_THERE)
            return self._ended(number, result)
        except (NoEngine, Declined) as error:
            return Delivery(number=number, outcome=ItemOutcome.REFUSED, why=str(error))
        except (EngineFailed, RecordError, OSError) as error:
            # The machine's fault, not the command's: another one may do better.
            return Delivery(
                number=number,
                outcome=ItemOutcome.BROKEN,
                why=f"{type(error).__name__}: {error}",
                again=True,
                begun=not isinstance(error, EngineFailed),
            )
        except RedomaError as error:
            outcome = ItemOutcome.REFUSED if error.exit_status == 126 else ItemOutcome.UNUSABLE
            return Delivery(number=number, outcome=outcome, why=str(error))
        finally:
            self._control = None
            control.close()

    def _run(self, item: FleetItem, control: Control) -> Result:
        if item.call is not None:
            return performed(item, self._sandbox, control)
        return self._sandbox.run(
            item.command,
            timeout=item.timeout,
            stdin=item.stdin,
            cwd=self._directory(item.cwd),
            control=control,
        )

    def _directory(self, within: str) -> str:
        """Where an item starts: where its copy lies on this node is nothing that it may name."""
        name = os.path.normpath(within)
        place = os.path.normpath(f"{self._root}/{within}")
        if os.path.isabs(name) or name.split("/")[0] == ".." or not os.path.isdir(place):
            raise UsageError("{path} is no directory of the workspace", path=within)
        return place

    def _ended(self, number: int, result: Result) -> Delivery:
        outcome = ItemOutcome.FINISHED
        if result.outcome in _REFUSED:
            outcome = ItemOutcome.REFUSED
        elif result.outcome is Outcome.CANCELLED:
            outcome = ItemOutcome.CANCELLED
        changes = self._brought(result)
        why = (
            "; ".join(result.decision.because)
            if result.decision and outcome.value == "refused"
            else ""
        )
        plain = replace(result, changes=None, notes=() if changes else result.notes)
        return Delivery(number=number, outcome=outcome, result=plain, changes=changes, why=why)

    def _brought(self, result: Result) -> ReturnedChanges | None:
        """What the run changed, packed up; its layer goes."""
        changes = result.changes
        if changes is None or not changes.held:
            return None
        try:
            return packed(changes, self._most)
        finally:
            self._sandbox.discard(changes.id)


def _may_be_our_own_end(result: Result) -> bool:
    """Whether a run ended as one does whose sandbox was killed around it."""
    killed = result.exit is not None and result.exit.signal == signal.SIGKILL
    return result.outcome is Outcome.GATE_LOST or (killed and result.outcome is Outcome.SIGNALLED)


def worker_name(node: str) -> str:
    """A name for a worker that no other worker of any driver has."""
    return f"{node[:12]}-{short_id()}"
