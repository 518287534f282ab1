"""Takes back the steps of one run of a plan, the last one first, and stops where one cannot be."""

from __future__ import annotations

from redoma.jail.overlay.locks import recover
from redoma.jail.overlay.transaction_store import read_entry
from redoma.model.change import Standing
from redoma.model.errors import ChangeError, UndoImpossible, UsageError
from redoma.model.intent import EndUnknown
from redoma.model.message import Message
from redoma.model.value import Value, replace
from redoma.pipeline.plans import state as kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.pipeline.plans.state import PlanState
    from redoma.pipeline.transactions import Transactions


class UndoneStep(Value):
    """A step that counts as not done any more; `paths` are those that are as they were."""

    id: str
    changes: str = ""
    paths: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    before: bool = False  # it had been taken back by itself


class PlanUndone(Value):
    """What was taken back, in the order of its doing, and why no more, where that is so."""

    id: str
    name: str
    steps: tuple[UndoneStep, ...]
    stopped_at: str = ""
    error: ChangeError | None = None

    @property
    def ok(self) -> bool:
        """Whether every step that was done is taken back."""
        return self.error is None


def find(start: str) -> PlanState | None:
    """The one run of a plan whose id begins so; None where there is none."""
    met = [state for state in kept.states() if start and state.id.startswith(start)]
    exact = [state for state in met if state.id == start]
    if len(exact or met) > 1:
        names = ", ".join(state.id for state in met[:10])
        raise UsageError("{start} is the beginning of several: {names}", start=start, names=names)
    return next(iter(exact or met), None)


def can_undo(run: str) -> bool:
    """Whether everything that a run of a plan did can be taken back, as things stand."""
    state = find(run)
    if state is None:
        return False
    recover()
    names = dict(state.changes)
    good = (Standing.APPLIED, Standing.UNDONE)
    for step, _ in state.done:
        if step not in names:
            return False  # what it wrote was not held
        if names[step] and read_entry(names[step]).shown.standing not in good:
            return False
    return True


def undo_plan(state: PlanState, transactions: Transactions) -> PlanUndone:
    """Takes back every step that is done; each counts as not done as soon as it is."""
    recover()
    with kept.only_one(state):
        # It may have gone on between our look and the lock.
        state = find(state.id) or state
        if state.going:
            raise EndUnknown(state.going)
        if not state.done:
            raise UndoImpossible(
                Message("no step of {id} is done: there is nothing to take back", id=state.id),
                hint="redoma history",
            )
        undone: list[UndoneStep] = []
        while state.done:
            step, _ = state.done[-1]
            try:
                undone.append(_undo(step, dict(state.changes), transactions))
            except ChangeError as error:
                return _told(state, undone, stopped_at=step, error=error)
            state = replace(
                state,
                done=state.done[:-1],
                changes=tuple(each for each in state.changes if each[0] != step),
                finished=False,
            )
            kept.write(state)
        return _told(state, undone)


def _undo(step: str, changes: dict[str, str], transactions: Transactions) -> UndoneStep:
    if step not in changes:
        raise UndoImpossible(
            Message(
                "what the step {step} wrote was not held, so nobody knows how it was before",
                step=step,
            ),
            hint="redoma history",
        )
    name = changes[step]
    if not name:
        return UndoneStep(id=step)
    if read_entry(name).shown.standing is Standing.UNDONE:
        return UndoneStep(id=step, changes=name, before=True)
    made = transactions.undo(name)
    return UndoneStep(id=step, changes=name, paths=tuple(made.paths), notes=made.notes)


def _told(
    state: PlanState,
    undone: list[UndoneStep],
    *,
    stopped_at: str = "",
    error: ChangeError | None = None,
) -> PlanUndone:
    return PlanUndone(
        id=state.id, name=state.name, steps=tuple(undone), stopped_at=stopped_at, error=error
    )
