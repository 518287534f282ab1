"""Runs the command of an agent enclosed: one text is judged, and the same in its wrapping runs."""

from __future__ import annotations

from redoma.pipeline.path import path
from redoma.pipeline.requests import request_for
from redoma.pipeline.run_context import RunContext
from redoma.pipeline.steps import RunStepRunner, drive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.supervisor.start import Control
    from redoma.jail.supervisor.streams import Sink
    from redoma.model.change import Changes
    from redoma.model.decision import Decision
    from redoma.model.grant import RunPlan
    from redoma.model.request import Answer, Question, Request
    from redoma.model.result import Result
    from redoma.pipeline.run_context import SandboxConfig
    from redoma.pipeline.sandbox import Sandbox

THE_PROMPT = "the agent's prompt"


class EnclosedContext(RunContext):
    """The context of one command of an agent."""

    def __init__(
        self,
        config: SandboxConfig,
        script: str,
        *,
        stdin: bytes | int | None,
        was_asked: bool,
        terminal: bool,
    ) -> None:
        """`was_asked` says that the agent has put this very command to a person."""
        super().__init__(config, instead=script, stdin=stdin, terminal=terminal)
        self.prompt = PromptAnswerer(is_open=was_asked)
        self._first = self.prompt

    def question(
        self, request: Request, decision: Decision, plan: RunPlan, changes: Changes | None
    ) -> Question:
        """What to ask; the agent's prompt was about the command, never about what it left."""
        if changes is not None:
            self.prompt.is_open = False
        return super().question(request, decision, plan, changes)


class PromptAnswerer:
    """The person before the agent's own prompt, who has answered before the command came here."""

    def __init__(self, *, is_open: bool) -> None:
        self.is_open = is_open

    def ask(self, question: Question) -> Answer | None:
        """A yes, once; nothing where the agent asked nobody, so that whoever comes next is."""
        if not self.is_open:
            return None
        from redoma.ask.answers import told
        from redoma.model.request import Choice

        self.is_open = False
        return told(question, Choice.APPROVE, by=THE_PROMPT)


def run_enclosed(  # noqa: PLR0913 — each by its own name
    sandbox: Sandbox,
    command: str,
    script: str,
    *,
    cwd: str,
    stdin: bytes | int | None,
    was_asked: bool,
    sink: Sink | None,
    control: Control | None,
    terminal: bool = False,
) -> Result:
    """Judges `command` and runs `script`, which has it in an agent's wrapping."""
    config = sandbox.config
    request = request_for(command, cwd, caller=config.caller, stdin=stdin)
    context = EnclosedContext(config, script, stdin=stdin, was_asked=was_asked, terminal=terminal)
    return drive(path(request, context), RunStepRunner(context, sink=sink, control=control))
