"""`Plan`: a plan of work for programs: read once, then checked, previewed or run in a sandbox."""

from __future__ import annotations

from redoma.judge.intent.plan_reader import read
from redoma.judge.intent.plan_schema import json_schema
from redoma.pipeline.plans.execution import PlanResult, run_plan
from redoma.pipeline.plans.judgement import PlanCheck, check_plan
from redoma.pipeline.plans.rehearsal import PlanPreview, preview_plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.model.intent import Intent
    from redoma.pipeline.sandbox import Sandbox

__all__ = ["Plan", "PlanCheck", "PlanPreview", "PlanResult"]


class Plan:
    """Steps in the order of their doing; a text that is no plan is `PlanSyntax`, with its place."""

    __module__ = "redoma"

    def __init__(self, text: str | bytes, *, name: str = "plan") -> None:
        """`text` is JSON; `name` is how it is called in errors, such as its file."""
        self.intent: Intent = read(text, name=name)

    @staticmethod
    def schema() -> dict[str, object]:
        """The JSON Schema of a plan."""
        return json_schema()

    @property
    def name(self) -> str:
        return self.intent.name

    @property
    def digest(self) -> str:
        """One name for the plan's content, however it is spelt."""
        return self.intent.digest

    def check(self, sandbox: Sandbox) -> PlanCheck:
        """What the policy says of each step; nothing runs."""
        return check_plan(self.intent, sandbox.config)

    def preview(self, sandbox: Sandbox, **how: Any) -> PlanPreview:
        """Runs every step with its writes held in one overlay, each on the one before it."""
        return preview_plan(self.intent, sandbox.config, **how)

    def run(self, sandbox: Sandbox, **how: Any) -> PlanResult:
        """Does the steps in order and stops at the first that is not done.

        `resume` goes on with the last run here that stopped; `redo` then runs once more the step
        whose end is not known. `progress` is called when a step begins and when it has ended,
        `sink` with what the steps print.
        """
        return run_plan(self.intent, sandbox.config, **how)

    def __repr__(self) -> str:
        return f"Plan({self.name!r}, {len(self.intent.steps)} steps)"
