"""The first part of the path: judges requests and writes the decisions to the audit log."""

from __future__ import annotations

from redoma.model.errors import RecordError
from redoma.pipeline.steps import AuditStep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    from redoma.model.decision import Decision
    from redoma.model.request import Request
    from redoma.pipeline.audit_events import AuditEvents
    from redoma.pipeline.steps import Path

    class Judge(Protocol):
        """Who judges a request, and who words what is written of it."""

        def judge(self, request: Request) -> Decision:
            """Whether it may happen, by policy."""

        def events(self, request: Request) -> AuditEvents:
            """Who words the audit events of this request."""


def check_path(
    requests: Sequence[Request],
    judge: Judge,
    *,
    waits: bool = True,
    unwritten: Callable[[RecordError], None] | None = None,
) -> Path[tuple[Decision, ...]]:
    """One decision and one row for each request; with `waits` the rows are on disk by the end.

    `unwritten` is told where the rows could not be written; without it that is an error.
    """
    decisions = tuple(map(judge.judge, requests))
    rows = [judge.events(r).judged(d) for r, d in zip(requests, decisions, strict=True)]
    try:
        if rows:
            yield AuditStep(events=tuple(rows), waits=waits)
    except RecordError as error:
        if unwritten is None:
            raise
        unwritten(error)
    return decisions
