"""What every engine is."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Protocol

    from redoma.jail.overlay.store import Overlay
    from redoma.model.guarantee import EngineReport
    from redoma.model.plan import Launch, RunPlan
    from redoma.model.result import HeldBack

    class Enclosure(Protocol):
        """One run's enclosure: how to start it, and what to take back after it."""

        launch: Launch
        # Where the run's writes are held, if they are; whoever runs it sees to it afterwards.
        layer: Overlay | None
        notes: tuple[str, ...]

        def settle(self) -> tuple[HeldBack, ...]:
            """Takes back what the command made where it may not; called when the tree is dead."""

    class Engine(Protocol):
        """One way to enclose a command."""

        name: str

        def probe(self) -> EngineReport:
            """What it enforces here, found by trying."""

        def prepare(self, plan: RunPlan) -> AbstractContextManager[Enclosure]:
            """Builds what is needed to start a run; never starts it."""
