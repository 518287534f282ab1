"""Checks for whoever runs nothing here: `redoma check`, and hooks before an agent's tool call."""

from __future__ import annotations

from redoma.model.request import Mode, Request, ShellCommand
from redoma.pipeline.check_path import check_path
from redoma.pipeline.context import PipelineContext
from redoma.pipeline.decisions.check import check, check_write
from redoma.pipeline.requests import Caller
from redoma.pipeline.step_runner import StepRunner
from redoma.pipeline.steps import drive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from redoma.model.decision import Decision
    from redoma.model.errors import RecordError
    from redoma.model.policy import Policy


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
