"""Performs a path's steps on this machine."""

from __future__ import annotations

from contextlib import suppress

from redoma.model.errors import RateLimited
from redoma.model.result import Outcome, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.ask.answerers import AnswererChain
    from redoma.jail.supervisor.control import Control
    from redoma.jail.supervisor.streams import Sink
    from redoma.model.event import Event
    from redoma.model.question import Answer
    from redoma.pipeline.context import World
    from redoma.pipeline.sandbox import Sandbox
    from redoma.pipeline.steps import Apply, Ask, Discard, Execute, Hold, Note


class Hands:
    """What one call may use: the record, whoever is asked, and the machine."""

    def __init__(
        self,
        world: World,
        sandbox: Sandbox,
        *,
        stdin: bytes | int | None = b"",
        sink: Sink | None = None,
        control: Control | None = None,
    ) -> None:
        self._policy = world.policy
        self._sandbox = sandbox
        self._stdin = stdin
        self._sink = sink
        self._control = control
        # The start of the run, where it is not written yet.
        self._start: tuple[Event, ...] = ()

    def note(self, step: Note) -> None:
        if step.admits:
            self._start = step.events  # written while the enclosure is made
            return
        if self._start:
            with suppress(RateLimited):  # the refusal is written then, and nothing was run
                self._begin()()
        record = self._sandbox.record(self._policy)
        if step.waits:
            record.append(*step.events)
        else:
            record.note(*step.events)

    def _begin(self) -> Callable[[], object]:
        """Writes the start of the run where there is room for it; what it gives waits for the disk.

        What the command needs is made ready meanwhile, and the command waits for both.
        """
        from redoma.pipeline.wiring import rates

        events, self._start = self._start, ()
        record = self._sandbox.record(self._policy)
        return record.begin(*events, limits=rates(self._policy)).wait

    def ask(self, step: Ask) -> Answer | None:
        return self.answerer().ask(step.question)

    def answerer(self) -> AnswererChain:
        """Everyone who can be asked."""
        return self._sandbox.answerer(self._policy)

    def execute(self, step: Execute) -> Result:
        from redoma.pipeline.execute import execute

        try:
            ended = execute(
                step.plan,
                self._sandbox.host,
                stdin=self._stdin,
                sink=self._sink,
                control=self._control,
                permit=self._begin if self._start else None,
            )
        except BaseException:
            if self._start:
                self._begin()()  # what failed was to be a run: its start is told before its end
            raise
        result = self.finished(ended)
        if result.changes is not None and result.changes.held:
            from redoma.pipeline.held import remember
            from redoma.pipeline.wiring import cleaner

            try:
                remember(result, cleaner(self._policy)(step.command), step.asks)
            except KeyboardInterrupt as stop:
                from redoma.jail.overlay.retention import remove_stored_overlay
                from redoma.pipeline.execute import LET_GO

                stop.args = (LET_GO,)
                remove_stored_overlay(result.changes.id)
                raise
        return result

    def finished(self, result: Result) -> Result:
        """The result with whatever else it tells to those who know how to read it."""
        return result

    def hold(self, step: Hold) -> None:
        from redoma.jail.overlay import transaction_store

        transaction_store.set_asks(step.changes.id, (step.why,))

    def apply(self, step: Apply) -> Result:
        from redoma.pipeline.stored_changes import apply

        allowed = step.plan.grant.writable
        try:
            names = step.plan.grant.protected
            applied = apply(step.changes.id, allow_write=allowed, undo=step.undo, names=names)
        except KeyboardInterrupt:
            from redoma.pipeline.stored_changes import applied_after_all

            if not (applied_already := applied_after_all(step.changes.id)):
                raise
            applied = applied_already
        return Result(
            outcome=Outcome.EXITED,
            held_back=applied.held_back,
            notes=tuple(applied.notes),
            applied=bool(applied.changes),  # all of it may be held back
            undoable=applied.undoable,
        )

    def discard(self, step: Discard) -> None:
        from redoma.pipeline.stored_changes import discard

        try:
            discard(step.changes.id)
        except KeyboardInterrupt as stop:
            from redoma.jail.overlay.transaction_store import read_entry
            from redoma.pipeline.execute import LET_GO

            if not read_entry(step.changes.id).shown.standing.holds:
                stop.args = (LET_GO,)  # its layer is removed by who makes room next
            raise
