"""Applies, discards and undoes for whoever asks: confirmed where it must be, and written down.

Attack: an agent previews what it may not run without a person, and then applies the preview. So a
transaction remembers why it has to be confirmed, and nobody applies it without an answer.
"""

from __future__ import annotations

from redoma.flow import changes as held
from redoma.flow.requests import Who, this_caller, this_session
from redoma.jail.overlay import kept
from redoma.model.errors import Declined
from redoma.model.event import Event, Kind
from redoma.model.question import Context, Impact, Question
from redoma.model.risk import Risk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from redoma.ask.chain import Chain
    from redoma.model.change import Changes
    from redoma.model.policy import Policy
    from redoma.model.transaction import Applied, HistoryEntry, Undone

_MOST_PATHS = 200


def apply(
    name: str,
    paths: Iterable[str] | None = None,
    *,
    ask: Chain,
    policy: Policy,
    contents: Mapping[str, bytes] | None = None,
    allow_write: Iterable[str] = (),
) -> Applied:
    """Applies held changes; asks first where the command that made them has to be confirmed."""
    whole = held.resolve(name)
    entry = kept.read_entry(whole).shown
    if entry.asks:
        _confirmed(entry, held.load(whole), ask, policy)
    applied = held.apply(whole, paths, contents=contents, allow_write=allow_write)
    _note(Kind.APPLIED, entry, policy, [change.path for change in applied.changes])
    return applied


def discard(name: str, policy: Policy) -> None:
    """Lets held changes go."""
    whole = held.resolve(name)
    entry = kept.read_entry(whole).shown
    held.discard(whole)
    _note(Kind.DISCARDED, entry, policy, [])


def undo(name: str | None, policy: Policy, *, workspace: str = "") -> Undone:
    """Takes back what was applied; without a name, the last of a workspace."""
    undone = held.undo(name, workspace=workspace)
    _note(Kind.UNDONE, kept.read_entry(undone.id).shown, policy, list(undone.paths))
    return undone


def _confirmed(entry: HistoryEntry, changes: Changes, ask: Chain, policy: Policy) -> None:
    from redoma.ask.moments import now
    from redoma.flow.wiring import record
    from redoma.model.ids import uuid

    who = Who(caller=this_caller(), session=this_session())
    count = len(changes.items)
    question = Question(
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
    said: dict[str, object] = {"question": question.id, "digest": question.digest}
    record("", policy).append(_event(Kind.ASKED, entry, {**said, "because": list(entry.asks)}))
    answer = ask.ask(question)
    said |= {"choice": answer.choice.value, "approved_by": answer.approved_by}
    record("", policy).append(_event(Kind.ANSWERED, entry, {**said, "notes": answer.notes}))
    if not answer.approves(question):
        raise Declined(
            f"{entry.id} is not applied: nobody approved it ({'; '.join(entry.asks)})",
            hint=answer.notes or f"redoma apply {entry.id} at a terminal",
        )


def _note(kind: Kind, entry: HistoryEntry, policy: Policy, paths: list[str]) -> None:
    from redoma.flow.wiring import record

    details: dict[str, object] = {
        "changes": entry.id,
        "workspace": entry.workspace,
        "count": len(paths),
        "paths": paths[:_MOST_PATHS],
    }
    record("", policy).append(_event(kind, entry, details))


def _event(kind: Kind, entry: HistoryEntry, details: dict[str, object]) -> Event:
    return Event(
        kind=kind,
        run=entry.id,
        session=this_session(),
        caller=this_caller(),
        command=entry.command,
        details=details,
    )
