"""Writes down what was judged where nothing runs here: a check, or the call of an agent's tool."""

from __future__ import annotations

from redoma.base.ids import short_id
from redoma.model.request import Mode, Request, ShellCommand
from redoma.pipeline.audit_events import Told
from redoma.pipeline.requests import Who, this_caller, this_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from redoma.model.decision import Decision
    from redoma.model.policy import Policy


def note_judged(
    decisions: Iterable[Decision], policy: Policy, who: Who, *, waits: bool = True
) -> None:
    """One row for each decision; RecordError where that cannot be.

    With `waits` they are on disk when this returns.
    """
    from redoma.pipeline.wiring import record

    rows = [
        Told(_request(decision.assessment.text, who), policy.logging).judged(decision)
        for decision in decisions
    ]
    if rows:
        book = record("", policy)
        (book.append if waits else book.note)(*rows)


def _request(text: str, who: Who) -> Request:
    return Request(
        workload=ShellCommand(text=text),
        id=short_id(),
        mode=Mode.CHECK,
        caller=who.caller or this_caller(),
        session=who.session or this_session(),
        phase=who.phase,
    )
