"""Remembers how far the run of a plan came, so that it can be gone on with.

A state lies in the user's own state directory, which no command sees: whoever could write one
could have steps left out.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import contextmanager, suppress

from redoma.base import own_directories, private_file
from redoma.base.identity import short_id
from redoma.jail.overlay.locks import recover
from redoma.jail.overlay.transaction_store import read_entry
from redoma.model.change import Standing
from redoma.model.errors import ChangeError, StateUnavailable, UndoImpossible, UsageError
from redoma.model.intent import EndUnknown, NothingToResume, PlanChanged, PlanError
from redoma.model.message import Message
from redoma.model.value import Value, fields_of, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from redoma.model.intent import Intent
    from redoma.pipeline.transactions import Transactions


VERSION = 1
MOST_KEPT = 200
_LARGEST = 4 << 20


class PlanState(Value):
    """One run of a plan: what it is of, and which steps are done."""

    id: str
    name: str
    digest: str
    workspace: str
    # Steps that are done, each with the name of its run.
    done: tuple[tuple[str, str], ...] = ()
    # What each of them changed, by the name under which it can be taken back; "" for nothing. A
    # step whose writes were not held is not here.
    changes: tuple[tuple[str, str], ...] = ()
    # The step that was begun and has not ended yet.
    going: str = ""
    finished: bool = False
    when: float = 0.0


def new_state(intent: Intent, workspace: str) -> PlanState:
    """The state of a run that begins now."""
    _let_go()
    return PlanState(
        id=short_id(),
        name=intent.name,
        digest=intent.digest,
        workspace=workspace,
        when=time.time(),
    )


def resumed(intent: Intent, workspace: str, *, redo: bool) -> PlanState:
    """The last run of this plan here that stopped before its end.

    Attack: a plan that was changed since would take over what another plan was allowed to do.
    """
    here = [state for state in states() if state.workspace == workspace and not state.finished]
    same = [state for state in here if state.digest == intent.digest]
    if not same:
        named = next((state for state in here if state.name == intent.name), None)
        if named is not None:
            from redoma.model.remedies import Help, Remedy

            raise PlanChanged(
                Message(
                    "the plan {intent} is not as it was when {id} stopped",
                    intent=intent.name,
                    id=named.id,
                ),
                hint=Remedy(help=Help.FROM_THE_BEGINNING),
            )
        raise NothingToResume(
            Message("no run of {intent} stopped before its end here", intent=intent.name),
            hint="redoma plan run FILE",
        )
    found = same[0]
    if found.going and not redo:
        raise EndUnknown(found.going)
    return replace(found, going="")


def states() -> list[PlanState]:
    """Every run that is remembered, the newest first."""
    found = []
    where = f"{own_directories.state()}/plans"
    try:
        names = os.listdir(where)
    except FileNotFoundError:
        return []  # no plan was ever run
    for name in names:
        if name.endswith(".json"):
            with suppress(OSError, ValueError, TypeError, KeyError):
                found.append(_read(f"{where}/{name}"))
    return sorted(found, key=lambda state: (state.when, state.id), reverse=True)


def write(state: PlanState) -> None:
    """The state from now on, on disk before this returns."""
    path = f"{_directory()}/{state.id}.json"
    text = json.dumps({"version": VERSION, **fields_of(state)})
    private_file.write(path, text, durable=True)


@contextmanager
def only_one(state: PlanState) -> Iterator[None]:
    """One process at a time goes on with one run."""
    from fcntl import LOCK_EX, LOCK_NB, flock

    path = f"{_directory()}/{state.id}.lock"
    fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        try:
            flock(fd, LOCK_EX | LOCK_NB)
        except OSError:
            raise PlanError(
                Message("{id} is going on already", id=state.id), hint="wait for its end"
            ) from None
        yield
    finally:
        # Attack: two who open it, one before and one after it is gone, would both have it. So it
        # goes only with its state, or where no state was written and nobody can know its name.
        if not os.path.exists(f"{_directory()}/{state.id}.json"):
            with suppress(OSError):
                os.unlink(path)
        os.close(fd)


def _directory() -> str:
    try:
        path = f"{own_directories.made_state()}/plans"
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
    except StateUnavailable as error:
        raise PlanError(
            Message("how far a plan came cannot be kept: {error}", error=error), hint=error.hint
        ) from error
    except OSError as error:
        raise PlanError(
            Message("how far a plan came cannot be kept: {error}", error=error),
            hint="set XDG_STATE_HOME",
        ) from error
    return path


def _read(path: str) -> PlanState:
    if os.stat(path).st_size > _LARGEST:
        raise ValueError(Message("{path} is larger than anything we write", path=path))
    with open(path, encoding="utf-8") as file:
        content: Any = json.load(file)
    if not isinstance(content, dict) or content.pop("version", None) != VERSION:
        raise ValueError(Message("{path} is of another version", path=path))
    for pairs in ("done", "changes"):
        content[pairs] = tuple((step, name) for step, name in content.get(pairs, ()))
    return PlanState(**content)


def _let_go() -> None:
    for old in states()[MOST_KEPT - 1 :]:
        for ending in ("json", "lock"):
            with suppress(OSError):
                os.unlink(f"{_directory()}/{old.id}.{ending}")


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
    met = [state for state in states() if start and state.id.startswith(start)]
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
    with only_one(state):
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
            write(state)
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
