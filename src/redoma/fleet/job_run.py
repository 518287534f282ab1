"""Runs a job to its end, or as far as it comes: items from a file, results into another."""

from __future__ import annotations

import hashlib
import time
from queue import Empty, SimpleQueue

from redoma.fleet.cluster import ray_library
from redoma.fleet.fleet import Fleet
from redoma.fleet.items import ClusterError, ItemOutcome, ItemResult
from redoma.fleet.job_journal import JobFiles, JobJournal, items
from redoma.fleet.node_ledger import Fate
from redoma.model.errors import RedomaError
from redoma.model.value import Value, fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from redoma.fleet.dispatcher import PendingItem
    from redoma.fleet.node_ledger import Recalled

_BATCH = 256
_RECALL_SECONDS = 90.0


class JobProgress(Value):
    """How far a job is."""

    total: int
    done: int
    failed: int
    running: int
    # Items a second of late; 0 where nothing ended yet.
    rate: float
    resumed: int = 0

    @property
    def seconds_left(self) -> float | None:
        """How long it will take at this rate; None where nobody can tell."""
        return (self.total - self.done) / self.rate if self.rate > 0 else None


class JobRun:
    """One process's work on a job."""

    def __init__(
        self,
        jobs: str,
        results: str,
        *,
        show: Callable[[JobProgress], None] | None = None,
        ahead: int = 256,
        **given: Any,
    ) -> None:
        """`given` is what the `Fleet` is made with; `show` is told how far it is."""
        ray_library()  # nothing is left behind where it is missing
        self._jobs = jobs
        self._show = show or (lambda progress: None)
        self._ahead = ahead
        self._files = JobFiles(results)
        self.stopping = False
        self._given = given
        self._journal = JobJournal(self._files, jobs, settings_of(given))
        self._window: dict[int, PendingItem] = {}
        self._over: SimpleQueue[PendingItem] = SimpleQueue()
        self._resumed = self._journal.done
        self._began = time.monotonic()

    def run(self) -> JobProgress:
        """Runs what has no result yet; `stopping` ends it when what runs has ended."""
        try:
            if self._journal.done == self._journal.total:
                return self.progress(0)
            # Only what is on our disk is let go of by the nodes, so the journal is closed last.
            with Fleet(
                job=self._journal.job,
                audit=self._files.audit,
                before_send=self._before_send,
                **self._given,
            ) as self._fleet:
                self._journal.same_workspace(self._fleet.workspace)
                if self._journal.resumed:
                    self._recall()
                self._work()
                return self.progress(0)
        finally:
            self._journal.close()

    def progress(self, running: int) -> JobProgress:
        """How far it is now."""
        took = time.monotonic() - self._began
        return JobProgress(
            total=self._journal.total,
            done=self._journal.done,
            failed=self._journal.failed,
            running=running,
            rate=(self._journal.done - self._resumed) / took if took > 0 else 0.0,
            resumed=self._resumed,
        )

    _fleet: Fleet

    def _before_send(self, number: int, worker: str) -> None:
        # Where a run may be repeated, a line that a power cut takes does no harm.
        self._journal.sending(number, worker, forced=not self._fleet.crew.repeatable(""))

    def _work(self) -> None:
        rest = items(self._jobs)
        more = True
        while True:
            while more and not self.stopping and len(self._window) < self._ahead:
                number, item = next(rest, (-1, ""))
                more = number >= 0
                if more and not self._journal.has(number):
                    if isinstance(item, str):
                        self._write([_unusable(number, item)])
                        continue
                    self._window[number] = self._fleet.submit(item, number)
                    self._window[number].when_over(self._over.put)
            if self.stopping:
                self._hold_back()
            if not self._window:
                return
            self._take()

    def _hold_back(self) -> None:
        """What waits is not begun; it is left for whoever goes on with this job."""
        for pending in tuple(self._window.values()):
            if not pending.attempts and not pending.over:
                self._fleet.cancel(pending)

    def _take(self) -> None:
        """Writes what has ended, many at once where many have."""
        batch: list[PendingItem] = []
        try:
            batch.append(self._over.get(timeout=0.5))
            while len(batch) < _BATCH:
                batch.append(self._over.get_nowait())
        except Empty:
            pass
        results, error = [], None
        for pending in batch:
            self._window.pop(pending.number, None)
            try:
                result = pending.result()
            except RedomaError as raised:
                error = raised  # what ended before it is written all the same
                continue
            if result.outcome is not ItemOutcome.CANCELLED or result.attempts:
                results.append(result)
        if results:
            self._write(results)
            for pending in batch:
                self._fleet.arrived(pending.number, pending.worker)
        self._show(self.progress(self._fleet.running))
        if error is not None:
            raise error

    def _write(self, results: list[ItemResult]) -> None:
        self._journal.write(results)

    def _recall(self) -> None:
        """Asks every node what it knows of this job, before anything new is sent.

        An end that is there is taken. A run that was cut off is run again only where the grant
        shows that it left nothing; else its outcome is that nobody knows.
        """
        recalled: dict[str, Recalled] = {}
        dismissals = []
        cluster = self._fleet.crew.cluster
        for node, agent in self._fleet.crew.agents():
            try:
                for worker in cluster.wait(
                    agent.workers.remote(self._journal.job), _RECALL_SECONDS
                ):
                    if worker in recalled:
                        continue  # two nodes of one machine have one disk
                    call = agent.recall.remote(self._journal.job, worker)
                    found, rows = cluster.wait(call, _RECALL_SECONDS)
                    recalled[worker] = found
                    self._fleet.log.add(worker, node, rows)
                    dismissals.append((agent, worker))
            except ClusterError:
                continue  # what it knew is not known
        self._journal.write(
            [
                _item_result(delivery, worker)
                for worker, found in recalled.items()
                for number, delivery in found.ended.items()
                if not delivery.again and not self._journal.has(number)
            ]
        )
        if not self._fleet.crew.repeatable(""):
            self._journal.write(
                [
                    ItemResult(
                        number=number,
                        outcome=ItemOutcome.UNKNOWN,
                        why="the driver ended while this was at a node, and nobody knows its end",
                        attempts=1,
                    )
                    for number, worker in tuple(self._journal.sent.items())
                    if worker not in recalled or _in_doubt(recalled[worker], number)
                ]
            )
        for agent, worker in dismissals:
            agent.dismiss.remote(self._journal.job, worker)


def settings_of(given: dict[str, Any]) -> str:
    """A digest of what must be the same for a job to go on; where it runs may change."""
    free = ("address", "slots", "attempts", "ask")
    fixed = {
        name: fields_of(value) if isinstance(value, Value) else value
        for name, value in sorted(given.items())
        if name not in free
    }
    return hashlib.sha256(repr(fixed).encode()).hexdigest()


def _in_doubt(found: Recalled, number: int) -> bool:
    """Whether an item was begun, and whoever asks cannot know what it did."""
    fate = found.of(number)
    if fate is Fate.ENDED:
        return found.ended[number].again and found.ended[number].begun
    return fate is not Fate.NEVER_BEGUN


def _unusable(number: int, why: str) -> ItemResult:
    return ItemResult(number=number, outcome=ItemOutcome.UNUSABLE, why=why)


def _item_result(delivery: Any, worker: str) -> ItemResult:
    return ItemResult(
        number=delivery.number,
        outcome=delivery.outcome,
        result=delivery.result,
        why=delivery.why,
        node=worker.partition("-")[0],
        attempts=1,
        changes=delivery.changes,
    )
