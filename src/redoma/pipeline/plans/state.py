"""Remembers how far the run of a plan came, so that it can be gone on with.

A state lies in the user's own state directory, which no command sees: whoever could write one
could have steps left out.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import contextmanager, suppress

from redoma.base import atomic_file, own_directories
from redoma.base.ids import short_id
from redoma.model.errors import StateUnavailable
from redoma.model.intent import EndUnknown, NothingToResume, PlanChanged, PlanError
from redoma.model.message import Message
from redoma.model.value import Value, fields_of, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from redoma.model.intent import Intent

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
    atomic_file.write(path, text, durable=True)


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
