"""The nodes that work for a fleet: examined, sent the workspace, staffed, and staffed anew."""

from __future__ import annotations

import threading
import time

from redoma.fleet.cluster import said
from redoma.fleet.items import ClusterError, NoNode
from redoma.fleet.nodes import Suited
from redoma.fleet.worker import Orders, worker_name
from redoma.model.errors import NoEngine, RedomaError
from redoma.model.grant import Limits
from redoma.model.message import Message
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from redoma.fleet.cluster import Cluster
    from redoma.fleet.dispatcher import PendingItem
    from redoma.fleet.node_ledger import Recalled
    from redoma.fleet.nodes import NodeReport, NodeSize, Requirement, Share
    from redoma.fleet.shipment import Shipment

    Found = tuple[Recalled, Any]

EXAMINE_SECONDS = 120.0
_RECALL_SECONDS = 60.0
_MOST_FAILURES = 3
_PATIENCE = 60.0


class Hand:
    """A worker, as the driver knows it."""

    def __init__(self, name: str, crewed: CrewedNode, actor: Any) -> None:
        self.name = name
        self.crewed = crewed
        self.node = crewed.id
        self.actor = actor
        self.ready = False
        self.sent: dict[int, PendingItem] = {}
        self.told: list[int] = []  # ends that it need not keep any longer
        self.left: set[int] = set()  # ends that its node keeps for it, now that it is gone

    def good(self) -> None:
        """It gave something back, so its node is no bad one."""
        self.crewed.failures = 0


class CrewedNode:
    """A node of the cluster, as the driver knows it."""

    def __init__(self, node: str, size: NodeSize, agent: Any) -> None:
        self.id = node
        self.size = size
        self.agent = agent
        self.report: NodeReport | None = None
        self.suited: Suited | None = None
        self.why_not = ""
        self.here = False  # whether the workspace has arrived
        self.failures = 0
        self.engines: dict[str, str] = {}  # isolation -> why it is not for this node

    @property
    def name(self) -> str:
        """The node for a person: its machine's name, and what tells it from another there."""
        return f"{self.report.name} ({self.id[:8]})" if self.report else self.id[:8]


