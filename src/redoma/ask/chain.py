"""Everyone who can be asked, in order; the first who answers is heard, and the last is nobody.

This is where every answer is held against its question: for this command, in time, used once.
"""

from __future__ import annotations

import time

from redoma.ask.answers import checked, silence, told
from redoma.ask.nobody import Nobody
from redoma.model.errors import RedomaError, UsageError
from redoma.model.question import Choice, Remember
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from redoma.ask.remembered import Remembered
    from redoma.ask.spent import Spent
    from redoma.model.question import Answer, Answerer, Question

# An answerer may finish the moment its time ends; what it says then is still in time.
GRACE = 0.5


class Chain:
    """One answerer made of several: remembered approvals first, nobody last."""

    def __init__(
        self,
        answerers: Iterable[Answerer] = (),
        *,
        remembered: Remembered | None = None,
        spent: Spent | None = None,
    ) -> None:
        self._answerers = tuple(answerers)
        self._remembered = remembered
        self._spent = spent

    def led_by(self, one: Answerer) -> Chain:
        """The same, with someone who is asked before everyone but what is remembered."""
        return Chain((one, *self._answerers), remembered=self._remembered, spent=self._spent)

    def ask(self, question: Question) -> Answer:
        """The answer that counts; never None, and never later than the question allows."""
        until = time.monotonic() + question.timeout_seconds
        known = self._known(question)
        if known is not None:
            return known
        for one in self._answerers:
            left = until - time.monotonic()
            if left <= 0:
                break
            try:
                answer = one.ask(replace(question, timeout_seconds=left))
            except Exception as error:
                return _failed(question, error)
            if answer is not None:
                return self._heard(question, answer, until)
        return self._nobody(question, until)

    async def ask_async(self, question: Question) -> Answer:
        """The same, awaited; an answerer without `ask_async` waits in a thread."""
        import asyncio

        until = time.monotonic() + question.timeout_seconds
        # Files and their locks are waited for in a thread: a loop has others to serve.
        known = await asyncio.to_thread(self._known, question)
        if known is not None:
            return known
        for one in self._answerers:
            left = until - time.monotonic()
            if left <= 0:
                break
            shorter = replace(question, timeout_seconds=left)
            try:
                awaited = getattr(one, "ask_async", None)
                answer = await (
                    awaited(shorter) if awaited else asyncio.to_thread(one.ask, shorter)
                )
            except Exception as error:
                return _failed(question, error)
            if answer is not None:
                return await asyncio.to_thread(self._heard, question, answer, until)
        return self._nobody(question, until)

    def _known(self, question: Question) -> Answer | None:
        if self._remembered is None:
            return None
        try:
            answer = self._remembered.ask(question)
        except RedomaError:
            # Approvals that cannot be read approve nothing; a person still can.
            return None
        return None if answer is None else self._heard(question, answer, float("inf"))

    def _heard(self, question: Question, answer: Answer, until: float) -> Answer:
        wrong = checked(answer, question)
        if wrong:
            return told(question, Choice.DENY, by="nobody", notes=wrong)
        if time.monotonic() > until + GRACE:
            return silence(question, "the answer came too late")
        if answer.choice is not Choice.APPROVE:
            return answer
        try:
            # Attack: the same approval is brought twice, by two who run at once or by one again.
            if self._spent is not None and not self._spent.spend(question.id):
                return told(question, Choice.DENY, by="nobody", notes="this approval is used up")
        except RedomaError as error:
            return _failed(question, error)
        return self._kept(question, answer)

    def _kept(self, question: Question, answer: Answer) -> Answer:
        """The approval, remembered as it says; one that cannot be is good for this run alone."""
        if answer.remember is Remember.ONCE:
            return answer
        try:
            if self._remembered is None:
                raise UsageError("there is no place to remember it")
            self._remembered.keep(question, answer)
        except RedomaError as error:
            notes = f"{answer.notes}; not remembered: {error}".removeprefix("; ")
            return replace(answer, remember=Remember.ONCE, notes=notes)
        return answer

    @staticmethod
    def _nobody(question: Question, until: float) -> Answer:
        late = time.monotonic() >= until
        return Nobody("no answer in time" if late else "nobody could be asked").ask(question)


def _failed(question: Question, error: Exception) -> Answer:
    why = f"asking failed: {type(error).__name__}: {error}"
    return told(question, Choice.DENY, by="nobody", notes=why)
