"""What the path asks of the world, step by step, and what performs it on this machine.

A path yields steps and gets their answers; `drive` has them done by plain calls, `drive_async` by
awaiting.
"""

from __future__ import annotations

from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator, Mapping
    from typing import Any, Protocol, TypeAlias, TypeVar

    from redoma.audit.log import PendingWrite
    from redoma.jail.supervisor.start import Control
    from redoma.jail.supervisor.streams import Sink
    from redoma.model.change import Applied, Undone
    from redoma.model.event import Event
    from redoma.model.grant import RunPlan
    from redoma.model.request import Answer, Question
    from redoma.model.result import Result
    from redoma.pipeline.checks import PipelineContext
    from redoma.pipeline.run_context import RunContext

    T = TypeVar("T")
    Step: TypeAlias = (
        "AuditStep | BeginStep | AskStep | ExecuteStep | HoldStep | ApplyStep | DiscardStep"
        " | UndoStep"
    )
    Path: TypeAlias = Generator[Step, Any, T]

    class Start(Protocol):
        """The start of a run, on its way to the disk."""

        def wait(self) -> object:
            """Returns when it is on disk; RecordError where it cannot be."""

    class Runner(Protocol):
        """Performs the steps of a path."""

        def audit(self, step: AuditStep) -> None: ...
        def begin(self, step: BeginStep) -> Start: ...
        def ask(self, step: AskStep) -> Answer | None: ...
        def execute(self, step: ExecuteStep) -> Result: ...
        def hold(self, step: HoldStep) -> None: ...
        def apply(self, step: ApplyStep) -> Applied: ...
        def discard(self, step: DiscardStep) -> None: ...
        def undo(self, step: UndoStep) -> Undone: ...

    class AsyncRunner(Protocol):
        """The same, awaited."""

        def perform(self, step: Step) -> Awaitable[Any]: ...


class AuditStep(Value):
    """Write events to the audit log, all or none."""

    method = "audit"

    events: tuple[Event, ...]
    # Whether the path goes on only when they are safe on disk.
    waits: bool = True


class BeginStep(Value):
    """Write the start of a run, where the rate limits have room for it: RateLimited otherwise.

    The answer is a `Start`: the disk is waited for while the sandbox is built, and the command
    starts when `ExecuteStep` has seen it there.
    """

    method = "begin"

    events: tuple[Event, ...]


class AskStep(Value):
    """Put a question to someone; the answer is an `Answer`, or None for silence."""

    method = "ask"

    question: Question


class ExecuteStep(Value):
    """Run a plan whose start was written; the answer is a `Result`."""

    method = "execute"

    plan: RunPlan
    start: Start
    # The command as it was asked for: a plan may run its own dry run in its place.
    command: str = ""
    # Why what it changes has to be confirmed before it is applied.
    asks: tuple[str, ...] = ()


class HoldStep(Value):
    """Keep stored changes until a person agrees to them."""

    method = "hold"

    id: str
    asks: tuple[str, ...]


class ApplyStep(Value):
    """Make stored changes real; the answer is what was `Applied`.

    NoRoomForUndo is raised, and nothing applied, where `undo` is wanted and cannot be had.
    """

    method = "apply"

    id: str
    # Those at or below these alone; None for all of them.
    paths: tuple[str, ...] | None = None
    # What a file shall hold where only some of its hunks are wanted.
    contents: Mapping[str, bytes] = {}
    allow_write: tuple[str, ...] = ()
    # Names that the policy protects.
    protected: tuple[str, ...] = ()
    undo: bool = True


class DiscardStep(Value):
    """Forget stored changes."""

    method = "discard"

    id: str


class UndoStep(Value):
    """Take back what was applied; the answer is what was `Undone`."""

    method = "undo"

    id: str


def perform(step: Step, runner: Runner) -> Any:
    """One step, by the runner's method for it."""
    return getattr(runner, step.method)(step)


def drive(path: Path[T], runner: Runner) -> T:
    """Walks a path to its end by plain calls; what a step raises, the path hears first."""
    answer: Any = None
    error: BaseException | None = None
    while True:
        try:
            step = path.send(answer) if error is None else path.throw(error)
        except StopIteration as end:
            result: T = end.value
            return result
        answer = error = None
        try:
            answer = perform(step, runner)
        except BaseException as raised:
            error = raised


async def drive_async(path: Path[T], runner: AsyncRunner) -> T:
    """Walks a path to its end, letting others run while a step takes its time."""
    answer: Any = None
    error: BaseException | None = None
    while True:
        try:
            step = path.send(answer) if error is None else path.throw(error)
        except StopIteration as end:
            result: T = end.value
            return result
        answer = error = None
        try:
            answer = await runner.perform(step)
        except BaseException as raised:
            error = raised


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

        self._run.config.begin()
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
            from redoma.pipeline.secrets import cleaner
            from redoma.pipeline.stored_changes import store

            store(result.changes, cleaner(self._run.policy)(step.command), step.asks)
        return result

    def stdin(self, step: ExecuteStep) -> bytes | int | None:
        """What the command reads."""
        return self._run.stdin

    def finished(self, result: Result) -> Result:
        """The result with whatever else it tells to those who know how to read it."""
        return result
