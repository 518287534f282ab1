"""What the path asks of the world: each step is performed by a driver, none by the path."""

from __future__ import annotations

from redoma.model.plan import Plan
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any, TypeAlias, TypeVar

    from redoma.model.decision import Decision
    from redoma.model.request import Request

    T = TypeVar("T")
    Path: TypeAlias = Generator["Ask | Execute", Any, T]


class Ask(Value):
    """Put a question to someone; the answer is whether the command may run."""

    request: Request
    decision: Decision


class Execute(Value):
    """Run a plan; the answer is an `Executed`."""

    plan: Plan
