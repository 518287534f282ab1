"""Applies, discards and undoes for whoever asks: confirmed where it must be, and written down.

Attack: an agent previews what it may not run without a person, and then applies the preview. So a
transaction remembers why it has to be confirmed, and nobody applies it without an answer.

That something begins is on disk before anything moves: no record, no change.
"""

from __future__ import annotations

from contextlib import suppress

from redoma.jail.overlay import transaction_store
from redoma.model.errors import Declined, NoRoomForUndo, RecordError
from redoma.model.event import Event, Kind
from redoma.model.question import Context, Impact, Question
from redoma.model.risk import Risk
from redoma.model.transaction import Undone
from redoma.model.value import replace
from redoma.pipeline import stored_changes
from redoma.pipeline.path import unwritten, without_undo
from redoma.pipeline.requests import Who, this_caller, this_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypeVar

    from redoma.ask.answerers import AnswererChain
    from redoma.audit.log import AuditLog
    from redoma.model.change import Changes
    from redoma.model.policy import Policy
    from redoma.model.question import Answer
    from redoma.model.transaction import Applied, HistoryEntry

    T = TypeVar("T", Applied, Undone)

_MOST_PATHS = 200


def apply(
    name: str,
    paths: Iterable[str] | None = None,
    *,
    ask: AnswererChain,
    policy: Policy,
    contents: Mapping[str, bytes] | None = None,
    allow_write: Iterable[str] = (),
    undo: bool = True,
    record: AuditLog | None = None,
) -> Applied:
    """Applies held changes; asks first where the command that made them has to be confirmed.

    So it does where what they replace cannot be kept; without `undo` nothing is kept anyway.
    """
    entry = transaction_store.read_entry(stored_changes.resolve(name)).shown
    book = _Book(entry, record or _own(policy))
    asked = _question(entry, stored_changes.load(entry.id), policy)
    if entry.asks:
        book.confirmed(asked, ask)

    names = policy.filesystem.protected_names

    def work(*, undo: bool) -> Applied:
        return book.written(
            Kind.APPLY_STARTING,
            lambda: _apply(entry.id, paths, contents, allow_write, undo=undo, names=names),
            lambda made: (Kind.APPLIED, [change.path for change in made.changes]),
            Kind.APPLY_FAILED,
        )

    try:
        return work(undo=undo)
    except NoRoomForUndo as error:
        if paths is not None or not book.agreed(without_undo(asked, entry.id, str(error)), ask):
            raise
    return work(undo=False)


def discard(name: str, policy: Policy, *, record: AuditLog | None = None) -> None:
    """Lets held changes go."""
    entry = transaction_store.read_entry(stored_changes.resolve(name)).shown
    stored_changes.refuse_discard(entry)
    _Book(entry, record or _own(policy)).append(Kind.DISCARDED, [])
    stored_changes.discard(entry.id)


def undo(
    name: str | None, policy: Policy, *, workspace: str = "", record: AuditLog | None = None
) -> Undone:
    """Takes back what was applied; without a name, the last of a workspace."""
    whole = stored_changes.resolve(name) if name else stored_changes.last_applied(workspace)
    book = _Book(transaction_store.read_entry(whole).shown, record or _own(policy))
    return book.written(
        Kind.UNDO_STARTING,
        lambda: _undo(whole),
        lambda made: (Kind.UNDONE, list(made.paths)),
        Kind.UNDO_FAILED,
    )


def _apply(
    name: str,
    paths: Iterable[str] | None,
    contents: Mapping[str, bytes] | None,
    allow_write: Iterable[str],
    *,
    undo: bool,
    names: tuple[str, ...],
) -> Applied:
    before = transaction_store.read_entry(name).active
    try:
        return stored_changes.apply(
            name, paths, contents=contents, allow_write=allow_write, undo=undo, names=names
        )
    except KeyboardInterrupt:
        made = stored_changes.applied_after_all(name)
        if made is None or transaction_store.read_entry(name).active == before:
            raise
        return made


