"""Asks about a command without running it; the answer is for exactly what would run."""

from __future__ import annotations

from redoma.model.decision import Verdict
from redoma.model.question import Answer, Choice, Context, Question
from redoma.model.value import Value, replace
from redoma.pipeline.steps import Ask, Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.decision import Decision
    from redoma.model.request import Request
    from redoma.pipeline.path import World
    from redoma.pipeline.steps import Path


class Confirmed(Value):
    """What became of a question: nobody is asked about what is denied anyway."""

    decision: Decision
    question: Question | None = None
    answer: Answer | None = None

    @property
    def choice(self) -> Choice:
        """What was said; silence and a denial by policy are a no."""
        return self.answer.choice if self.answer is not None else Choice.DENY

    @property
    def approved(self) -> bool:
        """Whether exactly this command was approved."""
        question, answer = self.question, self.answer
        return question is not None and answer is not None and answer.approves(question)


def confirming(
    request: Request, world: World, context: Context, seconds: float | None
) -> Path[Confirmed]:
    """Judges, asks and writes both down. `seconds` can only shorten the time for an answer."""
    told = world.told(request)
    decision = world.judge(request)
    judged = told.judged(decision)
    if decision.verdict is Verdict.DENY:
        refused = told.refused("; ".join(decision.because), "denied")
        yield Note(events=(judged, refused))
        return Confirmed(decision=decision)
    plan = world.plan(request, world.grant(request, decision))
    question = world.question(request, decision, plan, None)
    most = question.timeout_seconds
    question = replace(
        question, context=context, timeout_seconds=most if seconds is None else min(most, seconds)
    )
    yield Note(events=(judged, told.asked(question)))
    answer: Answer | None = yield Ask(question=question)
    yield Note(events=(told.answered(question, answer),))
    return Confirmed(decision=decision, question=question, answer=answer)
