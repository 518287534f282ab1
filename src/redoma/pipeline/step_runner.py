"""Performs the steps of a path on this machine, one method for each step."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.audit.log import PendingWrite
    from redoma.jail.supervisor.control import Control
    from redoma.jail.supervisor.streams import Sink
    from redoma.model.change import Applied, Undone
    from redoma.model.question import Answer
    from redoma.model.result import Result
    from redoma.pipeline.context import PipelineContext
    from redoma.pipeline.run_context import RunContext
    from redoma.pipeline.steps import (
        ApplyStep,
        AskStep,
        AuditStep,
        BeginStep,
        DiscardStep,
        ExecuteStep,
        HoldStep,
        UndoStep,
    )


class StepRunner:
    """What one walk may use: the audit log, whoever is asked, and stored changes."""

    def __init__(self, context: PipelineContext) -> None:
        self._context = context

    def audit(self, step: AuditStep) -> None:
        log = self._context.audit_log()
        if step.waits:
            log.append(*step.events)
        else:
            log.note(*step.events)

    def begin(self, step: BeginStep) -> PendingWrite:
        from redoma.pipeline.audit_log import rates

        limits = rates(self._context.policy)
        return self._context.audit_log().begin(*step.events, limits=limits)

    def ask(self, step: AskStep) -> Answer | None:
        return self._context.answerer().ask(step.question)

    async def ask_async(self, step: AskStep) -> Answer | None:
        """As `ask`, without a thread that waits."""
        return await self._context.answerer().ask_async(step.question)

    def execute(self, step: ExecuteStep) -> Result:
        raise AssertionError("nothing runs on this walk")

    def hold(self, step: HoldStep) -> None:
        from redoma.jail.overlay import transaction_store

        transaction_store.set_asks(step.id, step.asks)

    def apply(self, step: ApplyStep) -> Applied:
        from redoma.pipeline import stored_changes

        return stored_changes.apply(
            step.id,
            step.paths,
            contents=step.contents,
            allow_write=step.allow_write,
            undo=step.undo,
            names=step.protected,
        )

    def discard(self, step: DiscardStep) -> None:
        from redoma.pipeline import stored_changes

        stored_changes.discard(step.id)

    def undo(self, step: UndoStep) -> Undone:
        from redoma.pipeline import stored_changes

        return stored_changes.undo(step.id)


class RunStepRunner(StepRunner):
    """The same for a walk that runs something: its plan is executed on this machine."""

    def __init__(
        self, context: RunContext, *, sink: Sink | None = None, control: Control | None = None
    ) -> None:
        """`sink` gets what the command prints as it comes; `control` sends signals, or ends it."""
        super().__init__(context)
        self._run = context
        self._sink = sink
        self._control = control

    def execute(self, step: ExecuteStep) -> Result:
        from redoma.pipeline.execute import execute

        ended = execute(
            step.plan,
            self._run.host,
            stdin=self.stdin(step),
            sink=self._sink,
            control=self._control,
            wait_for_start=step.start.wait,
        )
        result = self.finished(ended)
        if result.changes is not None and result.changes.held:
            from redoma.pipeline.redaction import cleaner
            from redoma.pipeline.stored_changes import store

            store(result.changes, cleaner(self._run.policy)(step.command), step.asks)
        return result

    def stdin(self, step: ExecuteStep) -> bytes | int | None:
        """What the command reads."""
        return self._run.stdin

    def finished(self, result: Result) -> Result:
        """The result with whatever else it tells to those who know how to read it."""
        return result
