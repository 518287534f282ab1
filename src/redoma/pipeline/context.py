"""What every walk of the path knows: the policy, who calls, where it is audited, who is asked."""

from __future__ import annotations

from redoma.pipeline.audit_events import AuditEvents
from redoma.pipeline.audit_log import audit_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.ask.answerers import AnswererChain
    from redoma.audit.log import AuditLog
    from redoma.model.policy import Policy
    from redoma.model.question import Answer, Answerer, Choice, Question
    from redoma.model.request import Request
    from redoma.pipeline.requests import Caller

    Ask = Answerer | Callable[[Question], bool | Choice | Answer]


class PipelineContext:
    """The surroundings of one walk; its policy is read once, and holds throughout."""

    def __init__(
        self,
        policy: Policy,
        caller: Caller,
        *,
        audit: AuditLog | str | None = None,
        ask: Ask | None = None,
        first: Answerer | None = None,
        secrets: tuple[str, ...] = (),
    ) -> None:
        """`audit` is a log or its directory, the user's own by default; `ask` is who confirms.

        `first` is asked before whoever else confirms. `secrets` may not be written down.
        """
        self.policy = policy
        self.caller = caller
        self._audit = audit
        self._ask = ask
        self._first = first
        self._secrets = secrets

    def events(self, request: Request) -> AuditEvents:
        """Who words the audit events of a request."""
        return AuditEvents(request, self.policy.logging)

    def audit_log(self) -> AuditLog:
        """Where the events are written."""
        if self._audit is None or isinstance(self._audit, str):
            return audit_log(self._audit or "", self.policy, self._secrets)
        return self._audit

    def answerer(self) -> AnswererChain:
        """Everyone who can be asked, as one."""
        from redoma.pipeline.answerers import answerer

        chain = answerer(self._ask, self.policy)
        return chain if self._first is None else chain.led_by(self._first)
