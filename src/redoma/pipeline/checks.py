"""The first part of the path, for whoever runs nothing here as well: judge, and write the decision.

`redoma check` and hooks before an agent's tool call walk no further.
"""

from __future__ import annotations

from redoma.model.errors import RecordError
from redoma.model.request import Mode, Request, ShellCommand
from redoma.pipeline.audit_events import AuditEvents
from redoma.pipeline.audit_log import audit_log
from redoma.pipeline.decisions.check import check, check_write
from redoma.pipeline.requests import Caller
from redoma.pipeline.steps import AuditStep, StepRunner, drive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Protocol

    from redoma.ask.answerers import AnswererChain
    from redoma.audit.log import AuditLog
    from redoma.model.decision import Decision
    from redoma.model.policy import Policy
    from redoma.model.request import Answer, Answerer, Choice, Question
    from redoma.pipeline.steps import Path

    class Judge(Protocol):
        """Who judges a request, and who words what is written of it."""

        def judge(self, request: Request) -> Decision:
            """Whether it may happen, by policy."""

        def events(self, request: Request) -> AuditEvents:
            """Who words the audit events of this request."""

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


class CommandCheck(PipelineContext):
    """Judges shell commands under a policy, as if they ran in `cwd`."""

    def __init__(
        self,
        policy: Policy,
        caller: Caller | None = None,
        *,
        pack: str = "",
        cwd: str | None = None,
        home: str | None = None,
    ) -> None:
        super().__init__(policy, caller or Caller())
        self._pack = pack
        self._cwd = cwd
        self._home = home

    def judge(self, request: Request) -> Decision:
        """What the policy says of the request's command."""
        text = request.workload.shown
        return check(text, pack=self._pack, cwd=self._cwd, home=self._home, policy=self.policy)

    def checked(
        self,
        texts: Iterable[str],
        *,
        waits: bool = True,
        unwritten: Callable[[RecordError], None] | None = None,
    ) -> tuple[Decision, ...]:
        """The decision on each text, written to the audit log; `check_path` says the rest."""
        requests = tuple(map(self._request, texts))
        return drive(check_path(requests, self, waits=waits, unwritten=unwritten), StepRunner(self))

    def _request(self, text: str) -> Request:
        return self.caller.request(ShellCommand(text=text), mode=Mode.CHECK)


class WriteCheck(CommandCheck):
    """Judges the writing of files under a policy; each text is the path of a file."""

    def judge(self, request: Request) -> Decision:
        """What the policy says of a tool that writes the file."""
        path = request.workload.shown
        return check_write(
            path, pack=self._pack, cwd=self._cwd, home=self._home, policy=self.policy
        )