class Crew:
    """All nodes, and the workers on those that can give what is required."""

    def __init__(
        self,
        cluster: Cluster,
        requirement: Requirement,
        orders: Orders,
        shipment: Shipment | None,
    ) -> None:
        self.cluster = cluster
        self.hands: dict[str, Hand] = {}
        # Set by whoever works it off: how to have something done in its thread; who hears of ends.
        self.inbox: Callable[[Callable[[], None]], None] = lambda event: event()
        self.lost: Callable[[Hand, str], None] = lambda hand, why: None
        self._requirement = requirement
        self._orders = orders
        self._shipment = shipment
        self._nodes: dict[str, CrewedNode] = {}
        self._gone: dict[str, Hand] = {}
        self._since = time.monotonic()
        self._shipping = threading.Lock()

    def open(self) -> None:
        """Examines every node; NoNode, with the reason of each, where none can take the work."""
        found = self.cluster.nodes()
        made = [(self._add(node, size), size) for node, size in found.items() if size.cpus >= 0]
        asked = [(each, each.agent.report.remote()) for each, _ in made]
        for each, reference in asked:
            try:
                self._examine(each, self.cluster.wait(reference, EXAMINE_SECONDS))
            except ClusterError as error:
                each.why_not = str(error)
        if not any(each.suited for each in self._nodes.values()):
            raise NoNode(self.reasons())

    def staff(self) -> None:
        """Sends the workspace to every node that is suited, and starts its workers."""
        for each in tuple(self._nodes.values()):
            self._prepare(each)

    def reasons(self) -> dict[str, str]:
        """Why each node that gets no work gets none."""
        return {each.name: each.why_not for each in self._nodes.values() if each.why_not}

    def reports(self) -> Iterator[tuple[str, NodeReport | None, NodeSize, Suited | None, str]]:
        """Every node: its name, its report, its size, and how it is used or why not."""
        for each in self._nodes.values():
            yield each.name, each.report, each.size, each.suited, each.why_not

    def agents(self) -> Iterator[tuple[str, Any]]:
        """The agent of each node."""
        for each in self._nodes.values():
            yield each.id, each.agent

    def repeatable(self, isolation: str) -> bool:
        """Whether a run that was cut off left nothing behind."""
        return self._requirement.repeatable(isolation)

    def free(self, isolation: str, depth: int) -> tuple[Hand | None, str]:
        """A worker for an item; else why no node will ever take it, or nothing where it may."""
        best: Hand | None = None
        for hand in self.hands.values():
            if (
                hand.ready
                and len(hand.sent) < depth
                and (best is None or len(hand.sent) < len(best.sent))
                and not self._why_not(hand.crewed, isolation)
            ):
                best = hand
        if best is not None or not isolation:
            return best, ""
        suited = [each for each in self._nodes.values() if each.suited]
        whys = {each.name: self._why_not(each, isolation) for each in suited}
        return None, str(NoNode(whys)) if whys and all(whys.values()) else ""

    def _why_not(self, crewed: CrewedNode, isolation: str) -> str:
        if not isolation or crewed.report is None:
            return ""
        if isolation not in crewed.engines:
            try:
                self._requirement.engine_on(crewed.report, isolation)
                crewed.engines[isolation] = ""
            except NoEngine as error:
                crewed.engines[isolation] = str(error)
        return crewed.engines[isolation]

    def arrived(self, number: int, worker: str) -> None:
        """An end is safe with the driver: its worker hears of it with its next item."""
        hand = self.hands.get(worker)
        if hand is not None:
            hand.told.append(number)
        elif worker in self._gone:
            self._gone[worker].left.discard(number)

    def look(self) -> None:
        """Looks which nodes came and went."""
        living = self.cluster.nodes()
        for node in [node for node in self._nodes if node not in living]:
            gone = self._nodes.pop(node)
            for hand in [hand for hand in self.hands.values() if hand.crewed is gone]:
                self.lost(hand, Message("the node {name} is gone", name=gone.name))
        for node, size in living.items():
            if node not in self._nodes:
                new = self._add(node, size)
                self.cluster.when_done(new.agent.report.remote(), self._reporter(new))

    def hopeless(self) -> RedomaError | None:
        """The error that there is no node left to work, once that has been so for a while."""
        if self.hands or any(each.suited and not each.here for each in self._nodes.values()):
            self._since = time.monotonic()
        if time.monotonic() - self._since < _PATIENCE:
            return None
        return NoNode(self.reasons())

    def drop(self, hand: Hand, why: str) -> None:
        """Ends a worker for good; its node gets another, unless its workers always fail."""
        if self.hands.pop(hand.name, None) is None:
            return
        self.cluster.end(hand.actor)
        self._gone[hand.name] = hand
        crewed = hand.crewed
        crewed.failures += 1
        if crewed.failures >= _MOST_FAILURES * (crewed.suited.slots if crewed.suited else 1):
            crewed.suited = None
            crewed.why_not = Message("its workers do not stay: {why}", why=why)
        elif self._nodes.get(hand.node) is crewed:
            self._hire(crewed)

    def recall(self, hand: Hand, then: Callable[[Found | None], None]) -> None:
        """Asks a node what became of a worker's items; None where nobody can tell."""

        def heard(future: Any) -> None:
            then(None if future.exception() is not None else future.result())

        if hand.node not in self._nodes:
            then(None)
            return
        call = hand.crewed.agent.recall.options(concurrency_group="look")
        self.cluster.when_done(call.remote(self._orders.job, hand.name), heard)

    def dismissed(self) -> Iterator[tuple[Hand, Any]]:
        """Ends every worker, each with its last rows; nothing of those that were idle stays."""
        for hand in self._gone.values():
            if hand.node in self._nodes and not hand.sent and not hand.left:
                hand.crewed.agent.dismiss.remote(self._orders.job, hand.name)
        idle = [hand for hand in self.hands.values() if hand.ready and not hand.sent]
        asked = [(hand, hand.actor.finish.remote(tuple(hand.told))) for hand in idle]
        for hand, reference in asked:
            try:
                yield hand, self.cluster.wait(reference, 10.0)
            except ClusterError:
                continue
        for hand in self.hands.values():
            self.cluster.end(hand.actor)
        self.hands.clear()

    def close(self) -> None:
        """Ends the agents."""
        for each in self._nodes.values():
            self.cluster.end(each.agent)
        self._nodes.clear()

    def _add(self, node: str, size: NodeSize) -> CrewedNode:
        self._nodes[node] = CrewedNode(node, size, self.cluster.agent(node))
        return self._nodes[node]

    def _reporter(self, crewed: CrewedNode) -> Callable[[Any], None]:
        def reported(future: Any) -> None:
            error = future.exception()
            if error is not None:
                crewed.why_not = said(error)
                return
            self._examine(crewed, future.result())
            self._prepare(crewed)

        return lambda future: self.inbox(lambda: reported(future))

    def _examine(self, crewed: CrewedNode, report: NodeReport) -> None:
        crewed.report = report
        found = self._requirement.suits(report, crewed.size)
        if isinstance(found, Suited):
            crewed.suited = found
        else:
            crewed.why_not = found

    def _prepare(self, crewed: CrewedNode) -> None:
        """Ships in a thread of its own, since a workspace may be large; then starts workers."""
        if crewed.suited is None:
            return

        def ship() -> None:
            try:
                with self._shipping:
                    self._ship(crewed)
            except (RedomaError, OSError) as error:
                crewed.suited, crewed.why_not = None, str(error)
                return
            self.inbox(lambda: self._arrived_at(crewed))

        threading.Thread(target=ship, name="redoma-ship", daemon=True).start()

    def _ship(self, crewed: CrewedNode) -> None:
        agent = crewed.agent
        if self.cluster.wait(agent.expect.remote(self._orders.workspace)):
            if self._shipment is not None:
                self.cluster.send(self._shipment.pieces(), agent)
            self.cluster.wait(agent.unpack.remote())

    def _arrived_at(self, crewed: CrewedNode) -> None:
        crewed.here = True
        for _ in range(crewed.suited.slots if crewed.suited else 0):
            self._hire(crewed)

    def _hire(self, crewed: CrewedNode) -> None:
        if crewed.suited is None:
            return
        share = crewed.suited.share
        name = worker_name(crewed.id)
        orders = replace(self._orders, given=_within(self._orders.given, share))
        hand = Hand(name, crewed, self.cluster.worker(crewed.id, name, orders, share))
        self.hands[name] = hand

        def answered(future: Any) -> None:
            error = future.exception()
            if error is not None and name in self.hands:
                self.lost(hand, said(error))
            hand.ready = error is None

        self.cluster.when_done(
            hand.actor.ready.remote(), lambda future: self.inbox(lambda: answered(future))
        )


def _within(given: dict[str, Any], share: Share) -> dict[str, Any]:
    """What a worker's sandbox is made with: no run takes more memory than its share."""
    at_most = given.get("at_most") or Limits()
    memory = min(at_most.memory or share.memory, share.memory)
    return {**given, "at_most": replace(at_most, memory=memory)}
