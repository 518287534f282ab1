"""The person at this terminal and whoever answers elsewhere, asked at once: the first counts."""

from __future__ import annotations

from redoma.ask import moments
from redoma.ask.awaited import AskedInThread
from redoma.model.errors import AskUnavailable, ConfirmationExpired

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.ask.pending import Pending
    from redoma.ask.terminal import TerminalAnswerer
    from redoma.model.question import Answer, Question


class Together(AskedInThread):
    """A card here and a question there; both end when one of them is answered."""

    def __init__(self, here: TerminalAnswerer, elsewhere: Pending) -> None:
        self._here = here
        self._elsewhere = elsewhere

    def ask(self, question: Question, stop: Callable[[], bool] = lambda: False) -> Answer | None:
        """The first answer; where there is no terminal, the one from elsewhere."""
        until = moments.uptime() + question.timeout_seconds
        other = self._elsewhere
        try:
            other.put(question)
        except AskUnavailable:
            # Where nobody else can be told, the person here still can be asked.
            return self._here.ask(question, stop)

        def settled() -> bool:
            return stop() or other.is_closed(question.id)

        try:
            mine = self._here.ask(question, settled)
            if mine is None and not settled():
                return other.wait(question.id, until - moments.uptime(), stop)
            if mine is not None:
                # Both may have answered in the same moment: whoever comes second is not heard.
                other.answer(question.id, mine)
        except ConfirmationExpired:
            pass
        finally:
            answer = other.close(question.id)
        return answer
