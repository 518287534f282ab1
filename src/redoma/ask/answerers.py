"""Everyone who can be asked, in order; the first who answers is heard, and the last is nobody.

This is where every answer is held against its question: for this command, in time, used once.
"""

from __future__ import annotations

import time

from redoma.ask import answers
from redoma.ask.answers import checked, silence, told
from redoma.base.log import logger
from redoma.model.errors import AskUnavailable, ConfirmationExpired, RedomaError, UsageError
from redoma.model.message import Message
from redoma.model.request import Answer, Choice, Remember
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from typing import TypeAlias

    from redoma.ask.answers import Spent
    from redoma.ask.approvals import RememberedApprovals
    from redoma.ask.pending_questions import PendingQuestions
    from redoma.ask.terminal import TerminalAnswerer
    from redoma.model.request import Answer, Answerer, Question

    Said: TypeAlias = bool | Choice | Answer

log = logger(__name__)
# An answerer may finish the moment its time ends; what it says then is still in time.
GRACE = 0.5


class AnswererChain:
    """One answerer made of several: remembered approvals first, nobody last."""

    def __init__(
        self,
        answerers: Iterable[Answerer] = (),
        *,
        remembered: RememberedApprovals | None = None,
        spent: Spent | None = None,
    ) -> None:
        self._answerers = tuple(answerers)
        self._remembered = remembered
        self._spent = spent

    def led_by(self, one: Answerer) -> AnswererChain:
        """The same, with someone who is asked before everyone but what is remembered."""
        return AnswererChain(
            (one, *self._answerers), remembered=self._remembered, spent=self._spent
        )

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
                log.info("question %s: %s answers", question.id, type(one).__name__)
                return self._heard(question, answer, until)
        log.info("question %s: nobody answers", question.id)
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
    why = Message("asking failed: {kind}: {error}", kind=type(error).__name__, error=error)
    return told(question, Choice.DENY, by="nobody", notes=why)


class Nobody:
    """Answers at once with what silence stands for."""

    def __init__(self, why: str = "nobody could be asked") -> None:
        self._why = why

    def ask(self, question: Question) -> Answer:
        """The question's default, which is never a yes."""
        return silence(question, self._why)


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


class Together(AskedInThread):
    """A card here and a question there; both end when one of them is answered."""

    def __init__(self, here: TerminalAnswerer, elsewhere: PendingQuestions) -> None:
        self._here = here
        self._elsewhere = elsewhere

    def ask(self, question: Question, stop: Callable[[], bool] = lambda: False) -> Answer | None:
        """The first answer; where there is no terminal, the one from elsewhere."""
        until = answers.uptime() + question.timeout_seconds
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
                return other.wait(question.id, until - answers.uptime(), stop)
            if mine is not None:
                # Both may have answered in the same moment: whoever comes second is not heard.
                other.answer(question.id, mine)
        except ConfirmationExpired:
            pass
        finally:
            answer = other.close(question.id)
        return answer


class Callback:
    """Asks a function, plain or async, that returns True or False, a `Choice` or an `Answer`."""

    def __init__(
        self, function: Callable[[Question], Said | Awaitable[Said]], *, name: str = "callback"
    ) -> None:
        self._function = function
        self._name = name

    def ask(self, question: Question) -> Answer:
        """What the function says; an async one runs in a loop and a thread of its own."""
        asked = time.monotonic()
        try:
            said: object = self._function(question)
            if hasattr(said, "__await__"):
                waiting: Awaitable[object] = said
                said = _run(waiting, question.timeout_seconds - (time.monotonic() - asked))
        except TimeoutError:
            return silence(question, _LATE)
        except Exception as error:
            return self._failed(question, error)
        return self._meant(question, said, asked)

    async def ask_async(self, question: Question) -> Answer:
        """The same in the caller's own loop; a plain function runs in a thread."""
        import asyncio
        from inspect import iscoroutinefunction

        asked = time.monotonic()
        try:
            async with asyncio.timeout(question.timeout_seconds):
                if iscoroutinefunction(self._function) or iscoroutinefunction(
                    getattr(self._function, "__call__", None)  # noqa: B004 — an object with an async __call__
                ):
                    said: object = self._function(question)
                else:
                    said = await asyncio.to_thread(self._function, question)
                if hasattr(said, "__await__"):
                    said = await said
        except TimeoutError:
            return silence(question, _LATE)
        except Exception as error:
            return self._failed(question, error)
        return self._meant(question, said, asked)

    def _failed(self, question: Question, error: Exception) -> Answer:
        why = Message(
            "the callback failed: {kind}: {error}", kind=type(error).__name__, error=error
        )
        return told(question, Choice.DENY, by=self._name, notes=why)

    def _meant(self, question: Question, said: object, asked: float) -> Answer:
        """The answer that was given; what is neither yes nor no is a no."""
        # The clock on the wall may be set back meanwhile; this one cannot.
        if time.monotonic() - asked > question.timeout_seconds:
            return silence(question, _LATE)
        if said is True or said is False:
            choice = Choice.APPROVE if said else Choice.DENY
            return told(question, choice, by=self._name)
        if isinstance(said, Choice) and said is not Choice.MODIFY:
            return told(question, said, by=self._name)
        wrong = checked(said, question)
        if isinstance(said, Answer) and not wrong:
            return said
        return told(
            question, Choice.DENY, by=self._name, notes=Message("not a yes: {wrong}", wrong=wrong)
        )


_LATE = "the callback did not answer in time"


def _run(waiting: Awaitable[object], timeout: float) -> object:
    """Awaits in a thread of its own, since the caller's thread may already run a loop."""
    import asyncio
    import threading
    from contextvars import copy_context

    ended: list[tuple[object, BaseException | None]] = []

    async def wait() -> object:
        async with asyncio.timeout(max(0.0, timeout)):
            return await waiting

    def run() -> None:
        try:
            ended.append((asyncio.run(wait()), None))
        except BaseException as error:
            ended.append((None, error))

    context = copy_context()
    thread = threading.Thread(target=context.run, args=(run,), name="redoma-callback", daemon=True)
    thread.start()
    # A coroutine that swallows its cancellation holds up its thread, and nobody else.
    thread.join(max(0.0, timeout) + 1.0)
    if not ended:
        raise TimeoutError
    said, error = ended[0]
    if error is not None:
        raise error if isinstance(error, Exception) else TimeoutError from error
    return said