def _undo(name: str) -> Undone:
    before = transaction_store.read_entry(name).active
    try:
        return stored_changes.undo(name)
    except KeyboardInterrupt:
        if transaction_store.read_entry(name).active == before:
            raise
        return Undone(id=name, notes=("stopped when everything was taken back",))


def _own(policy: Policy) -> AuditLog:
    from redoma.pipeline.wiring import record

    return record("", policy)


def _question(entry: HistoryEntry, changes: Changes, policy: Policy) -> Question:
    from redoma.ask.answers import now
    from redoma.base.ids import uuid

    who = Who(caller=this_caller(), session=this_session())
    count = len(changes.items)
    return Question(
        id=uuid(),
        digest=f"apply {entry.id}",
        command=entry.command,
        risk=Risk.DANGEROUS,
        safety_level=Risk.DANGEROUS.label,
        because=entry.asks,
        impact=Impact(
            files_affected=tuple(item.path for item in changes.items),
            reversible=True,
            estimated_scope=f"changes {count} path{'s' if count > 1 else ''} that a preview holds",
        ),
        context=Context(triggered_by=who.caller),
        workspace=entry.workspace,
        session=who.session,
        asked_at=now(),
        timeout_seconds=policy.confirmation.timeout_seconds,
        default_action=policy.confirmation.default_action,
        policy=policy.name,
    )


class _Book:
    """What is written down of one transaction."""

    def __init__(self, entry: HistoryEntry, record: AuditLog) -> None:
        self._entry = entry
        self._record = record

    def append(self, kind: Kind, paths: list[str]) -> None:
        """On disk before this returns."""
        self._record.append(self._event(kind, self._of(paths)))

    def written(
        self,
        starting: Kind,
        work: Callable[[], T],
        ended: Callable[[T], tuple[Kind, list[str]]],
        failed: Kind,
    ) -> T:
        """Does the work; its start is on disk before, and its end is told, whatever it is."""
        self.append(starting, [])
        try:
            made: T = work()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and not error.args:
                error.args = (f"stopped: nothing of {self._entry.id} was changed",)
            why = {"error": getattr(error, "code", type(error).__name__), "why": str(error)[:2000]}
            with suppress(RecordError):  # its start is there, and the error says the rest
                self._record.note(self._event(failed, {**self._of([]), **why}))
            raise
        kind, paths = ended(made)
        more = {} if getattr(made, "undoable", True) else {"undoable": False}
        try:
            self._record.note(self._event(kind, {**self._of(paths), **more}))
        except (RecordError, KeyboardInterrupt) as error:
            made = replace(made, notes=(*made.notes, unwritten(error)))
        return made

    def confirmed(self, question: Question, ask: AnswererChain) -> None:
        """Declined where nobody approves."""
        name = self._entry.id
        answer = self._asked(question, ask)
        if not answer.approves(question):
            raise Declined(
                f"{name} is not applied: nobody approved it ({'; '.join(question.because)})",
                hint=answer.notes or f"redoma apply {name} at a terminal",
            )

    def agreed(self, question: Question, ask: AnswererChain) -> bool:
        """Whether somebody approves."""
        return self._asked(question, ask).approves(question)

    def _asked(self, question: Question, ask: AnswererChain) -> Answer:
        said: dict[str, object] = {"question": question.id, "digest": question.digest}
        because = {"because": list(question.because)}
        self._record.append(self._event(Kind.ASKED, {**said, **because}))
        answer = ask.ask(question)
        said |= {"choice": answer.choice.value, "approved_by": answer.approved_by}
        self._record.append(self._event(Kind.ANSWERED, {**said, "notes": answer.notes}))
        return answer

    def _of(self, paths: list[str]) -> dict[str, object]:
        return {
            "changes": self._entry.id,
            "workspace": self._entry.workspace,
            "count": len(paths),
            "paths": paths[:_MOST_PATHS],
        }

    def _event(self, kind: Kind, details: dict[str, object]) -> Event:
        return Event(
            kind=kind,
            run=self._entry.id,
            session=this_session(),
            caller=this_caller(),
            command=self._entry.command,
            details=details,
        )
