"""A function of the caller's that answers: only a plain yes, in time, is a yes.

An exception, an answer that is no answer and one that comes late are a no. A plain function runs
in the caller's own thread, since dialogs and prompts need that; one that never returns keeps its
own command from running and nothing else. An async function is ended when its time is over.
"""

from __future__ import annotations

import time

from redoma.ask.answers import checked, silence, told
from redoma.model.question import Answer, Choice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeAlias

    from redoma.model.question import Question

    Said: TypeAlias = bool | Choice | Answer


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
        why = f"the callback failed: {type(error).__name__}: {error}"
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
        return told(question, Choice.DENY, by=self._name, notes=f"not a yes: {wrong}")


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
