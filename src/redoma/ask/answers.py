"""Answers: how one is made to a question, and when one counts."""

from __future__ import annotations

from redoma.ask import moments
from redoma.model.question import Answer, Choice, Remember

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.question import Question

# What silence may stand for. Nothing runs for good because nobody was there to say no.
SILENCE = frozenset({Choice.DENY, Choice.DRY_RUN})


def told(
    question: Question,
    choice: Choice,
    *,
    by: str,
    notes: str = "",
    remember: Remember = Remember.ONCE,
    modified_command: str = "",
) -> Answer:
    """An answer to exactly this question, given now."""
    return Answer(
        question=question.id,
        digest=question.digest,
        choice=choice,
        approved_by=by,
        at=moments.now(),
        modified_command=modified_command,
        notes=notes,
        remember=remember,
    )


def account() -> str:
    """Who sits here, as the system knows them: a variable could say anything."""
    import os
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


def silence(question: Question, why: str) -> Answer:
    """What holds when nobody answers: the question's default, which is never a yes."""
    default = question.default_action
    return told(question, default if default in SILENCE else Choice.DENY, by="nobody", notes=why)


def checked(answer: object, question: Question) -> str:
    """What is wrong with an answer to this question; nothing where it counts."""
    if not isinstance(answer, Answer):
        return f"an answer is needed, not {type(answer).__name__}"
    if answer.question != question.id:
        return f"this answers {answer.question}, and {question.id} was asked"
    if answer.digest != question.digest:
        # Attack: an approval of one command is brought for another under the same name.
        return f"this answer is for another command than {question.id} asks about"
    said: tuple[object, object] = (answer.choice, answer.remember)
    if not isinstance(said[0], Choice) or not isinstance(said[1], Remember):
        return "the answer is none of those there are"
    if answer.choice is Choice.MODIFY and not answer.modified_command.strip():
        return "a modified command is needed"
    if answer.choice is not Choice.APPROVE and answer.remember is not Remember.ONCE:
        return "only an approval can be remembered"
    return ""
