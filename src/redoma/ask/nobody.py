"""The last who is asked: nobody is there, and nobody says yes."""

from __future__ import annotations

from redoma.ask.answers import silence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.question import Answer, Question


class Nobody:
    """Answers at once with what silence stands for."""

    def __init__(self, why: str = "nobody could be asked") -> None:
        self._why = why

    def ask(self, question: Question) -> Answer:
        """The question's default, which is never a yes."""
        return silence(question, self._why)
