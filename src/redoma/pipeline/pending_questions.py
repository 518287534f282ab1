"""Questions that wait and approvals that last, on this machine's disk, and the chain over them."""

from __future__ import annotations

import os

from redoma.ask.answerers import AnswererChain
from redoma.ask.answers import Spent, account, told
from redoma.ask.approvals import Approval, RememberedApprovals, can_remember
from redoma.ask.own_files import own_directory
from redoma.ask.pending_questions import PendingQuestions, Waiting
from redoma.base import own_directories
from redoma.model.errors import AskUnavailable, StateUnavailable, UsageError
from redoma.model.message import Message
from redoma.model.request import Choice, Remember

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redoma.ask.answerers import Said
    from redoma.model.request import Answer, Answerer, Question

__all__ = [
    "Approval",
    "Waiting",
    "account",
    "answer_pending",
    "can_remember",
    "chain_of",
    "described",
    "pending",
    "remembered",
]


def directory() -> str:
    """Where questions, approvals and used answers are kept: the user's own state, 0700."""
    try:
        path = f"{own_directories.state()}/ask"
        return own_directory(path) if os.path.lexists(path) else path
    except StateUnavailable as error:
        raise AskUnavailable(str(error), hint=error.hint) from error


def pending() -> PendingQuestions:
    """The questions that wait for an answer from elsewhere."""
    return PendingQuestions(f"{directory()}/questions")


def remembered(redact: Callable[[str], str] = lambda text: text) -> RememberedApprovals:
    """The approvals that last."""
    return RememberedApprovals(f"{directory()}/approvals", redact)


def chain_of(
    *,
    confirm: Callable[[Question], Said] | None = None,
    people: Sequence[Answerer] = (),
    terminal: bool = False,
    elsewhere: bool = False,
    redact: Callable[[str], str] = lambda text: text,
) -> AnswererChain:
    """Everyone who can be asked, as one: remembered approvals, then `confirm` or people, nobody.

    `terminal` asks the person at this terminal, if there is one; `elsewhere` puts the question
    where `redoma answer` or a page can answer it. Both at once: the first answer counts.
    """
    return AnswererChain(
        people or _people(confirm, redact, terminal=terminal, elsewhere=elsewhere),
        remembered=remembered(redact),
        spent=Spent(f"{directory()}/spent"),
    )


def _people(
    confirm: Callable[[Question], Said] | None,
    redact: Callable[[str], str],
    *,
    terminal: bool,
    elsewhere: bool,
) -> list[Answerer]:
    if confirm is not None:
        from redoma.ask.answerers import Callback

        return [Callback(confirm)]
    if not terminal:
        return [pending()] if elsewhere else []
    from redoma.ask.terminal import TerminalAnswerer

    here = TerminalAnswerer(redact=redact)
    if not elsewhere:
        return [here]
    from redoma.ask.answerers import Together

    return [Together(here, pending())]


def described(
    question: Question,
    *,
    columns: int,
    colour: bool = False,
    redact: Callable[[str], str] = lambda text: text,
) -> list[str]:
    """A question as lines for a person, on which nothing of the command acts."""
    from redoma.ask.card import Look, description

    return description(question, Look(columns=columns, rows=60, colour=colour), redact)


def answer_pending(
    id: str,
    choice: Choice,
    *,
    by: str,
    remember: Remember = Remember.ONCE,
    modified_command: str = "",
    notes: str = "",
    redact: Callable[[str], str] = lambda text: text,
) -> tuple[Waiting, Answer]:
    """Answers a question that waits; the first answer counts, a later one is an error.

    Where its asker has gone, an approval waits a while for exactly the same command.
    """
    questions = pending()
    waiting = questions.find(id)
    question = waiting.question
    if remember not in can_remember(question):
        raise UsageError(
            "this command cannot be approved for {remember}: it is not plain enough to be "
            "known again",
            remember=Message(remember.value),
            hint=f"redoma answer {question.id} approve",
        )
    answer = told(
        question,
        choice,
        by=by,
        notes=notes,
        remember=remember,
        modified_command=modified_command,
    )
    questions.answer(question.id, answer)
    if choice is Choice.APPROVE and (remember is not Remember.ONCE or not waiting.asker_waits):
        remembered(redact).keep(question, answer)
    return waiting, answer
