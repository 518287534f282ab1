"""Puts steps into an order in which each comes after what it needs; else as they are written."""

from __future__ import annotations

from redoma.model.intent import PlanCycle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.model.intent import Step


def ordered(steps: list[Step], location: Callable[[str], str]) -> tuple[Step, ...]:
    """The steps in the order of their doing; `location` says where a JSON Pointer stands."""
    made: dict[str, Step] = {}
    waiting = list(steps)
    while waiting:
        ready = next((step for step in waiting if all(need in made for need in step.needs)), None)
        if ready is None:
            circle = _circle({step.id: step for step in waiting})
            place = next(n for n, step in enumerate(steps) if step.id == circle[0])
            pointer = f"/steps/{place}/needs"
            raise PlanCycle(circle, location=location(pointer), pointer=pointer)
        made[ready.id] = ready
        waiting.remove(ready)
    return tuple(made.values())


def _circle(waiting: dict[str, Step]) -> list[str]:
    """Steps of which each needs the next, and the last the first."""
    walked: list[str] = []
    here = next(iter(waiting))
    while here not in walked:
        walked.append(here)
        here = next(need for need in waiting[here].needs if need in waiting)
    return walked[walked.index(here) :]
