"""The egress gate: a thread that answers every connection of a sandbox, and decides each.

It stands outside: the sockets it listens on were made inside, and whatever it dials, it dials as
the machine itself. When it ends, for whatever reason, nothing leads out any more.

The event loop and what belongs to it are loaded when something is asked for the first time: a
command that asks nothing waits for none of that.
"""

from __future__ import annotations

import os
import select
from _thread import allocate_lock, start_new_thread
from contextlib import suppress

from redoma.base.log import logger
from redoma.egress import destinations
from redoma.egress.ledger import Ledger
from redoma.model.result import Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.egress.ledger import Tell
    from redoma.jail.kernel.netns_sockets import NetnsSockets
    from redoma.model.grant import Secret
    from redoma.model.network import Connection, Reach

log = logger(__name__)
_QUESTIONS_FOR_A_REFUSAL = 20


class EgressGate:
    """The way out of one sandbox, served by a thread of its own."""

    def __init__(
        self,
        reach: Reach,
        netns: NetnsSockets,
        first: int,
        wake: Callable[[], None],
        tell: Tell | None = None,
        *,
        authority: object | None = None,
        secrets: tuple[Secret, ...] = (),
    ) -> None:
        self.reach = reach
        self.netns = netns
        self.first = first
        self.authority = authority
        self.secrets = secrets
        self.published = [destinations.published(port) for port in reach.publish]
        self.ledger = Ledger(tell, listed=reach.listed)
        # Why the run has to end, where the gate says so.
        self.trouble: Outcome | None = None
        self.stopping = False
        self._bytes = 0
        self._wake = wake
        self.bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        # A thread that still asks for a name may ring when the bell is gone, or another's by now.
        self._ringing = allocate_lock()
        self._over = allocate_lock()

    def start(self) -> None:
        """Begins to serve; from here on connections are answered."""
        self._over.acquire()
        start_new_thread(self._serve, ())

    def stop(self) -> tuple[Connection, ...]:
        """Ends every connection; what became of all of them."""
        self.stopping = True
        self.ring()
        self._over.acquire()
        for sock in self.published:
            sock.close()
        with self._ringing:
            os.close(self.bell)
            self.bell = -1
        return self.ledger.all()

    def ring(self) -> None:
        """Wakes the gate's thread; from any other."""
        with self._ringing:
            if self.bell >= 0:
                os.eventfd_write(self.bell, 1)

    def spend(self, moved: int) -> bool:
        """Adds to what went through in this run; whether that is more than may."""
        self._bytes += moved
        return self.reach.max_bytes is not None and self._bytes > self.reach.max_bytes

    def end_if_flooded(self) -> None:
        """Ends a run whose command only keeps us busy, with our own time and not with its own."""
        seen, limit = self.ledger, self.reach.max_requests
        if (
            seen.refusals > self.reach.max_refusals
            or seen.questions > self.reach.max_refusals * _QUESTIONS_FOR_A_REFUSAL
            or (limit is not None and seen.requests > limit)
        ):
            self._end(Outcome.TOO_MANY_CONNECTIONS)

    def lost(self) -> None:
        """Ends the run: whoever should look at its connections does so no more."""
        if not self.stopping:
            self._end(Outcome.GATE_LOST)

    def _end(self, why: Outcome) -> None:
        if self.trouble is None:
            self.trouble = why
            self.stopping = True
            self.ring()
            self._wake()

    def _serve(self) -> None:
        try:
            if not self.netns.stays:
                self.netns.reap()
            self._await_the_first()
            if not self.stopping:
                from redoma.egress.loop import GateLoop

                GateLoop(self).run()
        except BaseException as error:  # whatever it was, nothing is relayed any more
            log.warning("the egress gate is lost: %r", error)
            self.lost()
        finally:
            self._over.release()

    def _await_the_first(self) -> None:
        """Waits until anything is asked of the gate, or it is stopped."""
        waiting = select.poll()
        waiting.register(self.bell, select.POLLIN)
        for sock in (*(each for _, each in self.netns.sockets), *self.published):
            waiting.register(sock, select.POLLIN)
        with suppress(InterruptedError):
            waiting.poll()
