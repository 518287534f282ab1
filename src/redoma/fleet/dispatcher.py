"""Gives items to workers and sees to it that each ends once, whatever becomes of the nodes.

One thread owns all state; everything else puts a call into its inbox. An item that was sent to a
worker which is gone is not guessed about: its node is asked. What nobody can tell any more is run
again only where the grant shows that a run leaves nothing behind.
"""

from __future__ import annotations

import threading
from collections import deque
from queue import Empty, SimpleQueue

from redoma.fleet.cluster import said
from redoma.fleet.items import ClusterError, ItemOutcome, ItemResult
from redoma.fleet.node_ledger import Fate
from redoma.model.errors import RedomaError
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from redoma.fleet.crew import Crew, Hand
    from redoma.fleet.gathered_rows import GatheredLog
    from redoma.fleet.items import Delivery, FleetItem
    from redoma.fleet.node_ledger import Recalled

_LOOK_EVERY = 2.0
# Below this mean a worker has its next item waiting at hand; above it, none waits behind another.
_SHORT = 0.5


class PendingItem:
    """An item on its way; `result` waits for its end."""

    def __init__(self, number: int, item: FleetItem, isolation: str = "") -> None:
        self.number = number
        self.item = item
        self.isolation = isolation
        self.attempts = 0
        self.why = ""
        self.worker = ""
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._result: ItemResult | None = None
        self._error: RedomaError | None = None
        self._callbacks: list[Callable[[PendingItem], None]] = []

    def result(self) -> ItemResult:
        """How it ended; an error where the fleet itself could not go on."""
        self._over.wait()
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result

    @property
    def over(self) -> bool:
        """Whether it ended."""
        return self._over.is_set()

    def when_over(self, then: Callable[[PendingItem], None]) -> None:
        """Calls `then` when it is over: at once where it is."""
        with self._lock:
            if not self._over.is_set():
                self._callbacks.append(then)
                return
        then(self)

    def end(self, result: ItemResult | RedomaError) -> None:
        """Its one end; whoever comes second is not heard."""
        with self._lock:
            if self._over.is_set():
                return
            if isinstance(result, ItemResult):
                self._result = result
            else:
                self._error = result
            self._over.set()
            callbacks, self._callbacks = self._callbacks, []
        for each in callbacks:
            each(self)


