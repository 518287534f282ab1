"""What becomes of stored changes: applied, discarded, undone; confirmed where it must be, audited.

Attack: an agent previews what it may not run without a person, and then applies the preview. So a
transaction remembers why it has to be confirmed, and nobody applies it without an answer.

That something begins is on disk before anything moves: no audit log, no change.
"""

from __future__ import annotations

from contextlib import suppress

from redoma.model.errors import Declined, NoRoomForUndo, RecordError
from redoma.model.event import Kind
from redoma.model.message import Message
from redoma.model.value import replace
from redoma.pipeline.steps import ApplyStep, AuditStep, DiscardStep, UndoStep, drive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypeVar

    from redoma.model.change import Applied, Changes, HistoryEntry, Undone
    from redoma.model.event import Event
    from redoma.model.policy import Policy
    from redoma.model.request import Question, Request
    from redoma.pipeline.audit_events import AuditEvents
    from redoma.pipeline.checks import PipelineContext
    from redoma.pipeline.steps import Path

    T = TypeVar("T")
    Made = TypeVar("Made", "Applied", "Undone")


def apply_changes(
    events: AuditEvents, changes: Changes, step: ApplyStep, question: Callable[[], Question]
) -> Path[Applied]:
    """Applies; where what is replaced cannot be kept, asks whether it may be for good.

    NoRoomForUndo where nobody agrees to that.
    """
    try:
        return (yield from _apply_once(events, changes, step))
    except NoRoomForUndo as error:
        if step.paths is not None:
            raise
        from redoma.pipeline.path import ask
        from redoma.pipeline.questions import without_undo

        asked = without_undo(question(), changes.id, str(error))
        answer = yield from ask(events, asked)
        if answer is None or not answer.approves(asked):
            raise
    return (yield from _apply_once(events, changes, replace(step, undo=False)))


def _apply_once(events: AuditEvents, changes: Changes, step: ApplyStep) -> Path[Applied]:
    def ended(made: Applied) -> tuple[Event, ...]:
        became = Kind.APPLIED if made.changes else Kind.PREVIEWED
        paths = [change.path for change in made.changes]
        row = events.changed(became, changes, undoable=made.undoable, paths=paths)
        return (row, *events.violations(made.held_back))

    return (
        yield from _audited(
            step,
            starting=events.changed(Kind.APPLY_STARTING, changes),
            ended=ended,
            failed=lambda error: events.not_changed(Kind.APPLY_FAILED, changes, error),
        )
    )


def undo_changes(events: AuditEvents, changes: Changes) -> Path[Undone]:
    """Takes back what was applied."""

    def ended(made: Undone) -> tuple[Event, ...]:
        return (events.changed(Kind.UNDONE, changes, paths=list(made.paths)),)

    return (
        yield from _audited(
            UndoStep(id=changes.id),
            starting=events.changed(Kind.UNDO_STARTING, changes),
            ended=ended,
            failed=lambda error: events.not_changed(Kind.UNDO_FAILED, changes, error),
        )
    )


def discard_changes(events: AuditEvents, changes: Changes, *before: Event) -> Path[None]:
    """Lets stored changes go; that is on disk before they are gone."""
    yield AuditStep(events=(*before, events.changed(Kind.DISCARDED, changes)))
    yield DiscardStep(id=changes.id)


def _audited(
    step: ApplyStep | UndoStep,
    *,
    starting: Event,
    ended: Callable[[Made], tuple[Event, ...]],
    failed: Callable[[BaseException], Event],
) -> Path[Made]:
    """Performs a step; its start is on disk before, and its end is written, whatever it is."""
    yield AuditStep(events=(starting,))
    try:
        made: Made = yield step
    except BaseException as error:
        with suppress(RecordError):  # its start is there, and the error says the rest
            yield AuditStep(events=(failed(error),), waits=False)
        raise
    rows = ended(made)
    try:
        yield AuditStep(events=rows, waits=len(rows) > 1)
    except (RecordError, KeyboardInterrupt) as error:
        # Its start is on disk, and it is done: that is what a person has to know first.
        why = "stopped" if isinstance(error, KeyboardInterrupt) else str(error)
        note = Message("this was done, and could not be written down: {why}", why=why)
        return replace(made, notes=(*made.notes, note))
    return made


