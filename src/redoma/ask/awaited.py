"""Someone who is asked by waiting, for callers that must not wait."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.model.question import Answer, Question


class AskedInThread:
    """Gives an answerer `ask_async`; when the awaiting task is cancelled the question is over."""

    def ask(self, question: Question, stop: Callable[[], bool] = lambda: False) -> Answer | None:
        """The answer; None where there is none, or where `stop` says that nobody wants it."""
        raise TypeError(f"{type(self).__name__} cannot be asked")

    async def ask_async(self, question: Question) -> Answer | None:
        """The same, waited for in a thread."""
        import asyncio

        left: list[bool] = []
        try:
            return await asyncio.to_thread(self.ask, question, lambda: bool(left))
        finally:
            left.append(True)
