"""Performs a path's steps on this machine."""

from __future__ import annotations

from redoma.model.result import Outcome, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.ask.chain import Chain
    from redoma.flow.sandbox import Sandbox
    from redoma.flow.steps import Apply, Ask, Discard, Execute, Hold, Note
    from redoma.flow.world import World
    from redoma.jail.run.control import Control
    from redoma.jail.run.streams import Sink
    from redoma.model.question import Answer


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
        # Returns when the start of the run is on disk.
        self._begun: Callable[[], object] | None = None

    def note(self, step: Note) -> None:
        record = self._sandbox.record(self._policy)
        if step.admits:
            from redoma.flow.wiring import rates

            # What it needs is made ready while the disk takes it; the command waits for both.
            self._begun = record.begin(*step.events, limits=rates(self._policy)).wait
        elif step.waits:
            record.append(*step.events)
        else:
            record.note(*step.events)

    def ask(self, step: Ask) -> Answer | None:
        return self.answerer().ask(step.question)

    def answerer(self) -> Chain:
        """Everyone who can be asked."""
        return self._sandbox.answerer(self._policy)

    def execute(self, step: Execute) -> Result:
        from redoma.flow.execute import execute

        result = self.finished(
            execute(
                step.plan,
                self._sandbox.host,
                stdin=self._stdin,
                sink=self._sink,
                control=self._control,
                permit=self._begun,
            )
        )
        if result.changes is not None and result.changes.items:
            from redoma.flow.held import remember
            from redoma.flow.wiring import cleaner

            remember(result, cleaner(self._policy)(step.command), step.asks)
        return result

    def finished(self, result: Result) -> Result:
        """The result with whatever else it tells to those who know how to read it."""
        return result

    def hold(self, step: Hold) -> None:
        from redoma.jail.overlay import kept

        kept.set_asks(step.changes.id, (step.why,))

    def apply(self, step: Apply) -> Result:
        from redoma.flow.changes import apply

        applied = apply(step.changes.id, allow_write=step.plan.grant.writable)
        return Result(
            outcome=Outcome.EXITED, held_back=applied.held_back, notes=tuple(applied.notes)
        )

    def discard(self, step: Discard) -> None:
        from redoma.flow.changes import discard

        discard(step.changes.id)
