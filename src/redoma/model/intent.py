"""A plan of work as someone intends it: named steps, each one operation, and what holds for it.

Not to be taken for `redoma.model.grant`, which is how one run is enclosed.
"""

from __future__ import annotations

from enum import Enum

from redoma.model.errors import RedomaError, UsageError
from redoma.model.message import Message
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from redoma.model.remedies import Remedy


class Operation(Enum):
    """What a step does; there is no other kind of step."""

    SHELL = "shell"
    PROGRAM = "program"
    PYTHON = "python"
    FILE_READ = "file.read"
    FILE_WRITE = "file.write"
    FILE_MOVE = "file.move"
    FILE_DELETE = "file.delete"
    FOLDER_MAKE = "folder.make"


class StepConstraints(Value):
    """What a step is held to beside its sandbox; None says nothing, and nothing here widens."""

    allowed_write_paths: tuple[str, ...] | None = None
    forbidden_paths: tuple[str, ...] = ()
    max_execution_time: float | None = None
    max_memory_mb: int | None = None
    max_file_size_mb: int | None = None
    allow_network: bool | None = None
    allowed_hosts: tuple[str, ...] | None = None
    max_subprocesses: int | None = None


class Step(Value):
    """One operation with its arguments, and the steps that have to be done before it."""

    id: str
    operation: Operation
    # The arguments of the operation by name, as `judge.intent.plan_schema` lists them.
    arguments: Mapping[str, object]
    needs: tuple[str, ...] = ()
    constraints: StepConstraints = StepConstraints()
    # The writer's own; nothing here is decided by it.
    metadata: Mapping[str, object] = {}


class Intent(Value):
    """Everything that is to be done, in the order in which it will be."""

    name: str
    steps: tuple[Step, ...]
    # Of the plan's content, however it is spelt: what is resumed or approved is exactly this.
    digest: str
    metadata: Mapping[str, object] = {}

    def step(self, id: str) -> Step:
        """The step with this name."""
        return next(step for step in self.steps if step.id == id)


class StepStatus(Enum):
    """What became of a step."""

    DONE = "done"
    DONE_BEFORE = "done-before"  # in the run that this one resumes
    FAILED = "failed"
    REFUSED = "refused"
    NOT_REACHED = "not-reached"


class PlanSyntax(UsageError):
    """A plan cannot be understood at `pointer` (JSON Pointer), which is at `location`."""

    code = "plan-syntax"

    def __init__(
        self, message: str, *, location: str, pointer: str = "", hint: str | Remedy = ""
    ) -> None:
        self.location = location
        self.pointer = pointer
        at = f"{location}: {pointer}" if pointer else location
        super().__init__(f"{at}: {message}", hint=hint)

    def details(self) -> dict[str, object]:
        return {"location": self.location, "pointer": self.pointer}


class PlanCycle(PlanSyntax):
    """Steps need each other, so that none of them can be the first."""

    code = "plan-cycle"

    def __init__(self, steps: Iterable[str], *, location: str, pointer: str) -> None:
        self.steps = tuple(steps)
        shown = " needs ".join((*self.steps, self.steps[0]))
        super().__init__(
            Message("the steps go in a circle: {shown}", shown=shown),
            location=location,
            pointer=pointer,
        )

    def details(self) -> dict[str, object]:
        return {**super().details(), "steps": list(self.steps)}


class PlanError(RedomaError):
    """A plan cannot be run or gone on with."""

    code = "plan"


class NothingToResume(PlanError):
    """No run of this plan stopped before its end here."""

    code = "plan-nothing-to-resume"


class PlanChanged(PlanError):
    """The plan is not the one whose run stopped: what was done belongs to another plan."""

    code = "plan-changed"


class EndUnknown(PlanError):
    """A step was begun and nobody wrote down its end, so it may have happened or not."""

    code = "plan-end-unknown"

    def __init__(self, step: str) -> None:
        from redoma.model.remedies import Help, Remedy

        self.step = step
        super().__init__(
            Message("the step {step} was begun, and it is not known how it ended", step=step),
            hint=Remedy(help=Help.REDO),
        )

    def details(self) -> dict[str, object]:
        return {"step": self.step}