class Dispatcher:
    """The queue of a fleet, and the thread that works it off."""

    def __init__(
        self,
        crew: Crew,
        log: GatheredLog,
        *,
        attempts: int,
        before_send: Callable[[int, str], None] | None = None,
    ) -> None:
        """`before_send` is told which item goes to which worker, before it goes."""
        self._crew = crew
        self._log = log
        self._attempts = attempts
        self._before_send = before_send
        self._inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._waiting: deque[PendingItem] = deque()
        self._mean = 0.0
        self._stopped = False
        crew.inbox = self._inbox.put
        crew.lost = self._lose
        self._thread = threading.Thread(target=self._work, name="redoma-fleet", daemon=True)
        self._thread.start()

    def submit(self, pending: PendingItem) -> None:
        """Takes an item."""
        self._inbox.put(lambda: self._waiting.append(pending))

    def cancel(self, pending: PendingItem) -> None:
        """Ends an item, wherever it is."""
        self._inbox.put(lambda: self._cancel(pending))

    def arrived(self, number: int, worker: str) -> None:
        """The end of an item is on disk, so its worker need not keep it any longer."""
        self._inbox.put(lambda: self._crew.arrived(number, worker))

    @property
    def running(self) -> int:
        """How many items are at a worker now."""
        return sum(len(hand.sent) for hand in tuple(self._crew.hands.values()))

    def close(self) -> None:
        """Ends what still runs, takes the last rows, and ends the thread."""
        if self._stopped:
            return
        self._inbox.put(self._stop)  # behind everything that was said before
        self._thread.join()
        for hand in tuple(self._crew.hands.values()):
            for pending in hand.sent.values():
                self._end(pending, ItemOutcome.CANCELLED, "the fleet was closed")
        for pending in self._waiting:
            self._end(pending, ItemOutcome.CANCELLED, "the fleet was closed")
        for hand, rows in self._crew.dismissed():
            self._log.add(hand.name, hand.node, rows)

    def _stop(self) -> None:
        self._stopped = True

    def _work(self) -> None:
        while not self._stopped:
            try:
                event = self._inbox.get(timeout=_LOOK_EVERY)
            except Empty:
                event = self._look
            try:
                event()
                self._feed()
            except Exception as error:
                # Nothing may be left waiting for a thread that is gone.
                self._give_up(
                    error
                    if isinstance(error, RedomaError)
                    else ClusterError("the fleet cannot go on: {why}", why=said(error))
                )

    def _look(self) -> None:
        self._crew.look()
        error = self._crew.hopeless()
        if error is not None and self._waiting:
            self._give_up(error)

    def _give_up(self, error: RedomaError) -> None:
        waiting, self._waiting = self._waiting, deque()
        for pending in waiting:
            pending.end(error)

    def _feed(self) -> None:
        while self._waiting:
            pending = self._waiting[0]
            hand, why = self._crew.free(pending.isolation, 2 if self._mean < _SHORT else 1)
            if hand is None:
                if why:
                    self._waiting.popleft()
                    self._end(pending, ItemOutcome.REFUSED, why)
                    continue
                if not self._turned():
                    return
                continue
            self._waiting.popleft()
            self._send(hand, pending)

    def _turned(self) -> bool:
        """Lets an item step back whose nodes are busy, where another one's are not."""
        first = self._waiting[0].isolation
        for at, pending in enumerate(self._waiting):
            if pending.isolation != first and self._crew.free(pending.isolation, 1)[0] is not None:
                del self._waiting[at]
                self._waiting.appendleft(pending)
                return True
        return False

    def _send(self, hand: Hand, pending: PendingItem) -> None:
        pending.attempts += 1
        pending.worker = hand.name
        if self._before_send is not None:
            self._before_send(pending.number, hand.name)
        hand.sent[pending.number] = pending
        told, hand.told = tuple(hand.told), []
        reference = hand.actor.run.remote(pending.number, pending.item, told)
        self._crew.cluster.when_done(
            reference,
            lambda future: self._inbox.put(lambda: self._came(hand, pending, future)),
        )

    def _came(self, hand: Hand, pending: PendingItem, future: Any) -> None:
        if hand.sent.get(pending.number) is not pending:
            return  # its worker is given up, and its node was asked instead
        error = future.exception()
        if error is not None:
            self._lose(hand, said(error))
            return
        del hand.sent[pending.number]
        hand.good()
        self._deliver(hand, pending, future.result())

    def _deliver(self, hand: Hand, pending: PendingItem, delivery: Delivery) -> None:
        self._log.add(hand.name, hand.node, delivery.rows)
        if delivery.result is not None:
            took = delivery.result.resources_used.wall_seconds
            self._mean = took if not self._mean else 0.9 * self._mean + 0.1 * took
        if delivery.again:
            self._once_more(pending, delivery.why, begun=delivery.begun)
            return
        pending.end(
            ItemResult(
                number=pending.number,
                id=pending.item.id,
                outcome=delivery.outcome,
                result=delivery.result,
                why=delivery.why,
                node=hand.node,
                attempts=pending.attempts,
                changes=delivery.changes,
            )
        )

    def _lose(self, hand: Hand, why: str) -> None:
        """A worker is gone: what it was given is asked of its node."""
        self._crew.drop(hand, why)
        self._crew.recall(
            hand, lambda found: self._inbox.put(lambda: self._recalled(hand, found, why))
        )

    def _recalled(self, hand: Hand, found: tuple[Recalled, Any] | None, why: str) -> None:
        if found is None:
            self._log.lost(hand.name, hand.node)
        else:
            self._log.add(hand.name, hand.node, found[1])
            hand.left.update(found[0].ended)
            hand.left.difference_update(hand.told)
        for pending in tuple(hand.sent.values()):
            fate = Fate.NOT_KNOWN if found is None else found[0].of(pending.number)
            if fate is Fate.ENDED and found is not None:
                self._deliver(hand, pending, found[0].ended[pending.number])
            elif fate is Fate.NEVER_BEGUN:
                pending.attempts -= 1  # it did not meet the worker's end, it waited behind it
                self._waiting.appendleft(pending)
            else:
                self._once_more(pending, why, begun=True)
        hand.sent.clear()

    def _once_more(self, pending: PendingItem, why: str, *, begun: bool) -> None:
        """Runs it again where that is safe, and it was not tried too often."""
        pending.why = why
        if begun and not self._crew.repeatable(pending.isolation):
            self._end(pending, ItemOutcome.UNKNOWN, why)
        elif pending.attempts >= self._attempts:
            self._end(pending, ItemOutcome.BROKEN, why)
        else:
            self._waiting.appendleft(pending)

    def _cancel(self, pending: PendingItem) -> None:
        if pending in self._waiting:
            self._waiting.remove(pending)
            self._end(pending, ItemOutcome.CANCELLED, "it was cancelled")
            return
        for hand in self._crew.hands.values():
            if hand.sent.get(pending.number) is pending:
                hand.actor.cancel.options(concurrency_group="control").remote(pending.number)

    def _end(self, pending: PendingItem, outcome: ItemOutcome, why: str) -> None:
        pending.end(
            ItemResult(
                number=pending.number,
                id=pending.item.id,
                outcome=outcome,
                why=Message(why),
                attempts=pending.attempts,
            )
        )
