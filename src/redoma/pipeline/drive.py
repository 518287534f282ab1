"""Performs the steps of a path: once by plain calls, once by awaiting."""

from __future__ import annotations

from redoma.pipeline.steps import Apply, Ask, Discard, Execute, Hold, Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import Any, Protocol, TypeVar

    from redoma.model.question import Answer
    from redoma.model.result import Result
    from redoma.pipeline.steps import Path, Step

    T = TypeVar("T")

    class Hands(Protocol):
        """Does what the path asks for."""

        def note(self, step: Note) -> None: ...
        def ask(self, step: Ask) -> Answer | None: ...
        def execute(self, step: Execute) -> Result: ...
        def hold(self, step: Hold) -> None: ...
        def apply(self, step: Apply) -> Result: ...
        def discard(self, step: Discard) -> None: ...

    class AsyncHands(Protocol):
        """The same, awaited."""

        def perform(self, step: Step) -> Awaitable[Any]: ...


def perform(step: Step, hands: Hands) -> Any:
    """One step by the hand that is for it."""
    if isinstance(step, Note):
        return hands.note(step)
    if isinstance(step, Ask):
        return hands.ask(step)
    if isinstance(step, Execute):
        return hands.execute(step)
    if isinstance(step, Hold):
        return hands.hold(step)
    if isinstance(step, Apply):
        return hands.apply(step)
    return hands.discard(step)


def drive(path: Path[T], hands: Hands) -> T:
    """Walks a path to its end by plain calls; what a step raises, the path hears first."""
    answer: Any = None
    error: BaseException | None = None
    while True:
        try:
            step = path.send(answer) if error is None else path.throw(error)
        except StopIteration as end:
            result: T = end.value
            return result
        answer = error = None
        try:
            answer = perform(step, hands)
        except BaseException as raised:
            error = raised


async def drive_async(path: Path[T], hands: AsyncHands) -> T:
    """Walks a path to its end, letting others run while a step takes its time."""
    answer: Any = None
    error: BaseException | None = None
    while True:
        try:
            step = path.send(answer) if error is None else path.throw(error)
        except StopIteration as end:
            result: T = end.value
            return result
        answer = error = None
        try:
            answer = await hands.perform(step)
        except BaseException as raised:
            error = raised
