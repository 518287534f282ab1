"""Bytes that are no text are refused with a finding, never guessed at."""

from __future__ import annotations

from redoma.model.decision import Decision, Verdict
from redoma.model.risk import Effect, Finding, Risk
from redoma.model.value import replace


def broken_span(text: str) -> tuple[int, int] | None:
    """Where the text holds what UTF-8 cannot (bytes kept by `surrogateescape`), if it does."""
    if text.isascii():
        return None
    for at, char in enumerate(text):
        if "\ud800" <= char <= "\udfff":
            return at, at + 1
    return None


def refuse_broken(decision: Decision) -> Decision:
    """The decision, or a refusal where the text it is about is not valid UTF-8.

    Attack: a shell reads bytes, the judge reads characters. Where the two cannot be the same
    thing, what was judged is not what would run.
    """
    span = broken_span(decision.assessment.text)
    if span is None:
        return decision
    reason = "the command is not valid UTF-8, so what is judged is not what would run"
    finding = Finding(
        rule="input.not-utf8", effect=Effect.UNKNOWN, risk=Risk.FORBIDDEN, span=span, reason=reason
    )
    assessment = decision.assessment
    return replace(
        decision,
        verdict=Verdict.DENY,
        because=(reason, *decision.because),
        assessment=replace(assessment, findings=(finding, *assessment.findings)),
    )
