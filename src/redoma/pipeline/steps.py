"""What the path asks of the world: each step is performed by a driver, none by the path."""

from __future__ import annotations

from redoma.model.event import Event
from redoma.model.plan import Plan
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any, TypeAlias, TypeVar

    from redoma.model.change import Changes
    from redoma.model.question import Question

    T = TypeVar("T")
    Step: TypeAlias = "Note | Ask | Execute | Hold | Apply | Discard"
    Path: TypeAlias = Generator[Step, Any, T]


class Note(Value):
    """Write events down, all or none."""

    events: tuple[Event, ...]
    # Whether the path goes on only when they are safe on disk.
    waits: bool = True
    # Whether this starts a run, which has to find room within the rate limits.
    admits: bool = False


class Ask(Value):
    """Put a question to someone; the answer is an `Answer`, or None for silence."""

    question: Question


class Execute(Value):
    """Run a plan; the answer is a `Result`."""

    plan: Plan
    # The command as it was asked for: a plan may run its own dry run in its place.
    command: str = ""
    # Why what it changes has to be confirmed before it is applied.
    asks: tuple[str, ...] = ()


class Hold(Value):
    """Keep held changes until a person agrees to them."""

    changes: Changes
    why: str


class Apply(Value):
    """Make held changes real; the answer is what was held back.

    NoRoomForUndo is raised, and nothing applied, where `undo` is wanted and cannot be had.
    """

    changes: Changes
    plan: Plan
    undo: bool = True


class Discard(Value):
    """Forget held changes."""

    changes: Changes
