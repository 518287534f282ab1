"""A person who says what a script has them say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redoma import Answer, Choice

if TYPE_CHECKING:
    from redoma import Question


class ScriptedAnswerer:
    """Answers one question after the other from a script; silence when the script is over.

    An answer is True or False, a `Choice`, a whole `Answer`, or a text: the command to run instead.
    `questions` has what was asked, so that a test can look at it.

    >>> import redoma, tempfile
    >>> from redoma.testing import ScriptedAnswerer
    >>> person = ScriptedAnswerer(False)
    >>> with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
    ...     sandbox = redoma.Sandbox(place, ask=person, audit=f"{place}/.audit")
    ...     sandbox.confirm("git push --force origin main").approved
    False
    >>> [question.command for question in person.questions]
    ['git push --force origin main']
    """

    __module__ = "redoma.testing"

    def __init__(self, *answers: bool | Choice | Answer | str, name: str = "script") -> None:
        """`name` is who is said to have answered."""
        self._answers = list(answers)
        self._name = name
        self.questions: list[Question] = []

    def ask(self, question: Question) -> Answer | None:
        """The next answer of the script; None where there is none left."""
        self.questions.append(question)
        if not self._answers:
            return None
        said = self._answers.pop(0)
        if isinstance(said, Answer):
            return said
        if isinstance(said, bool):
            said = Choice.APPROVE if said else Choice.DENY
        return Answer(
            question=question.id,
            digest=question.digest,
            choice=Choice.MODIFY if isinstance(said, str) else said,
            approved_by=self._name,
            at=question.asked_at,
            modified_command=said if isinstance(said, str) else "",
        )