class Transactions:
    """Applies, discards and undoes stored changes by their names, for whoever asks."""

    def __init__(self, context: PipelineContext) -> None:
        """`context` says under which policy, who is asked and where it is audited."""
        self._context = context

    def apply(
        self,
        name: str,
        paths: Iterable[str] | None = None,
        *,
        contents: Mapping[str, bytes] | None = None,
        allow_write: Iterable[str] = (),
        undo: bool = True,
    ) -> Applied:
        """Applies all changes, or those at or below `paths`; asks where the command has to be.

        Declined where nobody approves. So it is asked where what is replaced cannot be kept;
        without `undo` nothing is kept anyway.
        """
        step = ApplyStep(
            id=name,
            paths=None if paths is None else tuple(paths),
            contents=contents or {},
            allow_write=tuple(allow_write),
            protected=self._context.policy.filesystem.protected_names,
            undo=undo,
        )
        return self._drive(self._apply_path(self._entry(name), step))

    def discard(self, name: str) -> None:
        """Lets stored changes go; the workspace is not touched."""
        from redoma.pipeline import stored_changes

        entry = self._entry(name)
        stored_changes.refuse_discard(entry)
        self._drive(discard_changes(self._events(entry), _named(entry)))

    def undo(self, name: str | None = None, *, workspace: str = "") -> Undone:
        """Takes back what was applied; without a name, the last of a workspace."""
        from redoma.pipeline import stored_changes

        entry = self._entry(name or stored_changes.last_applied(workspace))
        return self._drive(_said_where_stopped(entry.id, undo_changes(*self._of(entry))))

    def _apply_path(self, entry: HistoryEntry, step: ApplyStep) -> Path[Applied]:
        from redoma.pipeline import stored_changes
        from redoma.pipeline.path import ask
        from redoma.pipeline.questions import question_of_changes

        changes = stored_changes.load(entry.id)
        events, policy = self._events(entry), self._context.policy
        asked = question_of_changes(self._request(entry), entry, changes, policy)
        if entry.asks:
            answer = yield from ask(events, asked)
            if answer is None or not answer.approves(asked):
                notes = answer.notes if answer is not None else ""
                raise Declined(
                    "{id} is not applied: nobody approved it ({asks})",
                    id=entry.id,
                    asks=Message("; ".join(entry.asks)),
                    hint=notes or Message("redoma apply {id} at a terminal", id=entry.id),
                )
        walk = apply_changes(events, changes, replace(step, id=entry.id), lambda: asked)
        return (yield from _said_where_stopped(entry.id, walk))

    def _entry(self, name: str) -> HistoryEntry:
        from redoma.jail.overlay import transaction_store
        from redoma.pipeline import stored_changes

        return transaction_store.read_entry(stored_changes.resolve(name)).shown

    def _of(self, entry: HistoryEntry) -> tuple[AuditEvents, Changes]:
        return self._events(entry), _named(entry)

    def _events(self, entry: HistoryEntry) -> AuditEvents:
        from redoma.pipeline.audit_events import AuditEvents

        logging = self._context.policy.logging
        return AuditEvents(self._request(entry), logging, command=entry.command)

    def _request(self, entry: HistoryEntry) -> Request:
        """The request in whose name the rows stand: they are tied together by the changes."""
        from redoma.model.request import ShellCommand

        return self._context.caller.request(ShellCommand(text=entry.command), id=entry.id)

    def _drive(self, path: Path[T]) -> T:
        from redoma.pipeline.steps import StepRunner

        return drive(path, StepRunner(self._context))


def local_transactions(policy: Policy) -> Transactions:
    """For whoever is at this command line: whoever is there is asked."""
    from redoma.pipeline.answerers import LocalAnswerer
    from redoma.pipeline.checks import PipelineContext
    from redoma.pipeline.requests import Caller

    return Transactions(PipelineContext(policy, Caller(), ask=LocalAnswerer("auto")))


def _named(entry: HistoryEntry) -> Changes:
    """A transaction by its name, where what it changed is not looked at."""
    from redoma.model.change import Changes

    return Changes(id=entry.id, workspace=entry.workspace)


def _said_where_stopped(name: str, path: Path[T]) -> Path[T]:
    """The same; who stops it is told that nothing was changed, where that is so."""
    from redoma.jail.overlay import transaction_store

    before = transaction_store.read_entry(name).active
    try:
        return (yield from path)
    except KeyboardInterrupt as stop:
        # It may come when everything is done, and only the rows about it are left to be written.
        if not stop.args and transaction_store.read_entry(name).active == before:
            stop.args = (Message("stopped: nothing of {name} was changed", name=name),)
        raise
