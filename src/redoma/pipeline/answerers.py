"""Who is asked: whoever a program gave, whoever is at this terminal, or somebody later.

What keeps questions and approvals (`pending_questions`) is loaded when there is a question: most
runs have none.
"""

from __future__ import annotations

import os
from contextlib import suppress

from redoma.model.errors import AskUnavailable, StateUnavailable, UsageError
from redoma.model.message import Message
from redoma.pipeline.secrets import cleaner, redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.ask.answerers import AnswererChain
    from redoma.model.policy import Policy
    from redoma.model.request import Answer, Answerer, Choice, Question

HOWS = ("auto", "wait", "nobody")
"""How a command line asks: whoever is there, whoever answers elsewhere, or nobody."""
BY_HAND = "by hand"
"""That someone opens a shell by hand is their answer to that, and to nothing else."""
ANSWERED_LATER = 600.0
"""Seconds in which a question that nobody waits for can be approved for the next try."""


def answerer(
    given: Answerer | Callable[[Question], bool | Choice | Answer] | None, policy: Policy
) -> AnswererChain:
    """Everyone who can be asked: approvals that are remembered, then whoever was given."""
    from redoma.pipeline import pending_questions

    cleaned = cleaner(policy)
    if given is None:
        return pending_questions.chain_of(redact=cleaned)
    if isinstance(given, LocalAnswerer):
        return given.chain(cleaned)
    if hasattr(given, "ask"):
        return pending_questions.chain_of(people=(given,), redact=cleaned)
    return pending_questions.chain_of(confirm=given, redact=cleaned)


class LocalAnswerer:
    """Whom a command line asks; nobody is looked for before there is a question."""

    def __init__(self, how: str) -> None:
        if how not in (*HOWS, BY_HAND):
            raise UsageError("ask: {how} is none of {known}", how=repr(how), known=", ".join(HOWS))
        self._how = how

    def ask(self, question: Question) -> Answer | None:
        return self.chain(redact).ask(question)

    def chain(self, cleaned: Callable[[str], str]) -> AnswererChain:
        """The answerers behind it."""
        from redoma.pipeline import pending_questions

        if self._how == "nobody":
            return pending_questions.chain_of(redact=cleaned)
        if self._how == BY_HAND:
            return pending_questions.chain_of(
                confirm=lambda question: question.rules == ("run-interactive",)
            )
        if self._how == "wait":
            return pending_questions.chain_of(elsewhere=True, redact=cleaned)
        if os.isatty(0) and os.isatty(2):
            return pending_questions.chain_of(terminal=True, elsewhere=True, redact=cleaned)
        return pending_questions.chain_of(people=(LaterAnswerer(),), redact=cleaned)


class LaterAnswerer:
    """Leaves the question for `redoma answer`, and does not wait: the command is tried again."""

    def ask(self, question: Question) -> Answer:
        from redoma.ask.answers import silence
        from redoma.model.value import replace
        from redoma.pipeline import pending_questions

        if question.input_unknown:
            why = "its input is not known: with < /dev/null it can be approved for another try"
            return silence(question, why)
        pending_questions.pending().put(
            replace(question, timeout_seconds=ANSWERED_LATER), waits=False
        )
        return silence(
            question,
            Message(
                "redoma answer {question} approve, and then the same again", question=question.id
            ),
        )


def forget_questions() -> None:
    """Removes the questions that are over and that nobody came back to remove, as after a crash."""
    from redoma.base import own_directories

    try:
        left = os.listdir(f"{own_directories.state()}/ask/questions")
    except (OSError, StateUnavailable):  # who asks next is told
        return
    if left:
        from redoma.pipeline import pending_questions

        with suppress(AskUnavailable):  # who asks next is told
            pending_questions.pending().sweep()
