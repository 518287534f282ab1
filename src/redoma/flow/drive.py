"""Performs the steps of a path: once by plain calls, once by awaiting."""

from __future__ import annotations

from redoma.flow.steps import Ask, Execute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import Any, Protocol

    from redoma.flow.steps import Path
    from redoma.model.result import Result

    class Hands(Protocol):
        """Does what the path asks for."""

        def ask(self, step: Ask) -> bool: ...
        def execute(self, step: Execute) -> Result: ...

    class AsyncHands(Protocol):
        """The same, awaited."""

        def ask(self, step: Ask) -> Awaitable[bool]: ...
        def execute(self, step: Execute) -> Awaitable[Result]: ...


def drive(path: Path[Result], hands: Hands) -> Result:
    """Walks a path to its end by plain calls."""
    answer: Any = None
    while True:
        try:
            step = path.send(answer)
        except StopIteration as end:
            result: Result = end.value
            return result
        answer = hands.ask(step) if isinstance(step, Ask) else hands.execute(step)


async def drive_async(path: Path[Result], hands: AsyncHands) -> Result:
    """Walks a path to its end, letting others run while a step takes its time."""
    answer: Any = None
    while True:
        try:
            step = path.send(answer)
        except StopIteration as end:
            result: Result = end.value
            return result
        answer = await (hands.ask(step) if isinstance(step, Ask) else hands.execute(step))
