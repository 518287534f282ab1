"""The one path from a request to its result; it knows the order and does nothing itself."""

from __future__ import annotations

from redoma.flow.steps import Ask, Execute
from redoma.model.request import Mode
from redoma.model.result import Outcome, Result
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from redoma.flow.steps import Path
    from redoma.model.access import Grant
    from redoma.model.decision import Decision
    from redoma.model.plan import Plan
    from redoma.model.request import Request

    class World(Protocol):
        """What the path knows of the world: who judges, what is granted, how to plan."""

        # The call point of the judge; None where nobody judges and isolation alone decides.
        judge: Callable[[Request], Decision] | None

        def grant(self, request: Request, decision: Decision | None) -> Grant:
            """What this request may do."""

        def plan(self, request: Request, grant: Grant) -> Plan:
            """How it will be run; NoEngine where that cannot be enforced."""


def path(request: Request, world: World) -> Path[Result]:
    """Walks a request to its result."""
    decision = world.judge(request) if world.judge is not None else None
    if request.mode is Mode.CHECK:
        return Result(outcome=Outcome.CHECKED, decision=decision)
    if decision is not None:
        from redoma.model.decision import Verdict

        if decision.verdict is Verdict.DENY:
            return Result(outcome=Outcome.DENIED, decision=decision)
        if decision.verdict is Verdict.CONFIRM:
            approved = yield Ask(request=request, decision=decision)
            if approved is not True:  # silence, an error and a "yes" in words are all a no
                return Result(outcome=Outcome.DECLINED, decision=decision)
    plan = world.plan(request, world.grant(request, decision))
    result: Result = yield Execute(plan=plan)
    return replace(result, decision=decision)
