"""Judges a command as a run of it here would be judged: weighed against the plan of that run."""

from __future__ import annotations

from redoma.model.containment import Containment, containment_of_plan
from redoma.model.decision import Verdict
from redoma.model.errors import RedomaError
from redoma.model.policy import Circumstances
from redoma.model.request import Mode, ShellCommand
from redoma.model.value import replace
from redoma.pipeline.checks import CommandCheck
from redoma.pipeline.decisions.check import check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.decision import Decision
    from redoma.model.policy import Policy
    from redoma.model.request import Request
    from redoma.pipeline.decisions.policy_tools import Explanation
    from redoma.pipeline.requests import Caller
    from redoma.pipeline.sandbox import Sandbox


class EnclosedCheck(CommandCheck):
    """Judges shell commands that a sandbox would run; nothing runs.

    `ours` are paths that whoever encloses the command gives it for itself, which are no right of
    the command's. Only a decision that would be a question is weighed, so all others cost what
    they cost without a sandbox. NoEngine where nothing here could hold such a run.
    """

    def __init__(
        self,
        policy: Policy,
        caller: Caller | None = None,
        *,
        pack: str = "",
        cwd: str | None = None,
        home: str | None = None,
        sandbox: Sandbox | None = None,
        ours: tuple[str, ...] = (),
    ) -> None:
        """`sandbox` is what would run it; the usual one of `cwd` where none is given."""
        super().__init__(policy, caller, pack=pack, cwd=cwd, home=home)
        self._sandbox = sandbox
        self._ours = ours

    def judge(self, request: Request) -> Decision:
        """What the policy says of the request's command, once it is known what holds it."""
        decision = super().judge(request)
        if decision.verdict is not Verdict.CONFIRM:
            return decision
        known = Circumstances(containment=self.containment(request, decision))
        return check(
            request.workload.shown,
            pack=self._pack,
            cwd=self._cwd,
            home=self._home,
            policy=self.policy,
            circumstances=known,
        )

    def containment(self, request: Request, decision: Decision) -> Containment:
        """What the plan of a run under this decision would hold."""
        from redoma.pipeline.run_context import RunContext
        from redoma.pipeline.sandbox import Sandbox

        sandbox = self._sandbox or Sandbox(self._cwd or ".", policy=self.policy)
        context = RunContext(sandbox.config)
        run = replace(request, mode=Mode.RUN)
        return containment_of_plan(context.plan(run, context.grant(run, decision)), ours=self._ours)


def with_enclosed(found: Explanation, *, pack: str, cwd: str, home: str | None) -> Explanation:
    """The explanation with what would be said to a run, where a question could become less."""
    if found.decision.verdict is not Verdict.CONFIRM:
        return found
    judge = EnclosedCheck(found.policy, pack=pack, cwd=cwd, home=home)
    command = ShellCommand(text=found.decision.assessment.text)
    try:
        decision = judge.judge(judge.caller.request(command, mode=Mode.CHECK))
    except RedomaError as error:
        return replace(found, not_enclosed=str(error))
    same = decision.verdict is found.decision.verdict and not decision.held
    return found if same else replace(found, enclosed=decision)
